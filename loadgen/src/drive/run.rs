//! Connections that stay open: sockets, rounds, and the bookkeeping of what was sent and what came.

use super::book::Book;
use super::check::Check;
use super::gate::Gate;
use super::{Options, Sender};
use crate::place::raise_descriptors;
use crate::plan::Plan;
use crate::report::escaped;
use anyhow::Context;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const READ: usize = 128 * 1024;

/// One connection.
struct Link {
    socket: TcpStream,
    check: Check,
    /// Bytes of requests written, as an offset into the plan's.
    written: usize,
    /// The first request not (wholly) written, and the end of the cell.
    unsent: usize,
    end: usize,
    /// Requests of which a byte was written.
    begun: usize,
    open: bool,
    failure: &'static str,
}

pub struct Run<'a> {
    plan: &'a Plan,
    options: &'a Options<'a>,
    poll: Poll,
    events: Events,
    links: Vec<Link>,
    gate: Option<Gate>,
    buffer: Vec<u8>,
    book: Book<'a>,
    /// Connections of the round that still owe answers.
    busy: usize,
}

impl<'a> Run<'a> {
    pub fn new(plan: &'a Plan, addr: SocketAddr, options: &'a Options<'a>) -> anyhow::Result<Run<'a>> {
        raise_descriptors(plan.connections)?;
        let poll = Poll::new().context("cannot make an epoll instance: are too many files open?")?;
        let mut links = Vec::with_capacity(plan.connections);
        for index in 0..plan.connections {
            let socket = std::net::TcpStream::connect_timeout(&addr, options.timeout)
                .and_then(|socket| socket.set_nodelay(true).and_then(|()| socket.set_nonblocking(true)).map(|()| socket))
                .with_context(|| {
                    format!("cannot open connection {} of {} to {addr}: is the server listening, and `ulimit -n` high enough?", index + 1, plan.connections)
                })?;
            let mut socket = TcpStream::from_std(socket);
            poll.registry().register(&mut socket, Token(index), Interest::READABLE | Interest::WRITABLE)?;
            links.push(Link {
                socket,
                check: Check::default(),
                written: 0,
                unsent: 0,
                end: 0,
                begun: 0,
                open: true,
                failure: "",
            });
        }
        Ok(Run {
            plan,
            options,
            poll,
            events: Events::with_capacity(1024),
            links,
            gate: options.gate.map(Gate::new).transpose()?,
            buffer: vec![0; READ],
            book: Book::new(plan),
            busy: 0,
        })
    }

    fn asked_to_stop(&self) -> bool {
        self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Waits for events and handles them. True if a byte came.
    fn wait(&mut self, timeout: Duration) -> anyhow::Result<bool> {
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(false),
            other => other.context("cannot wait for sockets")?,
        }
        let mut any = false;
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            let index = event.token().0;
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                any |= self.pull(index, event.is_read_closed() || event.is_error());
            }
            self.push(index);
        }
        self.events = events;
        if let Some(progress) = self.options.progress {
            progress.store(self.book.settled(), Ordering::Relaxed);
        }
        Ok(any)
    }

    /// Writes what may be written: whole requests, at most `pipelining` of them unanswered.
    fn push(&mut self, index: usize) {
        let link = &mut self.links[index];
        while link.open && link.unsent < link.end {
            let may = link.end.min(link.check.next() + self.plan.pipelining);
            if link.unsent >= may {
                return;
            }
            let until = self.plan.request(may - 1).end;
            match link.socket.write(&self.plan.requests()[link.written..until]) {
                Ok(count) => {
                    link.written += count;
                    let now = self.book.now();
                    while link.begun < link.end && self.plan.request(link.begun).start < link.written {
                        self.book.sent(link.begun, now);
                        link.begun += 1;
                    }
                    while link.unsent < link.end && self.plan.request(link.unsent).end <= link.written {
                        link.unsent += 1;
                    }
                    link.check.sent(link.unsent, link.begun);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // Answers may still lie in the socket: reading finds the end. What was not begun was not sent.
                    link.failure = "the connection broke while requests were written";
                    link.end = link.begun;
                    self.pull(index, true);
                    self.close(index);
                    return;
                }
            }
        }
    }

    /// Reads what is there, and where the end is known to have come, the end too. True if it was anything.
    fn pull(&mut self, index: usize, ended: bool) -> bool {
        let mut any = false;
        while self.links[index].open {
            let link = &mut self.links[index];
            match link.socket.read(&mut self.buffer) {
                Ok(0) => {
                    self.hung_up(index, "the connection was closed");
                }
                Ok(count) => {
                    any = true;
                    let was_done = link.check.done();
                    let now = self.book.now();
                    let book = &mut self.book;
                    link.check.take(self.plan, &self.buffer[..count], &mut |event| book.tell(index, event, now));
                    if link.check.broken() {
                        link.failure = "what came before on this connection could not be told apart";
                        self.close_done(index, was_done);
                    } else if link.check.done() && !was_done {
                        self.busy -= 1;
                    }
                    // A short read has emptied the socket; more bytes, or the end, will make another event.
                    if count < READ && !ended {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.hung_up(
                        index,
                        match error.kind() {
                            ErrorKind::ConnectionReset => "the connection was reset",
                            _ => "the connection broke",
                        },
                    );
                }
            }
        }
        any
    }

    /// The server ended the connection, which no request of a plan asks for.
    fn hung_up(&mut self, index: usize, how: &'static str) {
        let link = &mut self.links[index];
        link.failure = how;
        self.book.unasked += u64::from(link.check.next() == link.begun);
        self.close(index);
    }

    /// The connection is of no more use: what it owes is lost.
    fn close(&mut self, index: usize) {
        let done = self.links[index].check.done();
        self.close_done(index, done);
    }

    fn close_done(&mut self, index: usize, was_done: bool) {
        let link = &mut self.links[index];
        if !link.open {
            return;
        }
        link.open = false;
        if !was_done && self.busy > 0 {
            self.busy -= 1;
        }
        let got = escaped(&link.check.gathered(self.plan), 600);
        for (nth, request) in (link.check.next()..link.begun).enumerate() {
            self.book.part(request).lost += 1;
            let got = if nth == 0 { got.as_str() } else { "" };
            self.book.note(index, request, link.failure, got.to_string());
        }
        link.check.give_up();
        // Gone or not, nothing more is read from it.
        let _ = self.poll.registry().deregister(&mut link.socket);
    }

    /// Every answer still owed is lost.
    fn give_up(&mut self, why: &'static str) {
        for index in 0..self.links.len() {
            if self.links[index].open && !self.links[index].check.done() {
                self.links[index].failure = why;
                self.close(index);
            }
        }
    }
}

impl<'a> Sender<'a> for Run<'a> {
    fn round(&mut self, round: usize) -> anyhow::Result<bool> {
        if self.asked_to_stop() {
            return Ok(true);
        }
        if self.links.iter().all(|link| !link.open) {
            return Ok(false);
        }
        self.book.round = round;
        self.busy = 0;
        for (index, link) in self.links.iter_mut().enumerate().filter(|(_, link)| link.open) {
            let cell = self.plan.cell(round, index);
            link.check.begin(cell.clone());
            (link.unsent, link.begun, link.end) = (cell.start, cell.start, cell.end);
            link.written = self.plan.request(cell.start).start;
            self.busy += 1;
        }
        if let Some(gate) = &mut self.gate {
            gate.hold()?;
            self.book.held = true;
        }
        self.book.start = Instant::now();
        for index in 0..self.links.len() {
            self.push(index);
        }
        if let Some(gate) = &mut self.gate {
            gate.release()?;
            self.book.held = false;
            self.book.start = Instant::now();
        }
        let mut last = Instant::now();
        while self.busy > 0 {
            let left = self.options.timeout.saturating_sub(last.elapsed());
            if self.asked_to_stop() {
                self.give_up("the drive was stopped before its answer came");
                return Ok(true);
            }
            if left.is_zero() {
                self.give_up("no complete answer in time");
                return Ok(false);
            }
            if self.wait(left.min(Duration::from_millis(250)))? {
                last = Instant::now();
            }
        }
        Ok(false)
    }

    /// After the last round nothing may come any more; a byte that does spoils the answer before it.
    fn finish(mut self: Box<Self>) -> anyhow::Result<Book<'a>> {
        let start = Instant::now();
        let time = Duration::from_millis(20);
        while start.elapsed() < time && self.links.iter().any(|link| link.open) {
            self.wait(time.saturating_sub(start.elapsed()))?;
        }
        Ok(self.book)
    }
}
