//! Servers under test: what must be known to start one, and starting a program on loopback in its own process group.

use crate::port;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Something that can start servers, each fresh on a data folder.
pub trait StartServer: Sync {
    /// Starts one, and returns when it accepts connections.
    fn start(&self, data_dir: &Path) -> anyhow::Result<Box<dyn RunningServer>>;
}

/// A server that runs. Dropped, it is stopped.
pub trait RunningServer: Send {
    /// Where it listens.
    fn addr(&self) -> SocketAddr;
    /// Its process.
    fn pid(&self) -> u32;
    /// How its process ended, if it did, and what it said last: `signal 11 (SIGSEGV)`, `exit status 1, saying: no such file`.
    fn ended(&mut self) -> Option<String>;
}

/// How a process ended, to stand behind "ended with".
pub fn manner(status: ExitStatus) -> String {
    // "exit status: 1" and "signal: 11 (SIGSEGV)" are what the library says.
    status.to_string().replacen(": ", " ", 1)
}

/// The last lines of what a server said, to stand behind how it ended; empty where it said nothing.
pub fn last_words(said: &str) -> String {
    const LINES: usize = 5;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match &lines[lines.len().saturating_sub(LINES)..] {
        [] => String::new(),
        last => format!(", saying: {}", last.join(" / ")),
    }
}

/// Starts `PATH --data DIR --port P` on a free port.
#[derive(Debug, Clone)]
pub struct CommandServer {
    /// The program.
    pub path: PathBuf,
    /// Arguments after those two.
    pub extra_args: Vec<String>,
    /// How long it may take to listen.
    pub patience: Duration,
}

impl CommandServer {
    /// A program without further arguments, with 10 seconds to listen.
    pub fn new(path: impl Into<PathBuf>) -> CommandServer {
        CommandServer { path: path.into(), extra_args: Vec::new(), patience: Duration::from_secs(10) }
    }
}

struct Running {
    child: Child,
    addr: SocketAddr,
    log: File,
}

impl StartServer for CommandServer {
    fn start(&self, data_dir: &Path) -> anyhow::Result<Box<dyn RunningServer>> {
        let mut tries = 1;
        loop {
            let port = port::free()?;
            match self.start_on(port, data_dir) {
                // Somebody was quicker than the server.
                Err(_) if tries < port::TRIES && port::taken(port) => tries += 1,
                started => return Ok(Box::new(started?)),
            }
        }
    }
}

impl CommandServer {
    fn start_on(&self, port: u16, data_dir: &Path) -> anyhow::Result<Running> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let log = tempfile::tempfile().context("cannot make a temporary file for the server's messages")?;
        let child = Command::new(&self.path)
            .arg("--data")
            .arg(data_dir)
            .args(["--port", &port.to_string()])
            .args(&self.extra_args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.try_clone().context("cannot share the server's log")?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}: is it built, and executable?", self.path.display()))?;
        // From here on every way out stops it.
        let mut running = Running { child, addr, log };
        let start = Instant::now();
        while !port::listens(port, [running.pid()]) {
            if let Some(status) = running.child.try_wait()? {
                let (path, how) = (self.path.display(), manner(status));
                bail!("{path} ended with {how} before it listened on {addr}{}", said(&running.log));
            }
            if start.elapsed() > self.patience {
                let (path, patience) = (self.path.display(), self.patience);
                bail!("{path} did not listen on {addr} within {patience:?}{}", said(&running.log));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(running)
    }
}

impl RunningServer for Running {
    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("{}{}", manner(status), said(&self.log))),
            Err(error) => Some(format!("no trace of how: {error}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group, so that what it forked ends too. Where it is gone already there is nothing to do.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// The last words a server wrote to its log.
fn said(log: &File) -> String {
    const MOST: u64 = 4096;
    let mut text = [0; MOST as usize];
    // Where it stands is shared with the server, so reading must not move it. What cannot be read is not there to be shown.
    let from = log.metadata().map_or(0, |file| file.len()).saturating_sub(MOST);
    let count = log.read_at(&mut text, from).unwrap_or(0);
    last_words(&String::from_utf8_lossy(&text[..count]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn an_end_is_said_by_status_or_signal_and_the_last_words() {
        assert_eq!(manner(ExitStatus::from_raw(11)), "signal 11 (SIGSEGV)");
        assert_eq!(manner(ExitStatus::from_raw(1 << 8)), "exit status 1");
        assert_eq!(last_words(" \n"), "");
        assert_eq!(last_words("1\n2\n3\n4\n\n5\n6\n"), ", saying: 2 / 3 / 4 / 5 / 6");
    }
}
