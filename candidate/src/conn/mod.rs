//! One connection without its socket: bytes in, responses out, and what the connection waits for. The engine moves the
//! bytes; it asks here what to do next. Time comes in as milliseconds of the engine's clock.

mod input;
mod limits;
mod output;

use crate::api::{Request, Service};
use crate::http::chunked::Chunked;
use crate::http::framing::Length;
use crate::http::head::{self, Head, Progress};
use crate::http::{Ending, Fault};
use crate::reply;

pub use input::Input;
pub use limits::Waiting;
use limits::{LINGER_BYTES, MAX_UNSENT};
pub use output::Outgoing;
use output::Output;

/// What a call of [`Conn::step`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A response was added; there may be more requests.
    Answered,
    /// More bytes are needed.
    Hungry,
    /// So much output waits that nothing that is there is answered until some of it is sent.
    Full,
    /// No further request will be looked at.
    Over,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Before or in a head.
    Head(Progress),
    /// The head is there, the body is not.
    Body { head: Head, chunked: Chunked, told_to_continue: bool },
    /// The last response is written; input is thrown away until the peer has closed too.
    Closing { discarded: usize, shut: bool },
    /// The socket can go once the output is sent.
    Finished,
}

/// The state of a connection.
pub struct Conn {
    /// What has come and is not used up; the engine fills it.
    pub input: Input,
    output: Output,
    phase: Phase,
    /// The one empty line that may come before a request has come.
    empty_line: bool,
    /// The peer will send no more.
    ended: bool,
    waiting: Waiting,
    /// How many requests were answered, to tell one wait from the next.
    answered: u32,
}

impl Conn {
    /// A connection that was opened at `now`.
    pub fn new(now: u64) -> Self {
        Self {
            input: Input::default(),
            output: Output::default(),
            phase: Phase::Head(Progress::default()),
            empty_line: false,
            ended: false,
            waiting: Waiting::new(now),
            answered: 0,
        }
    }

    /// Makes this a new connection, opened at `now`, that has the buffers of the old one.
    pub fn renew(self, now: u64) -> Self {
        let (mut input, mut output) = (self.input, self.output);
        input.clear();
        output.clear();
        Self { input, output, ..Self::new(now) }
    }

    /// Takes note that the peer will send no more.
    pub fn end_of_input(&mut self) {
        self.ended = true;
    }

    /// Whether so much output waits that nothing more is read or answered until some of it is sent.
    pub fn is_full(&self) -> bool {
        self.output.waiting() > MAX_UNSENT
    }

    /// Whether the engine may read more.
    pub fn wants_input(&self) -> bool {
        match self.phase {
            Phase::Head(_) | Phase::Body { .. } => !self.ended && !self.is_full(),
            Phase::Closing { discarded, .. } => !self.ended && discarded <= LINGER_BYTES,
            Phase::Finished => false,
        }
    }

    /// Whether this is still a connection for requests: not closing, and not told that the peer will send no more.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Head(_) | Phase::Body { .. }) && !self.ended
    }

    /// What is to be sent, as far as it is not taken away.
    pub fn unsent(&self) -> &[u8] {
        self.output.unsent()
    }

    /// Takes away what is to be sent, for an engine that hands the kernel bytes to keep. None if there is nothing, or
    /// what was taken before is still away.
    pub fn take_output(&mut self) -> Option<Outgoing> {
        self.output.take()
    }

    /// Brings it back, with as much of it sent as it says; `moved` if any was.
    pub fn bring_back_output(&mut self, outgoing: Outgoing, moved: bool) {
        self.output.bring_back(outgoing);
        if moved {
            self.waiting.output_moved();
        }
    }

    /// Takes note that the first `count` bytes of it are sent.
    pub fn sent(&mut self, count: usize) {
        self.output.sent(count);
        self.waiting.output_moved();
    }

    /// Whether the socket can be dropped.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Finished) && self.output.waiting() == 0
    }

    /// Whether the sending side is to be shut down now. True once only.
    pub fn take_shutdown(&mut self) -> bool {
        if self.output.waiting() > 0 {
            return false;
        }
        let Phase::Closing { discarded, shut } = &mut self.phase else {
            return false;
        };
        let first = !std::mem::replace(shut, true);
        if *discarded > LINGER_BYTES || self.ended {
            self.phase = Phase::Finished;
        }
        first
    }

    /// Answers the next request if all of it is there.
    #[inline]
    pub fn step(&mut self, service: &mut Service<'_>) -> Step {
        // What nearly every batch of requests ends with.
        if self.input.bytes().is_empty() && self.is_open() {
            return Step::Hungry;
        }
        self.proceed(service)
    }

    fn proceed(&mut self, service: &mut Service<'_>) -> Step {
        let full = self.is_full();
        let step = match &mut self.phase {
            Phase::Head(_) | Phase::Body { .. } if full => Step::Full,
            Phase::Head(_) => self.head(service),
            Phase::Body { .. } => self.body(service),
            Phase::Closing { discarded, .. } => {
                *discarded += self.input.bytes().len();
                self.input.clear();
                Step::Over
            }
            Phase::Finished => Step::Over,
        };
        if step == Step::Hungry && self.ended {
            // A request without its end gets no response.
            self.input.clear();
            self.phase = Phase::Finished;
            return Step::Over;
        }
        step
    }

    fn head(&mut self, service: &mut Service<'_>) -> Step {
        let Phase::Head(progress) = &mut self.phase else {
            return Step::Hungry;
        };
        if !self.empty_line && self.input.bytes().starts_with(b"\r") {
            match self.input.bytes() {
                [_, b'\n', ..] => {
                    self.input.consume(2);
                    self.empty_line = true;
                }
                [_] => return Step::Hungry,
                _ => return self.refuse(Fault::BadRequest),
            }
        }
        if self.input.bytes().is_empty() {
            return Step::Hungry;
        }
        match head::read(self.input.bytes(), progress) {
            Ok(None) => Step::Hungry,
            Ok(Some(head)) => match head.framing.length {
                // All of it is there, as it nearly always is.
                Length::Exact(length) if self.input.bytes().len() - head.len >= length => {
                    self.answer(service, &head, length)
                }
                _ => {
                    self.phase = Phase::Body { head, chunked: Chunked::default(), told_to_continue: false };
                    self.body(service)
                }
            },
            Err(fault) => self.refuse(fault),
        }
    }

    fn body(&mut self, service: &mut Service<'_>) -> Step {
        let Phase::Body { head, chunked, told_to_continue } = &mut self.phase else {
            return Step::Hungry;
        };
        if head.framing.expects_continue && !*told_to_continue && self.input.bytes().len() == head.len {
            *told_to_continue = true;
            self.output.buffer().extend_from_slice(reply::CONTINUE);
        }
        let length = match head.framing.length {
            Length::Exact(length) => (self.input.bytes().len() >= head.len + length).then_some(length),
            Length::Chunked => {
                let behind_head = self.input.behind(head.len);
                match chunked.advance(behind_head) {
                    Ok(left) => self.input.truncate(head.len + left),
                    Err(fault) => return self.refuse(fault),
                }
                chunked.complete()
            }
        };
        let Some(length) = length else {
            return Step::Hungry;
        };
        let head = *head;
        self.answer(service, &head, length)
    }

    /// Answers the request whose head and body, of `length` bytes, are there.
    fn answer(&mut self, service: &mut Service<'_>, head: &Head, length: usize) -> Step {
        let (head_bytes, rest) = self.input.bytes().split_at(head.len);
        let request = Request {
            head: head_bytes,
            method: head.method,
            route: head.route,
            address: head.address.map(|span| span.of(head_bytes)),
            key: head.key.map(|span| span.of(head_bytes)),
            body: &rest[..length],
            ending: head.framing.ending,
        };
        service.answer(&request, self.output.buffer());
        self.input.consume(head.len + length);
        self.answered = self.answered.wrapping_add(1);
        self.empty_line = false;
        if head.framing.ending == Ending::Close {
            self.close();
        } else {
            self.phase = Phase::Head(Progress::default());
        }
        Step::Answered
    }

    fn refuse(&mut self, fault: Fault) -> Step {
        reply::fault(self.output.buffer(), fault);
        self.close();
        Step::Answered
    }

    /// Closes after what is answered already: nothing that has come or will come is looked at any more.
    pub fn close(&mut self) {
        self.input.clear();
        self.phase = Phase::Closing { discarded: 0, shut: false };
    }
}

#[cfg(test)]
mod tests;
