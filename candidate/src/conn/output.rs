//! The responses of a connection that are not sent yet.

use super::limits::MAX_UNSENT;
use crate::tunables;

/// Capacity that an empty buffer may keep, in bytes.
const KEPT: usize = 262_144;

/// A buffer that is filled at its end and sent from its start.
pub struct Output {
    bytes: Vec<u8>,
    sent: usize,
}

impl Default for Output {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(tunables::OUTPUT_START), sent: 0 }
    }
}

impl Output {
    /// Where responses are added.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// What is to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Takes note that `count` more bytes are sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.clear();
        } else if self.sent > MAX_UNSENT {
            // A peer that never quite catches up must not make the buffer grow.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Drops everything, and room beyond what is usual.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::with_capacity(tunables::OUTPUT_START);
        }
    }
}
