//! The lab on this machine: git, compilers, servers, meters. Decides nothing; the two pages do.

pub mod build;
pub mod frozen;
pub mod given;
pub mod lab;
pub mod measure;
pub mod open;
pub mod place;
pub mod recover;
pub mod screen;
pub mod servers;
pub mod story;
pub mod validate;
pub mod workload;
