//! The engine over epoll, by way of mio: who is ready, who gets a turn, who is accepted, whose time is up.

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::Engine;
use super::peer::{Peer, Shared, Turn};
use crate::api::Service;
use crate::choices::{Buffers, Clock, NoDelay};
use crate::conn::{Conn, Input};
use crate::state::State;
use crate::tunables;

const LISTENER: Token = Token(usize::MAX);
/// Buffers of closed connections that are kept.
const POOL: usize = 1_024;

/// Serves with edge-triggered readiness.
pub struct Epoll {
    poll: Poll,
    listener: mio::net::TcpListener,
    peers: Slab<Peer>,
    /// Connections that get a turn, in this order.
    queue: VecDeque<usize>,
    pool: Vec<Conn>,
    accepting: Accepting,
    start: Instant,
    now: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepting {
    /// Until the poll reports someone, nobody waits.
    Nobody,
    /// Somebody may wait.
    Somebody,
    /// The system has no room; to be tried again at the next sweep, or when a connection closes.
    NoRoom,
}

impl Engine for Epoll {
    fn new(listener: TcpListener) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            listener,
            peers: Slab::new(),
            queue: VecDeque::new(),
            pool: Vec::new(),
            accepting: Accepting::Somebody,
            start: Instant::now(),
            now: 0,
        })
    }

    fn run(mut self, state: &State) -> io::Result<()> {
        let mut shared =
            Shared { service: Service::new(state), scratch: vec![0; tunables::READ_BUFFER], lent: Input::default() };
        let mut events = Events::with_capacity(tunables::EVENTS_PER_POLL);
        let mut next_sweep = 0;
        loop {
            match self.poll.poll(&mut events, self.patience(next_sweep)) {
                Ok(()) => {}
                // A stopped and continued process sees this; nothing is lost.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.read_clock();
            for event in &events {
                if event.token() == LISTENER {
                    self.accepting = Accepting::Somebody;
                } else if let Some(peer) = self.peers.get_mut(event.token().0) {
                    peer.note(event);
                    enqueue(&mut self.queue, peer, event.token().0);
                }
            }
            if self.accepting == Accepting::Somebody {
                self.accept()?;
            }
            for _ in 0..self.queue.len() {
                if let Some(key) = self.queue.pop_front() {
                    self.turn(key, &mut shared);
                }
            }
            if self.now >= next_sweep {
                next_sweep = self.now + tunables::SWEEP_EVERY;
                self.sweep();
            }
        }
    }
}

fn enqueue(queue: &mut VecDeque<usize>, peer: &mut Peer, key: usize) {
    if !std::mem::replace(&mut peer.queued, true) {
        queue.push_back(key);
    }
}

impl Epoll {
    /// How long the poll may wait.
    fn patience(&self, next_sweep: u64) -> Option<Duration> {
        if !self.queue.is_empty() || self.accepting == Accepting::Somebody {
            return Some(Duration::ZERO);
        }
        let nothing_to_watch = self.peers.is_empty() && self.accepting == Accepting::Nobody;
        // One more, for the poll counts whole milliseconds and must not wake up just before the sweep.
        (!nothing_to_watch).then(|| Duration::from_millis(next_sweep.saturating_sub(self.now) + 1))
    }

    fn read_clock(&mut self) {
        self.now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    fn turn(&mut self, key: usize, shared: &mut Shared<'_>) {
        if tunables::CLOCK == Clock::PerTurn {
            self.read_clock();
        }
        let Some(peer) = self.peers.get_mut(key) else {
            return;
        };
        peer.queued = false;
        match peer.turn(shared, self.poll.registry(), Token(key)) {
            Ok(Turn::Wait) => peer.conn.wait(self.now),
            Ok(Turn::Again) => {
                peer.conn.wait(self.now);
                enqueue(&mut self.queue, peer, key);
            }
            // The peer has gone, or the socket is broken: there is nobody to tell.
            Ok(Turn::Over) | Err(_) => self.remove(key),
        }
    }

    fn remove(&mut self, key: usize) {
        let peer = self.peers.remove(key);
        if tunables::BUFFERS == Buffers::Pooled && self.pool.len() < POOL {
            self.pool.push(peer.conn);
        }
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::Somebody;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..tunables::ACCEPT_BURST {
            match self.listener.accept() {
                // A socket that breaks before it is registered is as good as one that breaks after it.
                Ok((socket, _)) => drop(self.welcome(socket)),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        self.accepting = Accepting::Nobody;
                        return Ok(());
                    }
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    io::ErrorKind::InvalidInput => return Err(error),
                    // Out of descriptors or memory.
                    _ => {
                        self.accepting = Accepting::NoRoom;
                        return Ok(());
                    }
                },
            }
        }
        Ok(())
    }

    fn welcome(&mut self, socket: mio::net::TcpStream) -> io::Result<()> {
        if tunables::NO_DELAY == NoDelay::OnAccept {
            socket.set_nodelay(true)?;
        }
        let conn = match self.pool.pop() {
            Some(conn) => conn.renew(self.now),
            None => Conn::new(self.now),
        };
        let place = self.peers.vacant_entry();
        let token = Token(place.key());
        place.insert(Peer::new(socket, conn, self.poll.registry(), token)?);
        Ok(())
    }

    /// Looks at the time limits of all connections.
    fn sweep(&mut self) {
        for (key, peer) in &mut self.peers {
            if peer.conn.check_time(self.now) {
                enqueue(&mut self.queue, peer, key);
            }
        }
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::Somebody;
        }
    }
}
