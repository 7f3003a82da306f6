//! Comparing one connection's stream of bytes with the answers it must be, as they come. Knows no socket.
//!
//! As long as all is right this compares slices and moves a cursor. At the first wrong byte the answer is gathered
//! until its own head says where it ends, so that what follows can still be judged; where that cannot be told, the
//! connection is of no more use.

use crate::plan::Plan;
use crate::report::escaped;
use std::ops::Range;

/// Where the comparison stands on one connection.
#[derive(Debug, Default)]
pub struct Check {
    /// The next request to be answered; all up to `asked` may be.
    next: usize,
    asked: usize,
    begun: usize,
    end: usize,
    /// The last request answered here, if rightly.
    last: Option<usize>,
    matched: usize,
    stray: Vec<u8>,
    broken: bool,
}

/// What happened to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// All its bytes came.
    Right(usize),
    /// Something else came: what happened, and the bytes.
    Wrong(usize, &'static str, String),
    /// A request counted right is wrong after all, such as by bytes on top: what happened, and the bytes.
    Undone(usize, &'static str, String),
    /// Bytes that no request here can be blamed for.
    Unasked,
}

impl Check {
    /// A new cell of requests begins; the last is over.
    pub fn begin(&mut self, cell: Range<usize>) {
        debug_assert!(self.broken || self.next == self.end, "the last cell is not over");
        (self.next, self.asked, self.begun, self.end) = (cell.start, cell.start, cell.start, cell.end);
        self.matched = 0;
    }

    /// All requests up to `asked` have been sent whole, and of those up to `begun` at least a byte.
    pub fn sent(&mut self, asked: usize, begun: usize) {
        (self.asked, self.begun) = (asked, begun);
    }

    /// The first request that has no answer yet.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Whether every request of the cell has its answer.
    pub fn done(&self) -> bool {
        self.next == self.end
    }

    /// Whether nothing more can be learned here.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// What has come of the next answer.
    pub fn gathered(&self, plan: &Plan) -> Vec<u8> {
        if self.next == self.end {
            return Vec::new();
        }
        let answer = &plan.answers()[plan.answer(self.next)];
        let mut bytes = answer[..self.matched.min(answer.len())].to_vec();
        if !self.stray.is_empty() {
            bytes.clone_from(&self.stray);
        }
        bytes
    }

    /// Takes bytes that came, and tells of each request they end.
    pub fn take(&mut self, plan: &Plan, mut bytes: &[u8], tell: &mut dyn FnMut(Event)) {
        while !bytes.is_empty() && !self.broken {
            if !self.stray.is_empty() {
                self.stray.extend_from_slice(bytes);
                bytes = &[];
            } else if self.next == self.asked {
                self.broken = true;
                if self.next < self.begun {
                    tell(Event::Wrong(self.next, "answered before it was asked in full", escaped(bytes, 600)));
                    self.next += 1;
                } else {
                    let what = "bytes behind a right answer";
                    tell(self.last.map_or(Event::Unasked, |last| Event::Undone(last, what, escaped(bytes, 600))));
                }
                return;
            } else {
                let right = &plan.answers()[plan.answer(self.next)][self.matched..];
                let common = right.len().min(bytes.len());
                if plan.fits(&right[..common], &bytes[..common]) {
                    bytes = &bytes[common..];
                    self.matched += common;
                    if common == right.len() {
                        tell(Event::Right(self.next));
                        self.last = Some(self.next);
                        self.next += 1;
                        self.matched = 0;
                    }
                    continue;
                }
                let whole = plan.answer(self.next);
                self.stray = plan.answers()[whole][..self.matched].to_vec();
                self.stray.extend_from_slice(bytes);
                bytes = &[];
            }
            self.resume(plan, tell);
        }
    }

    /// Sees whether the wrong answer is complete, and goes on behind it.
    fn resume(&mut self, plan: &Plan, tell: &mut dyn FnMut(Event)) {
        let head_only = plan.requests()[plan.request(self.next)].trim_ascii_start().starts_with(b"HEAD ");
        let end = match length_of(&self.stray, head_only) {
            Length::Known(end) if end <= self.stray.len() => end,
            Length::Known(_) | Length::Open => return,
            Length::Unknown => {
                self.broken = true;
                self.stray.len()
            }
        };
        let what = if self.broken { "not an HTTP answer" } else { "wrong bytes" };
        let rest = self.stray.split_off(end);
        tell(Event::Wrong(self.next, what, escaped(&self.stray, 600)));
        self.stray.clear();
        self.last = None;
        self.next += 1;
        self.matched = 0;
        if !rest.is_empty() {
            self.take(plan, &rest, tell);
        }
    }

    /// No more will come: the answer gathered so far is all there is.
    pub fn give_up(&mut self) {
        self.broken = true;
    }
}

enum Length {
    Known(usize),
    Open,
    Unknown,
}

/// How long an answer is, by its own head.
fn length_of(bytes: &[u8], head_only: bool) -> Length {
    let start = b"HTTP/1.";
    if bytes[..bytes.len().min(start.len())] != start[..bytes.len().min(start.len())] {
        return Length::Unknown;
    }
    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        return if bytes.len() > 16_384 { Length::Unknown } else { Length::Open };
    };
    let Ok(text) = std::str::from_utf8(&bytes[..head]) else { return Length::Unknown };
    if head_only || text.get(9..12) == Some("204") {
        return Length::Known(head);
    }
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match length {
        Some(length) if length < 1 << 20 => Length::Known(head + length),
        _ => Length::Unknown,
    }
}
