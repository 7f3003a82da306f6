//! Candidates as processes: started on a data folder and a free loopback port, alone in a tree that is ended whole.

use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::bail;
use loadgen::cases::{RunningServer, StartServer};
use loadgen::port;
use loadgen::server::last_words;

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
    /// Or how it ended.
    running: Result<Running, String>,
    pid: u32,
    addr: SocketAddr,
    log: PathBuf,
}

impl StartServer for Servers {
    fn start(&self, data_dir: &Path) -> anyhow::Result<Box<dyn RunningServer>> {
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
    fn start_on(&self, port: u16, data_dir: &Path) -> anyhow::Result<Started> {
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
            if let Some(ended) = running.ended() {
                running.stop();
                bail!("the candidate ended with {ended} before it listened{}", said(&log));
            }
            if began.elapsed() > self.limits.start {
                let why = format!("the candidate did not listen within {:?}{}", self.limits.start, said(&log));
                bail!("{}", self.silent.get_or_init(|| why));
            }
            if signals::stopped(&self.stop) {
                bail!("interrupted");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let pid = running.pid().unwrap_or(0).unsigned_abs();
        Ok(Started { running: Ok(running), pid, addr, log })
    }
}

impl RunningServer for Started {
    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn pid(&self) -> u32 {
        self.pid
    }

    /// A server that broke a limit of its tree counts as gone; dropping it ends it.
    fn ended(&mut self) -> Option<String> {
        let how = match &mut self.running {
            Ok(running) => running.ended().or_else(|| running.broken_limit())?,
            Err(how) => return Some(how.clone()),
        };
        // Its log is whole only when all of it has ended.
        if let Ok(running) = mem::replace(&mut self.running, Err(how.to_string())) {
            running.stop();
        }
        let how = format!("{how}{}", said(&self.log));
        self.running = Err(how.clone());
        Some(how)
    }
}

/// The last words in a server's log.
fn said(log: &Path) -> String {
    last_words(&String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt;

    /// A program for the test below, which starts this very test: it listens, and dies of its first client.
    #[test]
    #[ignore = "a program for another test"]
    fn crashing_candidate() {
        let Ok(port) = std::env::var("CRASHING_PORT") else { return };
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
        let _client = listener.accept();
        eprintln!("not this one");
        std::process::abort();
    }

    #[test]
    fn a_candidate_that_crashes_is_told_with_its_signal_and_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candidate");
        let program = std::env::current_exe().unwrap();
        let test = "real::servers::tests::crashing_candidate";
        let script =
            format!("#!/bin/sh\nCRASHING_PORT=$4 exec '{}' --exact {test} --ignored --nocapture\n", program.display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let (limits, cpus, until) = (Limits::default(), Vec::new(), None);
        let servers = Servers { path, limits, cpus, until, stop: Arc::default(), silent: OnceLock::new() };
        let mut server = servers.start(folder.path()).unwrap();
        assert_eq!(server.ended(), None);
        let _client = TcpStream::connect(server.addr()).unwrap();
        let began = Instant::now();
        let how = loop {
            if let Some(how) = server.ended() {
                break how;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it runs on");
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(how.starts_with("signal 6 (SIGABRT)") && how.ends_with("not this one"), "{how}");
        assert_eq!(server.ended(), Some(how), "it is told again");
    }
}
