//! A started command: is it alive, wait for it, end it with all it started. What it may do was set in `start`.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::log::Pump;
use super::warden::{self, Report};
use super::{Limits, tree};

/// How often a wait looks at the stop flag and the tree's size.
const TICK: Duration = Duration::from_millis(50);
/// After KILL, how long the kernel may take before we say that it does not let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// Wardens that are alive: the only children that the harness may have.
static WARDENS: Mutex<Option<HashSet<i32>>> = Mutex::new(None);

/// How a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It left by itself with this code.
    Exit(i32),
    /// A signal that we did not send ended it.
    Signal(i32),
    /// We ended it: its time was over.
    TimedOut,
    /// We ended it: the stop flag was set (Ctrl-C).
    Interrupted,
    /// We ended it because it was no longer needed ([`Running::stop`]).
    Stopped,
    /// We ended it: this many processes and threads, more than allowed.
    TooManyProcesses(u64),
    /// We ended it: this much resident memory in bytes, more than allowed.
    TooMuchMemory(u64),
    /// Somebody killed the warden, so how the command ended is not known. What it left was killed.
    WardenLost,
    /// It does not die, even of SIGKILL (a process stuck in the kernel).
    Unkillable,
}

/// In words, to stand behind "ended with".
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(code) => write!(f, "exit status {code}"),
            // The library knows the signals' names.
            Ended::Signal(signal) => match ExitStatus::from_raw(*signal).to_string().split_once(": ") {
                Some((_, name)) => write!(f, "signal {name}"),
                None => write!(f, "signal {signal}"),
            },
            Ended::TimedOut => f.write_str("its time over"),
            Ended::Interrupted => f.write_str("an interrupt"),
            Ended::Stopped => f.write_str("its work done"),
            Ended::TooManyProcesses(n) => write!(f, "{n} processes and threads, more than allowed"),
            Ended::TooMuchMemory(n) => write!(f, "{} MiB of memory, more than allowed", n >> 20),
            Ended::WardenLost => f.write_str("its warden, which somebody killed"),
            Ended::Unkillable => f.write_str("nothing, not even SIGKILL"),
        }
    }
}

/// An ended command.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub ended: Ended,
    /// From start to end.
    pub duration: Duration,
    /// Processes that were still alive when the command itself had ended, and were killed.
    pub leftovers: u32,
    /// What was captured of stdout, if that was asked for.
    pub stdout: Vec<u8>,
    /// Output was dropped because it exceeded its limit.
    pub output_cut: bool,
    /// Why output is missing, if so.
    pub output_error: Option<String>,
}

/// A command that runs. Dropping it ends it and all it started.
#[derive(Debug)]
pub struct Running {
    warden: Child,
    control: Option<OwnedFd>,
    pid: Option<i32>,
    started: Instant,
    started_ticks: u64,
    log: Option<Pump>,
    captured: Option<Pump>,
    limits: Limits,
    grace: Duration,
    done: Option<(Ended, Duration, u32)>,
}

impl fmt::Debug for Pump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pump")
    }
}

/// What the warden says, when it says something.
enum Word {
    Started(i32),
    Ended(i32, u32),
    Gone,
    Silence,
}

/// Starts a warden and notes it, in one step: a sweep in another thread must not take it for an orphan.
pub(super) fn registered(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut wardens = WARDENS.lock().unwrap_or_else(|e| e.into_inner());
    let warden = start()?;
    wardens.get_or_insert_default().insert(warden.id() as i32);
    Ok(warden)
}

impl Running {
    pub(super) fn new(
        warden: Child,
        control: OwnedFd,
        log: Option<Pump>,
        captured: Option<Pump>,
        limits: Limits,
        grace: Duration,
    ) -> Running {
        let started_ticks = tree::read(warden.id() as i32).map_or(0, |p| p.started);
        let control = Some(control);
        let (pid, started, done) = (None, Instant::now(), None);
        let mut running = Running { warden, control, pid, started, started_ticks, log, captured, limits, grace, done };
        // The warden speaks first, and before the command can have ended.
        running.listen(PATIENCE);
        running
    }

    /// The command's own process id (its session's and group's too). `None` only when its warden was killed at once.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// How the command ended, if it did.
    pub fn ended(&mut self) -> Option<Ended> {
        self.listen(Duration::ZERO);
        self.done.map(|(ended, ..)| ended)
    }

    /// Everything beneath the warden, the command included: for finding helpers and threads on other CPUs.
    pub fn tree(&self) -> Vec<tree::Process> {
        tree::descendants(self.warden.id() as i32)
    }

    /// Waits for the end, which is made when `limit` has passed, `stop` is set or a limit of the tree is broken.
    pub fn wait(mut self, limit: Duration, stop: &AtomicBool) -> Finished {
        let deadline = self.started + limit;
        let mut look = Instant::now() + TICK;
        while self.done.is_none() {
            let now = Instant::now();
            if stop.load(Ordering::SeqCst) {
                self.end_with(Ended::Interrupted);
            } else if now >= deadline {
                self.end_with(Ended::TimedOut);
            } else if self.limits.watched() && now >= look {
                if let Some(broken) = self.broken_limit() {
                    // Grace would give a fork bomb time to grow.
                    self.grace = Duration::ZERO;
                    self.end_with(broken);
                }
                look = Instant::now() + TICK;
            } else {
                self.listen(TICK.min(deadline - now));
            }
        }
        self.finish()
    }

    /// Ends the command (TERM, grace, KILL) with all it started, and says how it ended: [`Ended::Stopped`], or what
    /// had happened before.
    pub fn stop(mut self) -> Finished {
        self.listen(Duration::ZERO);
        self.end_with(Ended::Stopped);
        self.finish()
    }

    /// The tree's limits, checked: for servers, whose owner waits for something else meanwhile.
    pub fn broken_limit(&self) -> Option<Ended> {
        let tree = self.tree();
        let threads = tree.iter().map(|p| p.threads).sum();
        let memory = tree.iter().map(|p| p.resident).sum();
        if self.limits.processes.is_some_and(|most| threads > most) {
            return Some(Ended::TooManyProcesses(threads));
        }
        self.limits.memory.is_some_and(|most| memory > most).then_some(Ended::TooMuchMemory(memory))
    }

    fn end_with(&mut self, why: Ended) {
        if self.done.is_some() {
            return;
        }
        let grace = u32::try_from(self.grace.as_millis()).unwrap_or(u32::MAX);
        self.send(&grace.to_le_bytes());
        let patience = Instant::now() + self.grace + PATIENCE;
        while self.done.is_none() && Instant::now() < patience {
            self.listen(TICK);
        }
        let duration = self.started.elapsed();
        self.done = Some(match self.done {
            None => (Ended::Unkillable, duration, 0),
            Some((Ended::WardenLost, at, left)) => (Ended::WardenLost, at, left),
            Some((_, at, left)) => (why, at, left),
        });
    }

    fn finish(mut self) -> Finished {
        self.reap();
        let (ended, duration, leftovers) = self.done.unwrap_or((Ended::Unkillable, self.started.elapsed(), 0));
        let log = self.log.take().map(Pump::finish).unwrap_or_default();
        let captured = self.captured.take().map(Pump::finish).unwrap_or_default();
        Finished {
            ended,
            duration,
            leftovers,
            stdout: captured.kept,
            output_cut: log.cut || captured.cut,
            output_error: log.error.or(captured.error),
        }
    }

    /// Waits up to `patience` for a word of the warden and takes it in.
    fn listen(&mut self, patience: Duration) {
        if self.done.is_some() {
            return;
        }
        match self.hear(patience) {
            Word::Silence => {}
            Word::Started(pid) => self.pid = Some(pid),
            Word::Ended(status, leftovers) => {
                let ended = if libc::WIFEXITED(status) {
                    Ended::Exit(libc::WEXITSTATUS(status))
                } else {
                    Ended::Signal(libc::WTERMSIG(status))
                };
                self.done = Some((ended, self.started.elapsed(), leftovers));
            }
            Word::Gone => {
                let killed = self.sweep();
                self.done = Some((Ended::WardenLost, self.started.elapsed(), killed));
            }
        }
    }

    fn hear(&self, patience: Duration) -> Word {
        let Some(control) = &self.control else {
            return Word::Gone;
        };
        let mut poll = libc::pollfd { fd: control.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Rounded up: a wait of less than a millisecond must not become a spin.
        let patience = i32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        // SAFETY: one pollfd, which outlives the call.
        if unsafe { libc::poll(&mut poll, 1, patience) } <= 0 {
            return Word::Silence;
        }
        let mut report: Report = [0; 12];
        // SAFETY: the buffer has the size given.
        let n =
            unsafe { libc::recv(control.as_raw_fd(), report.as_mut_ptr().cast(), report.len(), libc::MSG_DONTWAIT) };
        let part = |i: usize| i32::from_le_bytes([report[i], report[i + 1], report[i + 2], report[i + 3]]);
        match (n, part(0)) {
            (12, warden::STARTED) => Word::Started(part(4)),
            (12, warden::ENDED) => Word::Ended(part(4), part(8).max(0) as u32),
            (n, _) if n < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => Word::Silence,
            _ => Word::Gone,
        }
    }

    fn send(&self, message: &warden::Stop) {
        if let Some(control) = &self.control {
            // SAFETY: the buffer has the size given. If the warden is gone, the next listen() says so.
            unsafe { libc::send(control.as_raw_fd(), message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
        }
    }

    /// The warden is dead: kills its command's group and what has fallen to the harness since the command started.
    /// A child of the harness that is no warden is such an orphan if it lives in another session than the harness: no
    /// process can enter a session, and what else the harness might start stays in its own.
    fn sweep(&self) -> u32 {
        let mut killed = HashSet::new();
        let me = std::process::id() as i32;
        let session = tree::read(me).map_or(0, |p| p.session);
        for _ in 0..50 {
            // Held over the round, so that no warden is born in it.
            let wardens = WARDENS.lock().unwrap_or_else(|e| e.into_inner());
            let known = |pid: &i32| wardens.as_ref().is_some_and(|w| w.contains(pid));
            let orphan = |p: &tree::Process| {
                let fallen = p.parent == me && p.session != session && !known(&p.pid);
                (fallen && p.started >= self.started_ticks) || Some(p.session) == self.pid || Some(p.pid) == self.pid
            };
            let mut live = false;
            for process in tree::all().iter().filter(|p| orphan(p)) {
                live |= !process.is_zombie();
                killed.insert(process.pid);
                // SAFETY: signals a process that was just seen, and reaps it if it is ours and dead.
                unsafe {
                    libc::kill(process.pid, libc::SIGKILL);
                    libc::waitpid(process.pid, std::ptr::null_mut(), libc::WNOHANG);
                }
            }
            drop(wardens);
            if !live {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        killed.len() as u32
    }

    fn reap(&mut self) {
        // A closed socket ends the warden, if it is not at its end already.
        self.control = None;
        let stuck = matches!(self.done, Some((Ended::Unkillable, ..)));
        if !stuck && self.warden.wait().is_ok() {
            let id = self.warden.id() as i32;
            WARDENS.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default().remove(&id);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.end_with(Ended::Stopped);
            self.reap();
        }
    }
}
