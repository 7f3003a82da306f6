//! The responses of a connection that are not sent yet.

use super::limits::MAX_UNSENT;
use crate::tunables;

/// Capacity that an empty buffer may keep, in bytes.
const KEPT: usize = 262_144;

/// Bytes on their way: those before `from` are sent. Whoever has it owns the bytes, so that they stay where they are.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// The responses.
    pub bytes: Vec<u8>,
    /// How many of the bytes are sent.
    pub from: usize,
}

/// A buffer that is filled at its end and sent from its start: either in place, or by taking all of it away.
pub struct Output {
    own: Outgoing,
    /// How many unsent bytes are taken away.
    taken: usize,
    /// Room for what is added while bytes are away.
    spare: Vec<u8>,
}

impl Default for Output {
    fn default() -> Self {
        Self { own: Outgoing { bytes: fresh(), from: 0 }, taken: 0, spare: Vec::new() }
    }
}

fn fresh() -> Vec<u8> {
    Vec::with_capacity(tunables::OUTPUT_START)
}

/// Empties `bytes`, which keeps its room unless that is unusual.
fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    if bytes.capacity() > KEPT {
        *bytes = fresh();
    }
}

impl Output {
    /// Where responses are added.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.own.bytes
    }

    /// What is to be sent and is here.
    pub fn unsent(&self) -> &[u8] {
        &self.own.bytes[self.own.from..]
    }

    /// How many bytes are not sent, here and away.
    pub fn waiting(&self) -> usize {
        self.own.bytes.len() - self.own.from + self.taken
    }

    /// Takes note that `count` more bytes are sent.
    pub fn sent(&mut self, count: usize) {
        self.own.from += count;
        if self.own.from == self.own.bytes.len() {
            self.own.from = 0;
            empty(&mut self.own.bytes);
        } else if self.own.from > MAX_UNSENT {
            // A peer that never quite catches up must not make the buffer grow.
            self.own.bytes.drain(..self.own.from);
            self.own.from = 0;
        }
    }

    /// All that is here, to be brought back with [`Output::bring_back`]. None if nothing is here or something is away.
    pub fn take(&mut self) -> Option<Outgoing> {
        if self.taken > 0 || self.own.bytes.is_empty() {
            return None;
        }
        self.taken = self.unsent().len();
        Some(std::mem::replace(&mut self.own, Outgoing { bytes: std::mem::take(&mut self.spare), from: 0 }))
    }

    /// What was taken, of which more may be sent now. What is not goes before what was added meanwhile.
    pub fn bring_back(&mut self, outgoing: Outgoing) {
        let dropped = std::mem::take(&mut self.taken) == 0;
        if dropped || outgoing.from == outgoing.bytes.len() {
            self.spare = outgoing.bytes;
            empty(&mut self.spare);
            return;
        }
        let mut newer = std::mem::replace(&mut self.own, outgoing);
        self.own.bytes.append(&mut newer.bytes);
        self.spare = newer.bytes;
        self.sent(0);
    }

    /// Drops everything, also what is away, and room beyond what is usual.
    pub fn clear(&mut self) {
        self.own.from = 0;
        empty(&mut self.own.bytes);
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output with these bytes in it.
    fn holding(bytes: &[u8]) -> Output {
        let mut output = Output::default();
        output.buffer().extend_from_slice(bytes);
        output
    }

    #[test]
    fn what_was_taken_and_not_sent_goes_before_what_was_added_meanwhile() {
        let mut output = holding(b"first");
        let mut outgoing = output.take().unwrap();
        output.buffer().extend_from_slice(b"second");
        assert!(output.take().is_none(), "one at a time");
        assert_eq!(output.waiting(), 11);
        outgoing.from = 2;
        output.bring_back(outgoing);
        assert_eq!((output.unsent(), output.waiting()), (&b"rstsecond"[..], 9));
        let mut outgoing = output.take().unwrap();
        outgoing.from = outgoing.bytes.len();
        output.bring_back(outgoing);
        assert_eq!(output.waiting(), 0);
    }

    #[test]
    fn what_was_dropped_while_it_was_away_does_not_come_back() {
        let mut output = holding(b"first");
        let outgoing = output.take().unwrap();
        output.clear();
        output.bring_back(outgoing);
        assert!(output.waiting() == 0 && output.take().is_none());
    }

    #[test]
    fn buffers_taken_and_brought_back_are_used_again() {
        let mut output = holding(b"first");
        let mut places = Vec::new();
        for _ in 0..4 {
            let mut outgoing = output.take().unwrap();
            places.push(outgoing.bytes.as_ptr());
            outgoing.from = outgoing.bytes.len();
            output.bring_back(outgoing);
            output.buffer().extend_from_slice(b"next!");
        }
        assert_eq!(places[..2], places[2..]);
    }
}
