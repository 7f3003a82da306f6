//! Sending a plan and checking every byte that comes back: one thread, all sockets, nothing allocated in the window.

mod book;
mod check;
mod churn;
mod gate;
mod marks;
mod run;

pub use marks::{Marks, Window};

use crate::facts;
use crate::plan::Plan;
use crate::report::Report;
use crate::saturation::Moment;
use crate::workload::Schedule;
use anyhow::bail;
use book::Book;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// How to drive.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The server's process, to be held while each wave is written.
    pub gate: Option<u32>,
    /// Who is told of the window's edges.
    pub window: Option<&'a dyn Window>,
    /// The server's process, to report facts of.
    pub server_pid: Option<u32>,
    /// Find out who bounded the run; asks for the server's process.
    pub saturation: bool,
    /// How long a round may go without a byte before what is missing is lost.
    pub timeout: Duration,
    /// Set from outside to stop early.
    pub stop: Option<&'a AtomicBool>,
    /// Kept at the number of requests that are settled.
    pub progress: Option<&'a AtomicU64>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            gate: None,
            window: None,
            server_pid: None,
            saturation: false,
            timeout: Duration::from_secs(10),
            stop: None,
            progress: None,
        }
    }
}

/// A way to send the rounds of a plan.
trait Sender<'a> {
    /// Sends one round, to its end. True if asked to stop.
    fn round(&mut self, round: usize) -> anyhow::Result<bool>;

    /// After the last round: what was counted.
    fn finish(self: Box<Self>) -> anyhow::Result<Book<'a>>;
}

/// What a traced drive knows of one round.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// How long it took.
    pub took: Duration,
    /// CPU time of the server within it.
    pub server_cpu: Duration,
    /// Memory of the server after it, in KiB.
    pub rss_kib: u64,
}

/// A drive round by round and request by request.
#[derive(Debug, Default)]
pub struct Trace {
    /// The rounds that were sent, warm-up included.
    pub rounds: Vec<Round>,
    /// Each request's time to its right answer in microseconds, by its index in the plan.
    pub taken: Vec<Option<u32>>,
}

/// Sends the plan to a server that has loaded the plan's data, from its fresh state on. An error is the load
/// generator's own failure, or a server that cannot be connected to; wrong and lost answers are in the report.
pub fn drive(plan: &Plan, addr: SocketAddr, options: &Options) -> anyhow::Result<Report> {
    Ok(whole(plan, addr, options, None)?.0)
}

/// The same, with what each round cost the server `server`.
pub fn drive_traced(plan: &Plan, addr: SocketAddr, options: &Options, server: u32) -> anyhow::Result<(Report, Trace)> {
    whole(plan, addr, options, Some(server))
}

fn whole(plan: &Plan, addr: SocketAddr, options: &Options, traced: Option<u32>) -> anyhow::Result<(Report, Trace)> {
    let mut sender: Box<dyn Sender> = match plan.schedule {
        Schedule::Waves | Schedule::ClosedLoop => Box::new(run::Run::new(plan, addr, options)?),
        Schedule::Churn if options.gate.is_some() => bail!("a churn has no waves that the server could be held for"),
        Schedule::Churn => Box::new(churn::Churn::new(plan, addr, options)?),
    };
    let mut trace = Trace::default();
    let mut stopped = false;
    let mut rounds = |from: usize, to: usize, stopped: &mut bool| -> anyhow::Result<()> {
        for round in from..to {
            let before = traced.map(facts::cpu_time).transpose()?;
            let start = Instant::now();
            *stopped = *stopped || sender.round(round)?;
            let took = start.elapsed();
            // A server that ended has lost answers already, and nothing more is known of it.
            if let (Some(pid), Some(before)) = (traced, before)
                && let (Ok(after), Ok(rss_kib)) = (facts::cpu_time(pid), facts::rss_kib(pid))
            {
                trace.rounds.push(Round { took, server_cpu: after.saturating_sub(before), rss_kib });
            }
        }
        Ok(())
    };
    rounds(0, plan.warmup_rounds, &mut stopped)?;
    let watched = options.server_pid.filter(|_| options.saturation);
    let before = options.server_pid.map(facts::switches).transpose()?;
    let opening = watched.map(Moment::now).transpose()?;
    let start = Instant::now();
    if let Some(window) = options.window {
        window.opens();
    }
    rounds(plan.warmup_rounds, plan.rounds.len(), &mut stopped)?;
    if let Some(window) = options.window {
        window.closes();
    }
    let seconds = start.elapsed().as_secs_f64();
    // A server that ended has lost answers already; what the kernel knew of it is gone, and that is not our failure.
    let server = match (options.server_pid, before) {
        (Some(pid), Some(before)) => facts::server(pid, before).ok(),
        _ => None,
    };
    let saturation = match (watched, &opening) {
        (Some(pid), Some(opening)) => Moment::now(pid).ok().map(|closing| opening.until(&closing)),
        _ => None,
    };
    let (mut report, taken) = sender.finish()?.report(seconds, stopped);
    (report.server, report.saturation) = (server, saturation);
    trace.taken = taken;
    Ok((report, trace))
}
