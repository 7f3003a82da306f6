//! Servers under test: what must be known to start one, and starting a program on loopback in its own process group.

use crate::port;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    /// Whether it still runs.
    fn alive(&mut self) -> bool;
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
        let mut log = tempfile::tempfile().context("cannot make a temporary file for the server's messages")?;
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
        let mut running = Running { child, addr };
        let start = Instant::now();
        while !port::listens(port, [running.pid()]) {
            if let Some(status) = running.child.try_wait()? {
                bail!("{} ended with {status} before it listened on {addr}{}", self.path.display(), said(&mut log));
            }
            if start.elapsed() > self.patience {
                bail!("{} did not listen on {addr} within {:?}{}", self.path.display(), self.patience, said(&mut log));
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

    fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
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

/// The last thing a server said on stderr, for the message that it did not start.
fn said(log: &mut File) -> String {
    let mut text = Vec::new();
    // What cannot be read is not there to be shown.
    let _ = log.rewind().and_then(|()| log.take(4096).read_to_end(&mut text));
    match String::from_utf8_lossy(&text).trim() {
        "" => String::new(),
        text => format!(", saying: {text}"),
    }
}
