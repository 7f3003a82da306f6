//! What a connection waits for, and how long it may. Looked at now and then by a sweep, so that requests pay nothing
//! but a note of the time.

use super::{Conn, Phase};
use crate::http::Fault;

/// Output that may wait before reading stops, in bytes.
pub const MAX_UNSENT: usize = 1 << 20;
/// Input that is thrown away after the decision to close, in bytes.
pub const LINGER_BYTES: usize = 1 << 20;

const HEAD_OR_BODY: u64 = 10_000;
const IDLE: u64 = 75_000;
const LINGER: u64 = 5_000;
const OUTPUT: u64 = 30_000;

/// Which clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// No byte of a next request is there.
    Idle,
    /// A head has begun.
    Head,
    /// A head has ended.
    Body,
    /// The peer is given time to close.
    Linger,
    /// None: the peer has to take output first.
    Output,
}

/// The clock that runs and since when.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    clock: Clock,
    answered: u32,
    since: u64,
    /// Since when no output could be sent, as far as sweeps have seen.
    stuck_since: Option<u64>,
}

impl Waiting {
    pub(super) fn new(now: u64) -> Self {
        Self { clock: Clock::Idle, answered: 0, since: now, stuck_since: None }
    }

    pub(super) fn output_moved(&mut self) {
        self.stuck_since = None;
    }
}

impl Conn {
    /// To be called when nothing more can be done for the connection at `now`.
    pub fn wait(&mut self, now: u64) {
        let clock = match self.phase {
            _ if self.is_full() => Clock::Output,
            Phase::Head(_) if matches!(self.input.bytes(), [] | [b'\r']) => Clock::Idle,
            Phase::Head(_) => Clock::Head,
            Phase::Body { .. } => Clock::Body,
            Phase::Closing { shut: true, .. } => Clock::Linger,
            Phase::Closing { .. } | Phase::Finished => Clock::Output,
        };
        if (clock, self.answered) != (self.waiting.clock, self.waiting.answered) {
            self.waiting.clock = clock;
            self.waiting.answered = self.answered;
            self.waiting.since = now;
        }
    }

    /// Applies the time limits; whether the engine has something to do for the connection because of that.
    pub fn check_time(&mut self, now: u64) -> bool {
        if self.output.waiting() > 0 {
            let since = *self.waiting.stuck_since.get_or_insert(now);
            if now.saturating_sub(since) >= OUTPUT {
                self.output.clear();
                self.phase = Phase::Finished;
                return true;
            }
        }
        let waited = now.saturating_sub(self.waiting.since);
        match self.waiting.clock {
            Clock::Head | Clock::Body if waited >= HEAD_OR_BODY => {
                self.refuse(Fault::Timeout);
            }
            Clock::Idle if waited >= IDLE && self.output.waiting() == 0 => self.close(),
            Clock::Linger if waited >= LINGER => self.phase = Phase::Finished,
            _ => return false,
        }
        true
    }
}
