//! What is being done, on stderr, for work that takes longer than two seconds: a moving line on a terminal, a line
//! every five seconds elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Says what is being done, until it is dropped.
pub struct Ticker {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Work called `what`; `done` counts to `total`, where there is anything to count.
    pub fn start(what: &'static str, total: u64, done: Arc<AtomicU64>) -> Ticker {
        let (over, told) = channel();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let terminal = std::io::stderr().is_terminal();
            let every = if terminal { Duration::from_millis(250) } else { Duration::from_secs(5) };
            let mut shown = false;
            let mut wait = Duration::from_secs(2);
            while told.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = every;
                shown = true;
                let (before, after) = if terminal { ("\r\x1b[K", "") } else { ("", "\n") };
                let count = match done.load(Ordering::Relaxed) {
                    0 => String::new(),
                    done => format!("{done} of {total}, "),
                };
                say(&format!("{before}loadgen: {what}: {count}{:.0} s{after}", start.elapsed().as_secs_f64()));
            }
            if shown && terminal {
                say("\r\x1b[K");
            }
        });
        Ticker { over: Some(over), thread: Some(thread) }
    }
}

fn say(text: &str) {
    // Nobody may be reading; the work goes on.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // A progress line that failed concerns nobody.
            let _ = thread.join();
        }
    }
}
