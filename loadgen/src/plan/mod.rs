//! Plans: every request with its exact answer, computed beforehand, in the order they are sent.
//!
//! Each request of a plan has exactly one right answer, whatever the order in which a server takes the connections:
//! what a request changes, only requests ordered before and after it can see. Framing faults, closing connections and
//! answers the contract leaves open are not load; they are in [`crate::cases`]. Nothing here opens a socket.

mod ask;
mod attack;
mod broken;
mod chains;
mod closing;
mod constant;
mod draw;
mod make;
mod place;
mod pool;
mod singles;
mod tokens;
mod wire;

pub use attack::Phase;

use crate::workload::{Kind, Schedule};
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The seed it was made from.
    pub seed: u64,
    /// Connections.
    pub connections: usize,
    /// Requests in flight on a connection at most.
    pub pipelining: usize,
    /// How they are let go.
    pub schedule: Schedule,
    /// Requests on each connection, round by round; a round ends when all answers are in.
    pub rounds: Vec<usize>,
    /// How many of the rounds come before the window.
    pub warmup_rounds: usize,
    kinds: Vec<Kind>,
    request_ends: Vec<u32>,
    answer_ends: Vec<u32>,
    requests: Vec<u8>,
    answers: Vec<u8>,
    /// Whether bytes of the answers are blanks; in the encoding it is the magic that tells.
    #[serde(skip)]
    blanks: bool,
}

const MAGIC: &[u8; 8] = b"LGPLAN01";
const MAGIC_BLANKS: &[u8; 8] = b"LGBLANK1";

impl Plan {
    /// The plan as bytes, with a checksum.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = if self.blanks { MAGIC_BLANKS } else { MAGIC }.to_vec();
        bytes.extend(postcard::to_allocvec(self).expect("a plan is plain data"));
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    /// Reads what [`Plan::encode`] wrote; anything else is an error.
    pub fn decode(bytes: &[u8]) -> anyhow::Result<Plan> {
        let blanks = bytes.starts_with(MAGIC_BLANKS);
        ensure!(blanks || bytes.starts_with(MAGIC), "this is no plan: make one with `loadgen plan`");
        let (body, sum) = bytes.split_at(bytes.len().saturating_sub(32).max(MAGIC.len()));
        if Sha256::digest(body)[..] != *sum {
            bail!("the plan is damaged (its checksum does not fit {} bytes): make it again", bytes.len());
        }
        let plan: Plan = postcard::from_bytes(&body[MAGIC.len()..])
            .context("the plan is of another version: make it again with `loadgen plan`")?;
        Ok(Plan { blanks, ..plan })
    }

    /// Requests in all.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The requests of a connection in a round, as indexes.
    pub fn cell(&self, round: usize, connection: usize) -> Range<usize> {
        let before: usize = self.rounds[..round].iter().sum();
        let first = before * self.connections + connection * self.rounds[round];
        first..first + self.rounds[round]
    }

    /// The round a request belongs to, and its position on its connection in that round.
    pub fn place(&self, index: usize) -> (usize, usize) {
        let mut first = 0;
        for (round, depth) in self.rounds.iter().enumerate() {
            let after = first + depth * self.connections;
            if index < after {
                return (round, (index - first) % depth);
            }
            first = after;
        }
        (self.rounds.len(), 0)
    }

    /// The kind of a request.
    pub fn kind(&self, index: usize) -> Kind {
        self.kinds[index]
    }

    /// Where a request lies in [`Plan::requests`].
    pub fn request(&self, index: usize) -> Range<usize> {
        span(&self.request_ends, index)
    }

    /// Where its answer lies in [`Plan::answers`].
    pub fn answer(&self, index: usize) -> Range<usize> {
        span(&self.answer_ends, index)
    }

    /// Whether the connection is over with its answer.
    pub fn closes(&self, index: usize) -> bool {
        closing::closes(&self.answers[self.answer(index)])
    }

    /// All requests, one after the other.
    pub fn requests(&self) -> &[u8] {
        &self.requests
    }

    /// All answers, one after the other.
    pub fn answers(&self) -> &[u8] {
        &self.answers
    }

    /// Whether bytes that came are those of a stretch of [`Plan::answers`] as long as they.
    pub fn fits(&self, right: &[u8], came: &[u8]) -> bool {
        right == came
            || self.blanks && right.iter().zip(came).all(|(right, came)| right == came || *right == constant::BLANK)
    }
}

fn span(ends: &[u32], index: usize) -> Range<usize> {
    let start = if index == 0 { 0 } else { ends[index - 1] };
    start as usize..ends[index] as usize
}
