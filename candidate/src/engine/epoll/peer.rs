//! A connection together with its socket, and the turn it takes when the socket is ready.

use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest as Readiness, Registry, Token};

use crate::api::Service;
use crate::choices::{Interest, ReadInto, ReadUntil};
use crate::conn::{Conn, Input, Step};
use crate::engine::turn::{REQUESTS_PER_TURN, Turn, answer};
use crate::tunables;

/// Reads in one turn.
const READS_PER_TURN: usize = 16;

/// What a worker has for all its connections.
pub struct Shared<'s> {
    /// Answers requests.
    pub service: Service<'s>,
    /// Room to read into.
    pub scratch: Vec<u8>,
    /// The buffer that is lent to connections.
    pub lent: Input,
}

/// A connection and its socket.
pub struct Peer {
    /// Without the socket.
    pub conn: Conn,
    /// In the queue of those who get a turn.
    pub queued: bool,
    socket: TcpStream,
    readable: bool,
    writable: bool,
    /// The kernel has seen the peer's FIN: reads must go on until they return nothing.
    fin_seen: bool,
    registered_for_writing: bool,
}

impl Peer {
    /// Registers `socket` under `token`.
    pub fn new(mut socket: TcpStream, conn: Conn, registry: &Registry, token: Token) -> io::Result<Self> {
        let both = tunables::INTEREST == Interest::Both;
        let readiness = if both { Readiness::READABLE | Readiness::WRITABLE } else { Readiness::READABLE };
        registry.register(&mut socket, token, readiness)?;
        Ok(Self {
            conn,
            queued: false,
            socket,
            readable: false,
            writable: true,
            fin_seen: false,
            registered_for_writing: both,
        })
    }

    /// Takes note of what the poll has reported.
    pub fn note(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.writable |= event.is_writable() || event.is_write_closed() || event.is_error();
        self.fin_seen |= event.is_read_closed();
    }

    /// Lets the next turn read, whatever the poll has reported.
    pub fn look_again(&mut self) {
        self.readable = true;
    }

    /// Reads, answers and writes what can be. An error concerns this connection only.
    pub fn turn(&mut self, shared: &mut Shared<'_>, registry: &Registry, token: Token) -> io::Result<Turn> {
        // A connection that has nothing of its own works in the worker's buffer; what is left moves to its own.
        let lent = tunables::READ_INTO == ReadInto::Lent && self.conn.input.bytes().is_empty();
        if lent {
            std::mem::swap(&mut self.conn.input, &mut shared.lent);
        }
        let turn = self.proceed(shared, registry, token);
        if lent {
            std::mem::swap(&mut self.conn.input, &mut shared.lent);
            self.conn.input.extend(shared.lent.bytes());
            shared.lent.clear();
        }
        turn
    }

    fn proceed(&mut self, shared: &mut Shared<'_>, registry: &Registry, token: Token) -> io::Result<Turn> {
        let mut left = REQUESTS_PER_TURN;
        let mut reads = 0;
        loop {
            let step = answer(&mut self.conn, &mut shared.service, &mut left);
            self.flush(registry, token)?;
            if self.conn.take_shutdown() {
                self.socket.shutdown(Shutdown::Write)?;
            }
            if self.conn.is_over() {
                return Ok(Turn::Over);
            }
            match step {
                Step::Answered if left > 0 => continue,
                Step::Answered => return Ok(Turn::Again),
                Step::Full if !self.conn.is_full() => continue,
                Step::Full | Step::Hungry | Step::Over => {}
            }
            if !self.readable || !self.conn.wants_input() {
                return Ok(Turn::Wait);
            }
            if reads == READS_PER_TURN {
                return Ok(Turn::Again);
            }
            reads += 1;
            match self.read(shared) {
                Ok(0) => {
                    self.readable = false;
                    self.conn.end_of_input();
                }
                Ok(count) => {
                    let short = tunables::READ_UNTIL == ReadUntil::ShortRead && count < tunables::READ_BUFFER;
                    self.readable = !short || self.fin_seen;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    return Ok(Turn::Wait);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn read(&mut self, shared: &mut Shared<'_>) -> io::Result<usize> {
        match tunables::READ_INTO {
            ReadInto::Scratch => {
                let count = self.socket.read(&mut shared.scratch)?;
                self.conn.input.extend(&shared.scratch[..count]);
                Ok(count)
            }
            ReadInto::Connection | ReadInto::Lent => {
                let count = self.socket.read(self.conn.input.space(tunables::READ_BUFFER))?;
                self.conn.input.filled(count);
                Ok(count)
            }
        }
    }

    fn flush(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        while self.writable && !self.conn.unsent().is_empty() {
            match self.socket.write(self.conn.unsent()) {
                Ok(count) => self.conn.sent(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writable = false;
                    if !self.registered_for_writing {
                        self.registered_for_writing = true;
                        registry.reregister(&mut self.socket, token, Readiness::READABLE | Readiness::WRITABLE)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
