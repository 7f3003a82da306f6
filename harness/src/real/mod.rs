//! The lab on this machine: git, compilers, servers, meters. Decides nothing; the two pages do.

mod bank;
pub mod build;
pub mod calibrate;
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

/// Ctrl-C or SIGTERM where there is nothing of an attempt to record.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;
