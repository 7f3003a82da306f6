//! The engine over epoll, by way of mio: who is ready, who gets a turn, who is accepted, whose time is up.

mod peer;

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use super::Engine;
use super::listen;
use super::pool::Pool;
use super::stop::Stop;
use super::time::Time;
use super::turn::Turn;
use crate::api::Service;
use crate::choices::NoDelay;
use crate::conn::Input;
use crate::state::State;
use crate::tunables;
use peer::{Peer, Shared};

const LISTENER: Token = Token(usize::MAX);
const STOP: Token = Token(usize::MAX - 1);

/// Serves with edge-triggered readiness.
pub struct Epoll {
    poll: Poll,
    /// None once the end is asked for.
    listener: Option<mio::net::TcpListener>,
    /// Registered in the poll, so it must stay open.
    _stop: Stop,
    peers: Slab<Peer>,
    /// Connections that get a turn, in this order.
    queue: VecDeque<usize>,
    pool: Pool,
    accepting: Accepting,
    time: Time,
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
    fn new(listener: TcpListener, stop: Stop) -> io::Result<Self> {
        let poll = Poll::new()?;
        listener.set_nonblocking(true)?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        poll.registry().register(&mut SourceFd(&stop.as_fd().as_raw_fd()), STOP, Interest::READABLE)?;
        Ok(Self {
            poll,
            listener: Some(listener),
            _stop: stop,
            peers: Slab::new(),
            queue: VecDeque::new(),
            pool: Pool::default(),
            accepting: Accepting::Somebody,
            time: Time::new(),
        })
    }

    fn run(mut self, state: &State) -> io::Result<()> {
        let mut shared =
            Shared { service: Service::new(state), scratch: vec![0; tunables::READ_BUFFER], lent: Input::default() };
        let mut events = Events::with_capacity(tunables::EVENTS_PER_POLL);
        while !self.has_ended() {
            match self.poll.poll(&mut events, self.patience()) {
                Ok(()) => {}
                // A stopped and continued process sees this; nothing is lost.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            self.time.read();
            let mut stop = false;
            for event in &events {
                match event.token() {
                    LISTENER => self.accepting = Accepting::Somebody,
                    STOP => stop = true,
                    Token(key) => {
                        if let Some(peer) = self.peers.get_mut(key) {
                            peer.note(event);
                            enqueue(&mut self.queue, peer, key);
                        }
                    }
                }
            }
            if stop && self.time.take_stop() {
                self.begin_to_end()?;
            }
            if self.accepting == Accepting::Somebody {
                self.accept()?;
            }
            for _ in 0..self.queue.len() {
                if let Some(key) = self.queue.pop_front() {
                    self.turn(key, &mut shared);
                }
            }
            if self.time.take_sweep() {
                self.sweep();
            }
        }
        Ok(())
    }
}

fn enqueue(queue: &mut VecDeque<usize>, peer: &mut Peer, key: usize) {
    if !std::mem::replace(&mut peer.queued, true) {
        queue.push_back(key);
    }
}

impl Epoll {
    /// How long the poll may wait.
    fn patience(&self) -> Option<Duration> {
        if !self.queue.is_empty() || self.accepting == Accepting::Somebody {
            return Some(Duration::ZERO);
        }
        let nothing_to_watch = self.peers.is_empty() && self.accepting == Accepting::Nobody;
        // One more, for the poll counts whole milliseconds and must not wake up just before the sweep.
        (!nothing_to_watch).then(|| self.time.until_sweep() + Duration::from_millis(1))
    }

    fn turn(&mut self, key: usize, shared: &mut Shared<'_>) {
        self.time.turn();
        let Some(peer) = self.peers.get_mut(key) else {
            return;
        };
        peer.queued = false;
        match peer.turn(shared, self.poll.registry(), Token(key)) {
            Ok(Turn::Wait) if self.time.is_ending() && peer.conn.is_open() && !peer.conn.is_full() => {
                // All that has come is answered.
                peer.conn.close();
                enqueue(&mut self.queue, peer, key);
            }
            Ok(Turn::Wait) => peer.conn.wait(self.time.now()),
            Ok(Turn::Again) => {
                peer.conn.wait(self.time.now());
                enqueue(&mut self.queue, peer, key);
            }
            // The peer has gone, or the socket is broken: there is nobody to tell.
            Ok(Turn::Over) | Err(_) => self.remove(key),
        }
    }

    fn remove(&mut self, key: usize) {
        self.pool.keep(self.peers.remove(key).conn);
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::Somebody;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..tunables::ACCEPT_BURST {
            let Some(listener) = &self.listener else {
                self.accepting = Accepting::Nobody;
                return Ok(());
            };
            match listener.accept() {
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
        let conn = self.pool.open(self.time.now());
        let place = self.peers.vacant_entry();
        let token = Token(place.key());
        place.insert(Peer::new(socket, conn, self.poll.registry(), token)?);
        Ok(())
    }

    /// Looks at the time limits of all connections.
    fn sweep(&mut self) {
        for (key, peer) in &mut self.peers {
            if peer.conn.check_time(self.time.now()) {
                enqueue(&mut self.queue, peer, key);
            }
        }
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::Somebody;
        }
    }

    /// Takes those who wait already, closes the door, and gives everybody a turn to be answered what has come.
    fn begin_to_end(&mut self) -> io::Result<()> {
        self.accepting = Accepting::Somebody;
        // No more than could wait, for others may keep coming.
        for _ in 0..listen::BACKLOG {
            if self.accepting == Accepting::Somebody {
                self.accept()?;
            }
        }
        self.accepting = Accepting::Nobody;
        self.listener = None;
        for (key, peer) in &mut self.peers {
            peer.look_again();
            enqueue(&mut self.queue, peer, key);
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.time.is_over() || self.time.is_ending() && self.peers.is_empty()
    }
}
