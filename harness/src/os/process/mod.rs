//! Starting a command so that it can be ended as a whole. Here: what to start and with which limits. The waiting is in
//! `running`, the process that outlives nobody in `warden`, its bounded output in `log`, `/proc` in `tree`.
//!
//! ```text
//! harness ── warden (forked copy, subreaper) ── command (own session) ── its children, however they detach
//! ```
//!
//! The warden adopts everything beneath it that detaches itself, kills it all when the command ends or when told to,
//! and does the same when the harness vanishes (`kill -9`): nothing of ours outlives a run.

mod limits;
mod log;
mod running;
mod start;
pub mod tree;
mod warden;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use limits::Limits;
pub use running::{Ended, Finished, Running};

/// Lets all threads allocate from one arena; to be called before there is a second one. Every command's warden begins as a
/// copy of this process, which takes the longer the more memory it has, and the C library would give each of the threads
/// that play cases an arena that it never gives back.
pub fn keep_copies_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A command that could not be started. A command that starts and fails is an [`Ended`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is missing, or may not be executed.
    #[error("cannot run `{program}` in {folder}: {source}. Check that it is installed and in PATH ({path})")]
    Program {
        /// As given.
        program: String,
        /// Its working folder.
        folder: String,
        /// The PATH it was looked for in.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Something the start needs: log file, pipe, CPU set.
    #[error("cannot start `{program}`: {what}: {source}")]
    Preparation {
        /// As given.
        program: String,
        /// What was tried.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// What to start: program, arguments, an environment that holds nothing but what is named, output, limits.
#[derive(Clone, Debug)]
pub struct Spawn {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    log: Option<(PathBuf, u64)>,
    capture: Option<usize>,
    limits: Limits,
    cpus: Vec<usize>,
    grace: Duration,
}

impl Spawn {
    /// A command with an empty environment, no input, output thrown away, no core dumps and no other limit.
    pub fn new(program: impl AsRef<OsStr>) -> Spawn {
        Spawn {
            program: program.as_ref().into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            log: None,
            capture: None,
            limits: Limits::default(),
            cpus: Vec::new(),
            grace: Duration::from_secs(2),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Spawn {
        self.args.push(arg.as_ref().into());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Spawn {
        self.args.extend(args.into_iter().map(|a| a.as_ref().into()));
        self
    }

    /// Sets a variable of the environment, which is empty otherwise.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Spawn {
        self.env.push((name.as_ref().into(), value.as_ref().into()));
        self
    }

    /// Passes these variables on where the harness has them.
    pub fn inherit<N: AsRef<OsStr>>(mut self, names: impl IntoIterator<Item = N>) -> Spawn {
        let kept = names.into_iter().filter_map(|n| Some((n.as_ref().into(), std::env::var_os(n.as_ref())?)));
        self.env.extend(kept);
        self
    }

    /// Working folder.
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Spawn {
        self.folder = Some(folder.as_ref().into());
        self
    }

    /// Writes stdout and stderr to `path` (created, emptied). What exceeds `bytes` is read and dropped, with a line
    /// that says so: the command neither fails nor blocks on it.
    pub fn log(mut self, path: impl AsRef<Path>, bytes: u64) -> Spawn {
        self.log = Some((path.as_ref().into(), bytes));
        self
    }

    /// Keeps the first `bytes` of stdout in [`Finished::stdout`] instead of the log.
    pub fn capture(mut self, bytes: usize) -> Spawn {
        self.capture = Some(bytes);
        self
    }

    /// Limits on the command and what it starts.
    pub fn limits(mut self, limits: Limits) -> Spawn {
        self.limits = limits;
        self
    }

    /// CPUs it may run on.
    pub fn cpus(mut self, cpus: &[usize]) -> Spawn {
        self.cpus = cpus.to_vec();
        self
    }

    /// Time between TERM and KILL (default 2 s).
    pub fn grace(mut self, grace: Duration) -> Spawn {
        self.grace = grace;
        self
    }

    /// Starts it: for servers. Dropping the handle ends it and all it started.
    pub fn start(&self) -> Result<Running, StartError> {
        start::start(self)
    }

    /// Starts it and waits until it ends, `limit` has passed or `stop` is set.
    pub fn run(&self, limit: Duration, stop: &AtomicBool) -> Result<Finished, StartError> {
        Ok(self.start()?.wait(limit, stop))
    }
}

#[cfg(test)]
mod tests;
