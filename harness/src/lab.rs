//! The seam between the two pages (`search.rs`, `attempt.rs`) and the world. `real/` does it with worktrees, compilers
//! and machines; `sim/` does it from a seed, with faults, in milliseconds. Nothing here decides anything.

use crate::judge::decide::Rule;
use crate::judge::outcome::Outcome;
use crate::judge::record::{EndReason, Held, Record};
use crate::judge::sample::Pair;
use crate::judge::statistics::Noise;
use crate::propose::{Context, Proposal};

/// A proposal that became a commit with a number.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Global number; never used twice.
    pub number: u32,
    /// Commit it changes: the head of the bank, which is the champion while nothing is banked.
    pub parent: String,
    /// The attempts in the bank beneath it, in order.
    pub bank: Vec<u32>,
    /// The proposal's own commit, on `refs/attempts/<number>`; `None` while the fence has not let it through.
    pub commit: Option<String>,
    /// What was proposed.
    pub proposal: Proposal,
}

/// A built server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// SHA-256 of the file, hex.
    pub sha256: String,
}

/// Which pairs are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The run's fixed seeds: cheap, seen again in every attempt, thrown away by the verdict.
    Screen {
        /// How many pairs.
        pairs: usize,
    },
    /// Seeds no one has seen: the only ones a verdict is made of.
    Confirm {
        /// Index of the look, from 0.
        look: usize,
        /// How many pairs to add to those of earlier looks.
        pairs: usize,
    },
    /// The champion against the whole stack: what is banked, and this attempt on top. Fresh seeds too.
    Stack {
        /// Index of the look, from 0.
        look: usize,
        /// How many pairs to add to those of earlier looks.
        pairs: usize,
    },
}

/// Why a phase did not go on.
#[derive(Debug)]
pub enum Stop {
    /// The attempt is over; this is how it ended. The search goes on.
    Ended(Outcome),
    /// The harness itself failed. The search ends with this error.
    Own(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Stop::Own(error)
    }
}

/// What a phase returns.
pub type Phased<T> = Result<T, Stop>;

/// Everything the loop needs of the world.
pub trait Lab {
    /// Finish or undo what an earlier process left; says what it did, a line each.
    fn recover(&mut self) -> anyhow::Result<Vec<String>>;
    /// What the proposer may know: the knobs of the head of the bank and the attempts of this run so far.
    fn context(&mut self) -> anyhow::Result<Context>;
    /// Give the proposal a number, write the intent to the ledger, and apply it to the worktree.
    fn open(&mut self, proposal: Proposal) -> anyhow::Result<Attempt>;

    /// Only allowed paths? Then commit it on `refs/attempts/<number>`.
    fn screen(&mut self, attempt: &mut Attempt) -> Phased<()>;
    /// Compile, offline and locked.
    fn build(&mut self, attempt: &Attempt) -> Phased<Binary>;
    /// The contract's cases, byte for byte: those that are quick.
    fn validate(&mut self, attempt: &Attempt, binary: &Binary) -> Phased<()>;
    /// The other cases, for what the screen has let through; what could not be tried, and why.
    fn validate_rest(&mut self, attempt: &Attempt, binary: &Binary) -> Phased<Option<String>>;
    /// Champion (or head of the bank) and challenger on the same seeds.
    fn measure(&mut self, attempt: &Attempt, binary: &Binary, stage: Stage) -> Phased<Vec<Pair>>;
    /// The meter's own spread, in the terms of the decision rule.
    fn noise(&self) -> Noise;
    /// The run's decision rule.
    fn rule(&self) -> Rule;

    /// Append to the ledger; durable when it returns.
    fn record(&mut self, record: &Record) -> anyhow::Result<()>;
    /// Fast-forward the run's branch to the attempt's change, with all that is banked beneath it: a commit each, its story
    /// in the message.
    fn promote(&mut self, record: &Record) -> anyhow::Result<()>;
    /// Make the attempt's commit the head of the bank.
    fn bank(&mut self, record: &Record) -> anyhow::Result<()>;
    /// Put the worktree back to the head of the bank.
    fn reset(&mut self) -> anyhow::Result<()>;
    /// Keep what it taught, whatever its outcome.
    fn learn(&mut self, record: &Record) -> anyhow::Result<()>;
    /// Champion against the run's baseline on a held-out seed; `None` while they are the same commit.
    fn held_out(&mut self) -> Phased<Option<Held>>;
    /// Write the end of the run to the ledger.
    fn close(&mut self, reason: EndReason, held: Option<&Held>) -> anyhow::Result<()>;

    /// Seconds since the run began (across restarts only this process's).
    fn elapsed(&self) -> f64;
    /// Has the person asked to stop, or the time come?
    fn stopping(&self) -> Option<EndReason>;
}
