//! Sending a plan and checking every byte that comes back: one thread, all sockets, nothing allocated in the window.

mod check;
mod gate;
mod marks;
mod run;
mod server;

pub use marks::{Marks, Window};

use crate::plan::Plan;
use crate::report::Report;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How to drive.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The server's process, to be held while each wave is written.
    pub gate: Option<u32>,
    /// Who is told of the window's edges.
    pub window: Option<&'a dyn Window>,
    /// The server's process, to report facts of.
    pub server_pid: Option<u32>,
    /// How long a round may go without a byte before what is missing is lost.
    pub timeout: Duration,
    /// Set from outside to stop early.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { gate: None, window: None, server_pid: None, timeout: Duration::from_secs(10), stop: None }
    }
}

/// Sends the plan to a server that has loaded the plan's data, from its fresh state on. An error is the load
/// generator's own failure, or a server that cannot be connected to; wrong and lost answers are in the report.
pub fn drive(plan: &Plan, addr: SocketAddr, options: &Options) -> anyhow::Result<Report> {
    run::Run::new(plan, addr, options)?.all()
}
