//! Bounded output: a thread reads the command's pipe to its end and keeps no more than the limit, so that a million
//! lines cost neither disk nor a blocked pipe. What the lines mean is not its business.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Pumped {
    /// Bytes that the command wrote.
    pub total: u64,
    /// True when some of them were dropped.
    pub cut: bool,
    /// Why the log could not be written, if so (a full disk).
    pub error: Option<String>,
    /// What was kept in memory.
    pub kept: Vec<u8>,
}

/// Where to.
pub(super) enum Sink {
    /// A file and its limit.
    File(File, u64),
    /// Memory and its limit.
    Memory(usize),
}

/// The thread that empties the pipe.
pub(super) struct Pump {
    thread: JoinHandle<Pumped>,
    ended: Arc<AtomicBool>,
}

impl Pump {
    /// Starts reading.
    pub(super) fn start(pipe: OwnedFd, sink: Sink) -> io::Result<Pump> {
        let ended = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ended);
        let thread = thread::Builder::new().name("log".into()).spawn(move || pump(pipe, sink, &told))?;
        Ok(Pump { thread, ended })
    }

    /// To be called when the whole tree is dead: reads what is left. Where a process escaped with the pipe in hand, it
    /// stops waiting once the pipe falls silent.
    pub(super) fn finish(self) -> Pumped {
        self.ended.store(true, Ordering::SeqCst);
        self.thread
            .join()
            .unwrap_or_else(|_| Pumped { error: Some("the log thread failed".into()), ..Pumped::default() })
    }
}

fn pump(pipe: OwnedFd, sink: Sink, ended: &AtomicBool) -> Pumped {
    let mut pipe = File::from(pipe);
    let mut done = Pumped::default();
    let (mut file, limit) = match sink {
        Sink::File(file, limit) => (Some(file), limit),
        Sink::Memory(limit) => (None, limit as u64),
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let was_ended = ended.load(Ordering::SeqCst);
        if !readable(&pipe) {
            if was_ended {
                break;
            }
            continue;
        }
        let n = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                done.error = Some(format!("reading the output failed: {e}"));
                break;
            }
        };
        let room = limit.saturating_sub(done.total).min(n as u64) as usize;
        done.total += n as u64;
        match &mut file {
            None => done.kept.extend_from_slice(&buffer[..room]),
            Some(file) if done.error.is_none() => {
                let mut text = buffer[..room].to_vec();
                if room < n && !done.cut {
                    text.extend_from_slice(
                        format!("\n[cut: the output exceeds {limit} bytes, the rest is dropped]\n").as_bytes(),
                    );
                }
                done.error = file.write_all(&text).err().map(|e| format!("writing the log failed: {e}"));
            }
            // The pipe is still emptied: the command must not block because our disk is full.
            Some(_) => {}
        }
        done.cut |= room < n;
    }
    done
}

/// Waits up to 100 ms, so that the end of the tree is noticed even when the pipe never closes.
fn readable(pipe: &File) -> bool {
    let mut poll = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd, which outlives the call.
    unsafe { libc::poll(&mut poll, 1, 100) > 0 }
}
