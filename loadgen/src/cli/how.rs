//! The flags that say how to drive, driving, and what is printed of it.

use super::ticker::Ticker;
use anyhow::Context;
use clap::{Args, ValueEnum};
use loadgen::attack::AttackReport;
use loadgen::cases::{CommandServer, StartServer};
use loadgen::dataset::DataSet;
use loadgen::drive::{Marks, Options, Window, drive, drive_traced};
use loadgen::place::{Cores, raise_descriptors};
use loadgen::plan::Plan;
use loadgen::report::Report;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// How to drive.
#[derive(Debug, Args)]
pub struct How {
    /// A process to stop (SIGSTOP) while each wave is written and let go (SIGCONT) after it: the server's
    #[arg(long, value_name = "PID")]
    gate: Option<u32>,
    /// Execute the marks by which an emulated machine finds the window
    #[arg(long)]
    marks: bool,
    /// The server's process, to report its wake-ups, memory and CPU time
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Seconds without any answer after which what is missing is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
    /// Print the report as JSON on stdout
    #[arg(long)]
    json: bool,
}

/// Who runs on which cores.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Sharing {
    /// The load generator on the first core allowed, the server on all others
    Split,
    /// Both on all of them
    Shared,
}

/// A server that runs.
struct Target {
    addr: SocketAddr,
    gate: Option<u32>,
    pid: Option<u32>,
    cores: Option<Cores>,
}

/// Set by Ctrl-C from now on: what was started has to be stopped, and what was found is to be printed.
pub fn stop() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot watch for Ctrl-C")?;
    }
    Ok(stop)
}

impl How {
    /// Drives a server that somebody else started.
    pub fn drive(&self, plan: &Plan, addr: SocketAddr, attack: bool) -> anyhow::Result<bool> {
        let target = Target { addr, gate: self.gate, pid: self.server_pid, cores: None };
        self.whole(plan, &target, attack)
    }

    /// Starts a server on the data set, drives it and stops it.
    pub fn run(
        &self,
        (set, plan): &(DataSet, Plan),
        server: &Path,
        gated: bool,
        sharing: Sharing,
        data: Option<&Path>,
        attack: bool,
    ) -> anyhow::Result<bool> {
        let own = tempfile::tempdir().context("cannot make a temporary folder")?;
        let folder = data.unwrap_or(own.path());
        set.write(folder)?;
        // The server inherits the limit, and needs as many.
        raise_descriptors(plan.connections)?;
        let server = CommandServer::new(server);
        let cores = match sharing {
            Sharing::Split => Cores::split()?,
            Sharing::Shared => None,
        };
        let running = match cores {
            Some(cores) => cores.for_server(|| server.start(folder))??,
            None => server.start(folder)?,
        };
        let pid = running.pid();
        let gate = if gated { Some(pid) } else { self.gate };
        self.whole(plan, &Target { addr: running.addr(), gate, pid: Some(pid), cores }, attack)
    }

    fn whole(&self, plan: &Plan, target: &Target, attack: bool) -> anyhow::Result<bool> {
        let timeout =
            Duration::try_from_secs_f64(self.timeout).context("--timeout must be a positive number of seconds")?;
        let stop = stop()?;
        let progress = Arc::new(AtomicU64::new(0));
        let options = Options {
            gate: target.gate,
            window: self.marks.then_some(&Marks as &dyn Window),
            server_pid: target.pid,
            // In an emulated machine nothing more than needed is done beside the window.
            saturation: target.pid.is_some() && !self.marks,
            timeout,
            stop: Some(&stop),
            progress: Some(&progress),
        };
        let ticker = Ticker::start("requests settled", plan.len() as u64, Arc::clone(&progress));
        if let Some(cores) = target.cores {
            cores.pin_generator()?;
        }
        if !attack {
            let report = drive(plan, target.addr, &options)?;
            drop(ticker);
            self.print(&report, &report.summary(), &report)?;
            return Ok(report.clean());
        }
        let pid = target.pid.context("an attack compares CPU time: give --server, or --server-pid beside --addr")?;
        let (report, trace) = drive_traced(plan, target.addr, &options, pid)?;
        drop(ticker);
        if report.stopped || !report.clean() {
            // Half an attack compares nothing, and a wrong answer is the finding.
            self.print(&report, &report.summary(), &report)?;
            return Ok(false);
        }
        let attack = AttackReport::of(plan, report, &trace)?;
        self.print(&attack, &attack, &attack.drive)?;
        Ok(true)
    }

    fn print(&self, json: &impl Serialize, text: &impl Display, report: &Report) -> anyhow::Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(json)?);
        } else {
            println!("{text}");
        }
        for error in &report.errors {
            eprintln!(
                "{}: {} ({}, round {}, connection {}, request {})\n  request  {}\n  expected {}\n  got      {}",
                error.part,
                error.what,
                error.kind,
                error.round,
                error.connection,
                error.position,
                error.request,
                error.expected,
                error.got
            );
        }
        if report.unasked > 0 {
            eprintln!("{} connections were closed, or written to, though no request on them was open", report.unasked);
        }
        Ok(())
    }
}
