//! A connection together with its socket and with what the kernel has been asked to do for it.

use std::io;

use rustix::io::Errno;

use super::buffers::Filled;
use super::id::PeerId;
use super::ring::{Ring, Socket};
use crate::api::Service;
use crate::conn::{Conn, Outgoing, Step};
use crate::engine::turn::{REQUESTS_PER_TURN, Turn, answer};

/// Input that may wait to be answered before receiving stops, in bytes. More than the largest request, which has to wait whole.
const MAX_INPUT: usize = 262_144;

/// An operation that the kernel may have been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// It has not, or it has said that it is done.
    No,
    /// It is at it.
    Yes,
    /// It has been asked to give it up and has not said yet that it did.
    Cancelled,
}

/// A connection and its socket.
pub struct Peer {
    /// Without the socket.
    pub conn: Conn,
    /// In the queue of those who get a turn.
    pub queued: bool,
    /// What the kernel knows it by.
    pub id: PeerId,
    socket: Socket,
    receiving: Asked,
    /// Receiving is for what has come already, and does not wait.
    only_now: bool,
    sending: Asked,
    /// The number of what is being sent.
    number: u32,
    /// Sending does not wait, and may not be reported.
    at_once: bool,
    /// The socket has not taken all of what was sent last.
    blocked: bool,
    /// Given up, as soon as the kernel has nothing to do for it any more.
    leaving: bool,
}

impl Peer {
    /// A new one, for which the kernel does nothing yet.
    pub fn new(id: PeerId, socket: Socket, conn: Conn) -> Self {
        Self {
            conn,
            queued: false,
            id,
            socket,
            receiving: Asked::No,
            only_now: false,
            sending: Asked::No,
            number: 0,
            at_once: false,
            blocked: false,
            leaving: false,
        }
    }

    /// Its parts, once its turn is over for good.
    pub fn split(self) -> (Socket, Conn) {
        (self.socket, self.conn)
    }

    /// Takes what has been received. The connection needs a turn after it.
    pub fn received(&mut self, ring: &mut Ring, bytes: io::Result<Option<Filled>>, more: bool) {
        if !more {
            self.receiving = Asked::No;
        }
        match bytes {
            Ok(Some(filled)) => {
                self.conn.input.extend(ring.bytes(&filled));
                ring.recycle(filled);
            }
            Ok(None) => self.conn.end_of_input(),
            Err(error) => match Errno::from_io_error(&error) {
                // Out of buffers, or given up on demand: the next turn asks again if it wants more.
                Some(Errno::NOBUFS | Errno::CANCELED | Errno::INTR) => {}
                // All that has come before the end is answered.
                Some(Errno::AGAIN) => self.close(),
                // The peer has gone, or the socket is broken: there is nobody to tell.
                _ => self.leaving = true,
            },
        }
    }

    fn close(&mut self) {
        if self.conn.is_open() {
            self.conn.close();
        }
    }

    /// Takes back what was to be sent. Whether the connection needs a turn because of that.
    pub fn sent(&mut self, outgoing: Outgoing, result: &io::Result<usize>) -> bool {
        self.sending = Asked::No;
        self.blocked = outgoing.from < outgoing.bytes.len();
        let was_full = self.conn.is_full();
        self.conn.bring_back_output(outgoing, result.is_ok());
        let trouble = result.as_ref().err().map(Errno::from_io_error);
        self.leaving |= trouble.is_some_and(|trouble| !matches!(trouble, Some(Errno::INTR | Errno::AGAIN)));
        self.leaving || was_full || !self.conn.unsent().is_empty() || !self.conn.is_open()
    }

    /// Answers what can be, and asks the kernel for what is needed to go on. `ending` is for a server that takes no more
    /// than what has come already. An error concerns all connections.
    pub fn turn(&mut self, ring: &mut Ring, service: &mut Service<'_>, ending: bool) -> io::Result<Turn> {
        if self.leaving {
            return self.leave(ring);
        }
        let mut left = REQUESTS_PER_TURN;
        loop {
            let step = answer(&mut self.conn, service, &mut left);
            self.send(ring)?;
            if self.conn.take_shutdown() {
                ring.shutdown(&self.socket)?;
            }
            if self.conn.is_over() {
                return self.leave(ring);
            }
            if step == Step::Answered && left > 0 {
                continue;
            }
            self.receive(ring, ending)?;
            // What is sent at once makes room for the rest without an event that says so.
            let more_to_send = self.sending == Asked::Yes && self.at_once && !self.conn.unsent().is_empty();
            return Ok(if step == Step::Answered || more_to_send { Turn::Again } else { Turn::Wait });
        }
    }

    fn send(&mut self, ring: &mut Ring) -> io::Result<()> {
        if self.sending == Asked::No
            && let Some(outgoing) = self.conn.take_output()
        {
            // Nothing is to be done as soon as it is sent, unless the connection closes then or has more to say.
            self.at_once = self.conn.is_open() && !self.conn.is_full() && !self.blocked;
            self.number = ring.send(self.id, &self.socket, outgoing, self.at_once)?;
            self.sending = Asked::Yes;
        }
        Ok(())
    }

    fn receive(&mut self, ring: &mut Ring, ending: bool) -> io::Result<()> {
        let wanted = self.conn.wants_input() && self.conn.input.bytes().len() <= MAX_INPUT;
        let only_now = ending && self.conn.is_open();
        match self.receiving {
            Asked::No if wanted => {
                if only_now {
                    ring.receive_now(self.id, &self.socket)?;
                } else {
                    ring.receive(self.id, &self.socket)?;
                }
                self.receiving = Asked::Yes;
                self.only_now = only_now;
            }
            Asked::Yes if !wanted || self.only_now != only_now => self.stop_receiving(ring)?,
            _ => {}
        }
        Ok(())
    }

    fn stop_receiving(&mut self, ring: &mut Ring) -> io::Result<()> {
        self.receiving = Asked::Cancelled;
        ring.cancel_receive(self.id)
    }

    /// Gives the connection up; `Over` once the kernel is done with it.
    fn leave(&mut self, ring: &mut Ring) -> io::Result<Turn> {
        self.leaving = true;
        if self.receiving == Asked::Yes {
            self.stop_receiving(ring)?;
        }
        if self.sending == Asked::Yes {
            self.sending = Asked::Cancelled;
            ring.cancel_send(self.number)?;
        }
        let done = self.receiving == Asked::No && self.sending == Asked::No;
        Ok(if done { Turn::Over } else { Turn::Wait })
    }
}
