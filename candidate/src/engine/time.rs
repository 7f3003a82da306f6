//! The clock of a worker, and the rounds that depend on it.

use std::time::{Duration, Instant};

use crate::choices::Clock;
use crate::tunables;

/// How long connections that do not end by themselves may delay the end of the server, in milliseconds.
const DRAIN: u64 = 4_000;

/// Milliseconds since the worker began, as last read.
pub struct Time {
    start: Instant,
    now: u64,
    next_sweep: u64,
    /// Once the end is asked for: when the last connections are cut.
    end: Option<u64>,
}

impl Time {
    pub fn new() -> Self {
        Self { start: Instant::now(), now: 0, next_sweep: 0, end: None }
    }

    /// The time as last read.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Reads the clock.
    pub fn read(&mut self) {
        self.now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// To be called before each turn of a connection.
    pub fn turn(&mut self) {
        if tunables::CLOCK == Clock::PerTurn {
            self.read();
        }
    }

    /// How long it is until the next look at all time limits.
    pub fn until_sweep(&self) -> Duration {
        Duration::from_millis(self.next_sweep.saturating_sub(self.now))
    }

    /// Whether it is time for that look. True once for each.
    pub fn take_sweep(&mut self) -> bool {
        let due = self.now >= self.next_sweep;
        if due {
            self.next_sweep = self.now + tunables::SWEEP_EVERY;
        }
        due
    }

    /// Takes note that the end is asked for. True the first time.
    pub fn take_stop(&mut self) -> bool {
        let first = self.end.is_none();
        self.end.get_or_insert(self.now + DRAIN);
        first
    }

    /// Whether the end is asked for.
    pub fn is_ending(&self) -> bool {
        self.end.is_some()
    }

    /// Whether what is left is to be cut.
    pub fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.now >= end)
    }
}
