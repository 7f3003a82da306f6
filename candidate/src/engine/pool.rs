//! Connections without a socket, kept for the next one.

use crate::choices::Buffers;
use crate::conn::Conn;
use crate::tunables;

/// Connections that are kept at most.
const KEPT: usize = 1_024;

/// Where connections come from and go to.
#[derive(Default)]
pub struct Pool(Vec<Conn>);

impl Pool {
    /// A connection that is opened at `now`.
    pub fn open(&mut self, now: u64) -> Conn {
        match self.0.pop() {
            Some(conn) => conn.renew(now),
            None => Conn::new(now),
        }
    }

    /// Takes back one that is over.
    pub fn keep(&mut self, conn: Conn) {
        if tunables::BUFFERS == Buffers::Pooled && self.0.len() < KEPT {
            self.0.push(conn);
        }
    }
}
