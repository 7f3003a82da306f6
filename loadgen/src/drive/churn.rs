//! Connections that live for one request: connect, ask, read, close, and the next. Every other answer closes the
//! connection by itself (`Connection: close` was asked for), and its end is checked as well.

use super::book::Book;
use super::check::{Check, Event};
use super::{Options, Sender};
use crate::dial::{self, Sources};
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

const READ: usize = 64 * 1024;

/// One connection at a time, for one request after the other.
#[derive(Default)]
struct Lane {
    socket: Option<TcpStream>,
    check: Check,
    /// The request of this connection, and the end of the lane's.
    request: usize,
    end: usize,
    /// Bytes of requests written, as an offset into the plan's.
    written: usize,
}

/// How a connection ended.
enum End {
    /// As it should, or what it did is noted already.
    Noted,
    /// Without a whole answer.
    Early(&'static str),
    /// After a right answer, in another way than it should.
    Badly(&'static str),
}

pub struct Churn<'a> {
    plan: &'a Plan,
    addr: SocketAddr,
    options: &'a Options<'a>,
    sources: Sources,
    poll: Poll,
    events: Events,
    lanes: Vec<Lane>,
    buffer: Vec<u8>,
    book: Book<'a>,
    /// Lanes with requests left.
    busy: usize,
}

impl<'a> Churn<'a> {
    pub fn new(plan: &'a Plan, addr: SocketAddr, options: &'a Options<'a>) -> anyhow::Result<Churn<'a>> {
        raise_descriptors(plan.connections)?;
        Ok(Churn {
            plan,
            addr,
            options,
            sources: Sources::new(addr, plan.len()),
            poll: Poll::new().context("cannot make an epoll instance: are too many files open?")?,
            events: Events::with_capacity(1024),
            lanes: (0..plan.connections).map(|_| Lane::default()).collect(),
            buffer: vec![0; READ],
            book: Book::new(plan),
            busy: 0,
        })
    }

    /// Connects for the lane's request, or for the next one that can be; the lane is over when there is none.
    fn open(&mut self, index: usize) -> anyhow::Result<()> {
        loop {
            let lane = &mut self.lanes[index];
            let request = lane.request;
            if request == lane.end {
                self.busy -= 1;
                return Ok(());
            }
            lane.check = Check::default();
            lane.check.begin(request..request + 1);
            lane.written = self.plan.request(request).start;
            let now = self.book.now();
            self.book.sent(request, now);
            match dial::begin(self.addr, self.sources.of(request))? {
                Ok(socket) => {
                    let socket = lane.socket.insert(TcpStream::from_std(socket));
                    let both = Interest::READABLE | Interest::WRITABLE;
                    return self.poll.registry().register(socket, Token(index), both).context("cannot watch a socket");
                }
                Err(_) => self.lose(index, "the connection was refused"),
            }
            self.lanes[index].request += 1;
        }
    }

    /// The lane's connection is over; on to its next request.
    fn next(&mut self, index: usize, end: End) -> anyhow::Result<()> {
        match end {
            End::Noted => {}
            End::Early(why) => self.lose(index, why),
            End::Badly(why) => {
                let now = self.book.now();
                self.book.tell(index, Event::Undone(self.lanes[index].request, why, String::new()), now);
            }
        }
        let lane = &mut self.lanes[index];
        // Everything was read, so this is an orderly close.
        lane.socket = None;
        lane.request += 1;
        self.open(index)
    }

    fn lose(&mut self, index: usize, why: &'static str) {
        let lane = &self.lanes[index];
        self.book.part(lane.request).lost += 1;
        let got = escaped(&lane.check.gathered(self.plan), 600);
        self.book.note(index, lane.request, why, got);
    }

    /// Writes and reads what can be. Some where the connection is over.
    fn proceed(&mut self, index: usize, any: &mut bool) -> Option<End> {
        let lane = &mut self.lanes[index];
        let socket = lane.socket.as_mut()?;
        let request = lane.request;
        let until = self.plan.request(request).end;
        while lane.written < until {
            match socket.write(&self.plan.requests()[lane.written..until]) {
                Ok(count) => {
                    lane.written += count;
                    lane.check.sent(if lane.written == until { request + 1 } else { request }, request + 1);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(End::Early(broken(error.kind()))),
            }
        }
        let closes = self.plan.closes(request);
        loop {
            let done = lane.check.done();
            match socket.read(&mut self.buffer) {
                Ok(0) if done => return Some(End::Noted),
                Ok(0) => return Some(End::Early("the connection was closed")),
                Ok(count) => {
                    *any = true;
                    let now = self.book.now();
                    let book = &mut self.book;
                    lane.check.take(self.plan, &self.buffer[..count], &mut |event| book.tell(index, event, now));
                    if lane.check.broken() || (lane.check.done() && !closes) {
                        return Some(End::Noted);
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) if done => return Some(End::Badly("the connection was reset behind the answer, not closed")),
                Err(error) => return Some(End::Early(broken(error.kind()))),
            }
        }
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
            // An event of the lane's last connection may come here too: then there is nothing to do yet.
            let index = event.token().0;
            if let Some(end) = self.proceed(index, &mut any) {
                self.next(index, end)?;
            }
        }
        self.events = events;
        if let Some(progress) = self.options.progress {
            progress.store(self.book.settled(), Ordering::Relaxed);
        }
        Ok(any)
    }

    fn give_up(&mut self, why: &'static str) {
        for index in 0..self.lanes.len() {
            if self.lanes[index].socket.take().is_none() {
                continue;
            }
            if self.lanes[index].check.done() {
                let now = self.book.now();
                self.book.tell(index, Event::Undone(self.lanes[index].request, why, String::new()), now);
            } else {
                self.lose(index, why);
            }
        }
    }
}

fn broken(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectionRefused => "the connection was refused",
        ErrorKind::ConnectionReset => "the connection was reset",
        _ => "the connection broke",
    }
}

impl<'a> Sender<'a> for Churn<'a> {
    fn round(&mut self, round: usize) -> anyhow::Result<bool> {
        self.book.round = round;
        self.book.start = Instant::now();
        self.busy = self.lanes.len();
        for index in 0..self.lanes.len() {
            let cell = self.plan.cell(round, index);
            (self.lanes[index].request, self.lanes[index].end) = (cell.start, cell.end);
            self.open(index)?;
        }
        let mut last = Instant::now();
        while self.busy > 0 {
            let left = self.options.timeout.saturating_sub(last.elapsed());
            if self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
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

    fn finish(self: Box<Self>) -> anyhow::Result<Book<'a>> {
        Ok(self.book)
    }
}
