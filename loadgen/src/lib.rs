//! The load generator: data sets, plans, load, byte-exact checking, and the contract's cases.
//!
//! From one seed and a [`workload::Workload`] come a [`dataset::DataSet`] for the server to load and a [`plan::Plan`] of
//! requests with their exact answers; [`drive::drive`] sends the plan and checks every byte. It imports no server: it
//! meets them over a socket, and knows the right answers from its own oracle, [`model`].

pub mod attack;
pub mod cases;
pub mod chance;
pub mod dataset;
mod dial;
pub mod drive;
pub mod facts;
pub mod model;
pub mod place;
pub mod plan;
pub mod port;
pub mod preset;
pub mod report;
pub mod saturation;
pub mod server;
pub mod spell;
pub mod storm;
pub mod workload;
