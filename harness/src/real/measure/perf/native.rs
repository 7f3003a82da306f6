//! The hardware counter as a meter of the search: a native server on its own CPU, load from another, the window counted
//! between its two edges.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use loadgen::cases::StartServer as _;
use loadgen::drive::{Options, Window as Edges, drive};
use loadgen::report::Report;
use sha2::{Digest as _, Sha256};

use super::{NoCounter, NoWindow, PerfMeter, Server};
use crate::data::definition::Limits;
use crate::data::durable::hex;
use crate::judge::sample::{Counted, Load as Fate, Sample, Side};
use crate::os::machine::Machine;
use crate::os::{pin, signals};
use crate::real::frozen::own_hash;
use crate::real::measure::{Fault, Load, Meter};
use crate::real::servers::Servers;

/// The meter `perf`.
#[derive(Debug)]
pub struct Native {
    counter: PerfMeter,
    limits: Limits,
    server_cpu: usize,
    load_cpu: usize,
    fingerprint: String,
}

impl Native {
    /// Probe the counter, and choose the last two CPUs for server and load.
    ///
    /// # Errors
    /// Why there is no counter, or that one CPU is not enough.
    pub fn prepare(limits: &Limits) -> Result<Native, NoCounter> {
        let counter = PerfMeter::probe()?;
        let cpus =
            pin::allowed().map_err(|error| NoCounter::Wrong(format!("the CPUs allowed are not known: {error}")))?;
        let [.., load_cpu, server_cpu] = cpus[..] else {
            return Err(NoCounter::Wrong(
                "one CPU for the server and one for the load are needed, and only one is allowed".to_owned(),
            ));
        };
        Ok(Native { counter, limits: limits.clone(), server_cpu, load_cpu, fingerprint: fingerprint() })
    }
}

impl Meter for Native {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn lanes(&self) -> usize {
        1
    }

    fn measure(&self, server: &Path, load: &Load, stop: &Arc<AtomicBool>) -> Result<Counted, Fault> {
        let folder = tempfile::tempdir().context("making the server's data folder")?;
        load.write(folder.path())?;
        let servers = Servers {
            path: server.to_owned(),
            limits: self.limits.clone(),
            cpus: vec![self.server_cpu],
            until: None,
            stop: stop.clone(),
            silent: OnceLock::new(),
        };
        let running = servers.start(folder.path()).map_err(|error| Fault::Invalid(format!("{error:#}")))?;
        let (addr, pid) = (running.addr(), running.pid());
        let counted = Server { cpus: vec![self.server_cpu], pid: i32::try_from(pid).context("a process id")? };

        let (edge, edges) = channel();
        let (go, gone) = channel();
        let (window, report) = std::thread::scope(|scope| {
            let driver = scope.spawn(move || {
                pin::pin_this_thread(&[self.load_cpu]).context("pinning the load generator")?;
                let meeting = Meeting { edge, gone };
                let options = Options {
                    window: Some(&meeting),
                    server_pid: Some(pid),
                    stop: Some(stop),
                    timeout: self.limits.measure.min(Duration::from_secs(10)),
                    ..Options::default()
                };
                drive(&load.plan, addr, &options)
            });
            // An edge that never comes means that the drive ended before it: its report says how.
            let window = edges.recv().ok().map(|()| {
                self.counter.window(&counted, || {
                    let _ = go.send(());
                    let _ = edges.recv();
                })
            });
            let window = window.map(|counted| counted.map(|(window, ())| window));
            drop(go);
            (window, driver.join().unwrap_or_else(|_| Err(anyhow!("the load generator panicked"))))
        });
        drop(running);
        if signals::stopped(stop) {
            return Err(Fault::Interrupted);
        }
        sample(load.seed, window, report?)
    }
}

/// What a hardware count depends on beside the server: the machine, its kernel, and the load generator, which is part
/// of this program.
fn fingerprint() -> String {
    let machine = Machine::read();
    let program = own_hash().unwrap_or_default();
    let facts = format!("{:?} {:?} {} {program}", machine.cpu_model, machine.kernel, machine.cpus);
    hex(&Sha256::digest(facts.as_bytes()))
}

/// Where the driving thread meets the counting one: at the opening it waits until the counters are read.
struct Meeting {
    edge: Sender<()>,
    gone: Receiver<()>,
}

impl Edges for Meeting {
    fn opens(&self) {
        let _ = self.edge.send(());
        let _ = self.gone.recv();
    }

    fn closes(&self) {
        let _ = self.edge.send(());
        // Until the counters are read again: `go` is dropped then.
        let _ = self.gone.recv();
    }
}

fn sample(seed: u64, window: Option<Result<super::Window, NoWindow>>, report: Report) -> Result<Counted, Fault> {
    if let Some(error) = report.errors.first() {
        return Err(Fault::Invalid(format!(
            "{} ({}, {}): expected {}, got {}",
            error.what, error.kind, error.part, error.expected, error.got
        )));
    }
    let window =
        window.ok_or_else(|| Fault::Invalid("the window was never opened: the warm-up did not end".to_owned()))?;
    let window = window.map_err(|why| Fault::Unsound(why.to_string()))?;
    if let Some(doubt) = window.doubts.first() {
        return Err(Fault::Unsound(doubt.to_string()));
    }
    let fate = Fate {
        sent: report.window.sent,
        verified: report.window.verified,
        wrong: report.window.wrong,
        lost: report.window.lost,
    };
    let side = Side {
        wakeups: report.server.map(|server| server.voluntary_switches),
        peak_rss_kib: report.server.map(|server| server.peak_rss_kib),
        ..Side::default()
    };
    Ok(Counted {
        sample: Sample { seed, user: window.user, kernel: window.kernel, load: fate, side },
        profile: Vec::new(),
    })
}
