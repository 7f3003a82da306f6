//! The engine over io_uring: what is asked of the kernel is queued, and handed over once a round, together with the wait.

mod buffers;
mod id;
mod peer;
mod ring;

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use slab::Slab;

use super::Engine;
use super::pool::Pool;
use super::stop::Stop;
use super::time::Time;
use super::turn::Turn;
use crate::api::Service;
use crate::state::State;
use crate::tunables;
use id::PeerId;
use peer::Peer;
use ring::{Event, Ring, Socket};

/// Sockets that a ring has room for, if they are its own and the process may have so many.
const SOCKETS: u64 = 65_536;

/// Serves with completions.
pub struct Uring {
    ring: Ring,
    /// None once nobody is accepted any more.
    listener: Option<TcpListener>,
    /// Watched by the ring, so it must stay open.
    stop: Stop,
    peers: Slab<Peer>,
    /// Connections that get a turn, in this order.
    queue: VecDeque<usize>,
    pool: Pool,
    time: Time,
    accepting: Accepting,
    timer: bool,
    /// Connections so far.
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepting {
    /// To be asked for.
    No,
    /// The kernel is at it.
    Yes,
    /// It has been asked to cease, and has not said yet that it did.
    Cancelled,
    /// The system has no room; to be tried again at the next sweep, or when a connection closes.
    NoRoom,
}

/// Why the kernel does not let this process serve with io_uring; none if it does.
pub fn refusal() -> Option<io::Error> {
    ring().err()
}

/// A ring as every worker has it.
fn ring() -> io::Result<Ring> {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(SOCKETS);
    Ring::new(tunables::RING_ENTRIES, tunables::RING_BUFFERS, files.min(SOCKETS) as u32)
}

impl Engine for Uring {
    fn new(listener: TcpListener, stop: Stop) -> io::Result<Self> {
        // Sockets inherit it; those that belong to the ring cannot be asked later.
        socket2::SockRef::from(&listener).set_tcp_nodelay(true)?;
        listener.set_nonblocking(false)?;
        Ok(Self {
            ring: ring()?,
            listener: Some(listener),
            stop,
            peers: Slab::new(),
            queue: VecDeque::new(),
            pool: Pool::default(),
            time: Time::new(),
            accepting: Accepting::No,
            timer: false,
            count: 0,
        })
    }

    fn run(mut self, state: &State) -> io::Result<()> {
        let mut service = Service::new(state);
        self.ring.watch(self.stop.as_fd())?;
        while !self.has_ended() {
            self.accept()?;
            self.start_timer()?;
            self.ring.enter(self.queue.is_empty())?;
            self.time.read();
            while let Some(event) = self.ring.next() {
                self.note(event)?;
            }
            for _ in 0..self.queue.len() {
                if let Some(key) = self.queue.pop_front() {
                    self.turn(key, &mut service)?;
                }
            }
        }
        self.close_all()
    }
}

fn enqueue(queue: &mut VecDeque<usize>, peer: &mut Peer) {
    if !std::mem::replace(&mut peer.queued, true) {
        queue.push_back(peer.id.key as usize);
    }
}

impl Uring {
    /// Sees to it that connections are accepted: for as long as the server is not to end, and then as long as somebody waits.
    fn accept(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        let wanted = !self.time.is_ending() || somebody_waits(listener)?;
        match self.accepting {
            Accepting::No if wanted => {
                self.ring.accept(listener.as_fd())?;
                self.accepting = Accepting::Yes;
            }
            Accepting::Yes if !wanted => {
                self.ring.cancel_accept()?;
                self.accepting = Accepting::Cancelled;
            }
            Accepting::No | Accepting::NoRoom if self.time.is_ending() => self.listener = None,
            _ => {}
        }
        Ok(())
    }

    /// Sees to it that there is a sweep if there is something to look at.
    fn start_timer(&mut self) -> io::Result<()> {
        let something = !self.peers.is_empty() || self.accepting == Accepting::NoRoom || self.time.is_ending();
        if something && !std::mem::replace(&mut self.timer, true) {
            self.ring.start_timer()?;
        }
        Ok(())
    }

    fn note(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Received { peer: id, bytes, more } => {
                if let Some(peer) = self.peers.get_mut(id.key as usize).filter(|peer| peer.id == id) {
                    peer.received(&mut self.ring, bytes, more);
                    enqueue(&mut self.queue, peer);
                } else if let Ok(Some(filled)) = bytes {
                    self.ring.recycle(filled);
                }
            }
            Event::Sent { peer: id, outgoing, result } => {
                if let Some(peer) = self.peers.get_mut(id.key as usize).filter(|peer| peer.id == id)
                    && peer.sent(outgoing, &result)
                {
                    enqueue(&mut self.queue, peer);
                }
            }
            Event::Accepted { socket, more } => {
                if !more {
                    self.accepting = Accepting::No;
                }
                match socket {
                    Ok(socket) => self.welcome(socket),
                    Err(error) => self.accept_failed(error)?,
                }
            }
            Event::Timer => {
                self.timer = false;
                self.sweep();
            }
            Event::Stop => {
                if self.time.take_stop() {
                    for (_, peer) in &mut self.peers {
                        enqueue(&mut self.queue, peer);
                    }
                }
            }
        }
        Ok(())
    }

    fn accept_failed(&mut self, error: io::Error) -> io::Result<()> {
        match Errno::from_io_error(&error) {
            Some(Errno::INTR | Errno::CONNABORTED | Errno::CANCELED) => {}
            Some(Errno::INVAL) => return Err(error),
            // Out of descriptors or memory.
            _ => self.accepting = Accepting::NoRoom,
        }
        Ok(())
    }

    fn welcome(&mut self, socket: Socket) {
        let conn = self.pool.open(self.time.now());
        self.count = self.count.wrapping_add(1);
        let place = self.peers.vacant_entry();
        let id = PeerId::new(place.key(), self.count);
        enqueue(&mut self.queue, place.insert(Peer::new(id, socket, conn)));
    }

    fn turn(&mut self, key: usize, service: &mut Service<'_>) -> io::Result<()> {
        self.time.turn();
        let Some(peer) = self.peers.get_mut(key) else {
            return Ok(());
        };
        peer.queued = false;
        match peer.turn(&mut self.ring, service, self.time.is_ending())? {
            Turn::Wait => peer.conn.wait(self.time.now()),
            Turn::Again => {
                peer.conn.wait(self.time.now());
                enqueue(&mut self.queue, peer);
            }
            Turn::Over => self.remove(key)?,
        }
        Ok(())
    }

    fn remove(&mut self, key: usize) -> io::Result<()> {
        let (socket, conn) = self.peers.remove(key).split();
        self.pool.keep(conn);
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::No;
        }
        self.ring.close(socket)
    }

    /// Looks at the time limits of all connections.
    fn sweep(&mut self) {
        for (_, peer) in &mut self.peers {
            if peer.conn.check_time(self.time.now()) {
                enqueue(&mut self.queue, peer);
            }
        }
        if self.accepting == Accepting::NoRoom {
            self.accepting = Accepting::No;
        }
    }

    fn has_ended(&self) -> bool {
        self.time.is_over() || self.time.is_ending() && self.peers.is_empty() && self.listener.is_none()
    }

    /// Closes what is left when time is up.
    fn close_all(mut self) -> io::Result<()> {
        for peer in self.peers.drain() {
            self.ring.close(peer.split().0)?;
        }
        self.ring.enter(false)
    }
}

/// Whether a connection could be accepted at once.
fn somebody_waits(listener: &TcpListener) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
