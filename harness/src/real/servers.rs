//! Candidates as processes: started on a data folder and a free loopback port, alone in a tree that is ended whole.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use loadgen::cases::{RunningServer, StartServer};
use loadgen::port;

use crate::data::definition::Limits;
use crate::os::process::{self, Running, Spawn};
use crate::os::signals;

/// How to start one candidate.
#[derive(Clone, Debug)]
pub struct Servers {
    /// Its file.
    pub path: PathBuf,
    /// What it may use up.
    pub limits: Limits,
    /// CPUs it may run on; empty for all.
    pub cpus: Vec<usize>,
    /// No server is started after this moment.
    pub until: Option<Instant>,
    /// Set when the person wants to stop: waiting ends.
    pub stop: Arc<AtomicBool>,
    /// Why no further server is started: one did not listen in time, so every other would use up the same time.
    pub silent: OnceLock<String>,
}

struct Started {
    running: Running,
    addr: SocketAddr,
}

impl StartServer for Servers {
    fn start(&self, data_dir: &Path) -> Result<Box<dyn RunningServer>> {
        if self.until.is_some_and(|until| Instant::now() > until) {
            bail!("not started: the time of limits.validate, {:?}, is over", self.limits.validate);
        }
        if let Some(why) = self.silent.get() {
            bail!("{why}");
        }
        let mut tries = 1;
        loop {
            let port = port::free()?;
            match self.start_on(port, data_dir) {
                // Somebody was quicker than the candidate.
                Err(_) if tries < port::TRIES && port::taken(port) => tries += 1,
                started => return Ok(Box::new(started?)),
            }
        }
    }
}

impl Servers {
    fn start_on(&self, port: u16, data_dir: &Path) -> Result<Started> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let log = data_dir.join("server.log");
        let limits = process::Limits {
            memory: Some(self.limits.memory),
            processes: Some(u64::from(self.limits.processes)),
            ..process::Limits::default()
        };
        let mut running = Spawn::new(&self.path)
            .args(["--data".as_ref(), data_dir.as_os_str()])
            .args(["--port", &port.to_string()])
            .log(&log, self.limits.log)
            .limits(limits)
            .cpus(&self.cpus)
            .grace(Duration::ZERO)
            .start()?;
        let began = Instant::now();
        let own = |running: &Running| running.tree().into_iter().map(|process| process.pid.unsigned_abs());
        while !(port::listened(port) && port::listens(port, own(&running))) {
            let said =
                || std::fs::read_to_string(&log).unwrap_or_default().lines().take(5).collect::<Vec<_>>().join(" / ");
            if !running.alive() {
                let ended = running.stop().ended;
                bail!("the candidate ended before it listened ({ended:?}); it said: {}", said());
            }
            if began.elapsed() > self.limits.start {
                let why = format!("the candidate did not listen within {:?}; it said: {}", self.limits.start, said());
                bail!("{}", self.silent.get_or_init(|| why));
            }
            if signals::stopped(&self.stop) {
                bail!("interrupted");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Started { running, addr })
    }
}

impl RunningServer for Started {
    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn pid(&self) -> u32 {
        self.running.pid().unwrap_or(0).unsigned_abs()
    }

    /// A server that broke a limit of its tree counts as gone; dropping it ends it.
    fn alive(&mut self) -> bool {
        self.running.broken_limit().is_none() && self.running.alive()
    }
}
