//! Holding the server still while a wave is written, so that it finds all requests at once and batches are stable.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// A process that can be held. Dropped, it is let go, whatever happened.
#[derive(Debug)]
pub struct Gate {
    pid: Pid,
    states: Vec<File>,
    held: bool,
}

impl Gate {
    /// A gate around that process, with its threads as they are now.
    pub fn new(pid: u32) -> anyhow::Result<Gate> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let Some(id) = raw else { bail!("{pid} is no process id: give --gate the server's") };
        let folder = format!("/proc/{pid}/task");
        let mut states = Vec::new();
        for thread in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read {folder}: is the server running?"))?
        {
            let path = thread?.path().join("stat");
            states.push(File::open(&path).with_context(|| format!("cannot open {}", path.display()))?);
        }
        Ok(Gate { pid: id, states, held: false })
    }

    /// Stops the process, and waits until every thread known has stopped.
    pub fn hold(&mut self) -> anyhow::Result<()> {
        kill_process(self.pid, Signal::STOP)
            .with_context(|| format!("cannot stop process {}", self.pid.as_raw_nonzero()))?;
        self.held = true;
        let start = Instant::now();
        for state in &self.states {
            while !stopped(state) {
                if start.elapsed() > Duration::from_secs(2) {
                    bail!(
                        "process {} did not stop within 2 s of SIGSTOP: is it another user's, or traced?",
                        self.pid.as_raw_nonzero()
                    );
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Lets it go on.
    pub fn release(&mut self) -> anyhow::Result<()> {
        self.held = false;
        kill_process(self.pid, Signal::CONT)
            .with_context(|| format!("cannot continue process {}", self.pid.as_raw_nonzero()))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if self.held {
            // Nothing more can be done where this fails: the process is gone.
            let _ = self.release();
        }
    }
}

/// Whether a thread is stopped; one that has ended counts as stopped. Reads into the stack: this is in the window.
fn stopped(state: &File) -> bool {
    let mut text = [0u8; 128];
    let Ok(length) = state.read_at(&mut text, 0) else { return true };
    let text = &text[..length];
    // The name in brackets may hold anything, a bracket too, but is at most 15 bytes long.
    let name_end = text.iter().take(48).rposition(|byte| *byte == b')');
    name_end.and_then(|at| text.get(at + 2)).is_none_or(|state| b"TtZX".contains(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pid: u32) -> u8 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        text.as_bytes()[text.rfind(')').unwrap() + 2]
    }

    #[test]
    fn a_held_process_is_stopped_and_a_dropped_gate_lets_it_go() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut gate = Gate::new(child.id()).unwrap();
        gate.hold().unwrap();
        assert_eq!(state(child.id()), b'T');
        drop(gate);
        let start = Instant::now();
        while state(child.id()) == b'T' && start.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
        }
        assert_ne!(state(child.id()), b'T');
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error_with_a_remedy() {
        assert!(Gate::new(4_000_000).unwrap_err().to_string().contains("is the server running"));
    }
}
