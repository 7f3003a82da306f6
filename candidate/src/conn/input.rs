//! The bytes of a connection that have come and are not used up. What they mean is decided in `conn` and `http`.

use crate::tunables;

/// Room that an empty buffer may keep, in bytes.
const KEPT: usize = if tunables::READ_BUFFER > 32_768 { tunables::READ_BUFFER } else { 32_768 };

/// A buffer that is filled at its end and used up from its start.
#[derive(Default)]
pub struct Input {
    /// All of it is initialized; only `start..end` means something.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// What is there from `offset` on, to be changed in place.
    pub fn behind(&mut self, offset: usize) -> &mut [u8] {
        &mut self.buffer[self.start + offset..self.end]
    }

    /// Room for `room` bytes behind what is there; tell [`Input::filled`] how much of it was used.
    pub fn space(&mut self, room: usize) -> &mut [u8] {
        if self.buffer.len() - self.end < room && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < room {
            self.buffer.resize(self.end + room, 0);
        }
        &mut self.buffer[self.end..self.end + room]
    }

    /// Takes note that `count` bytes of the room hold something now.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
        debug_assert!(self.end <= self.buffer.len());
    }

    /// Adds a copy of `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Drops the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            self.clear();
        }
    }

    /// Drops what is behind the first `count` bytes.
    pub fn truncate(&mut self, count: usize) {
        self.end = self.end.min(self.start + count);
    }

    /// Drops everything, and room beyond what is usual.
    pub fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
        if self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_growth_and_moves() {
        let mut input = Input::default();
        let mut expected = Vec::new();
        for round in 0..200u8 {
            let part = vec![round; usize::from(round)];
            input.extend(&part);
            expected.extend_from_slice(&part);
            let used = usize::from(round) * 2 / 3;
            input.consume(used);
            expected.drain(..used);
            assert_eq!(input.bytes(), expected);
        }
        input.truncate(10);
        assert_eq!(input.bytes(), &expected[..10]);
    }

    #[test]
    fn an_emptied_buffer_does_not_keep_unusual_room() {
        let mut input = Input::default();
        input.extend(&vec![0; KEPT + 1]);
        input.consume(KEPT + 1);
        assert!(input.buffer.is_empty());
    }
}
