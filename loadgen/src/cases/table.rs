//! What a case is, and the usual forms of one: one exchange, several in a row, or something of its own.

use super::line::{Failure, Line, Step};
use crate::model::answer::closes;
use crate::server::StartServer;
use std::net::SocketAddr;

/// Where a case plays.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// The server's address.
    pub addr: SocketAddr,
    /// Its process.
    pub pid: u32,
    /// Starts others, for the cases that bring data of their own.
    pub start: &'a dyn StartServer,
}

impl Stage<'_> {
    /// A new connection.
    pub fn open(&self) -> Result<Line, Failure> {
        Line::open(self.addr)
    }
}

/// Requests in one piece of bytes, and the bytes that must answer them.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What is sent.
    pub request: Vec<u8>,
    /// What must come.
    pub answer: Vec<u8>,
}

/// A play of its own.
pub type Own = Box<dyn Fn(&Stage<'_>) -> Step + Send + Sync>;

/// What a case does.
pub enum Play {
    /// Exchanges one after the other on one connection; they are played in pieces and in pipelines as well.
    Exchanges(Vec<Exchange>),
    /// Anything else.
    Own(Own),
}

/// What a case does to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: many share a server.
    None,
    /// It leaves everything as it was at its end: it has a server of its own, and can play there again.
    Undone,
    /// It changes things: each play needs a new server.
    Lasting,
}

/// A case.
pub struct Case {
    /// The contract's number, or 200 and more.
    pub number: u16,
    /// What it tries, in words.
    pub name: String,
    /// Takes more than five seconds.
    pub slow: bool,
    /// What it does to its server.
    pub effect: Effect,
    /// What it does.
    pub play: Play,
}

impl Case {
    fn new(number: u16, name: impl Into<String>, effect: Effect, play: Play) -> Case {
        Case { number, name: name.into(), slow: false, effect, play }
    }

    /// Plays it, its requests whole.
    pub fn play(&self, stage: &Stage<'_>) -> Step {
        match &self.play {
            Play::Own(play) => play(stage),
            Play::Exchanges(steps) if self.effect == Effect::None => play_each(stage, steps),
            Play::Exchanges(steps) => play_row(&mut stage.open()?, steps, |line, request| line.send(request)),
        }
    }
}

/// Plays exchanges on as few connections as there can be.
fn play_each(stage: &Stage<'_>, steps: &[Exchange]) -> Step {
    let ends = |step: &Exchange| closes(&step.answer);
    steps
        .split_inclusive(ends)
        .try_for_each(|steps| play_row(&mut stage.open()?, steps, |line, request| line.send(request)))
}

/// Plays exchanges on a connection, each request sent by `send`.
pub fn play_row(line: &mut Line, steps: &[Exchange], mut send: impl FnMut(&mut Line, &[u8]) -> Step) -> Step {
    for (index, Exchange { request, answer }) in steps.iter().enumerate() {
        send(line, request)?;
        line.expect(answer).map_err(|mut failure| {
            if steps.len() > 1 {
                failure.expected = format!("step {}: {}", index + 1, failure.expected);
            }
            failure
        })?;
    }
    steps.last().map_or(Ok(()), |last| if closes(&last.answer) { line.fin() } else { line.in_step() })
}

/// One exchange that changes nothing, and the state of the connection after it.
pub fn one(number: u16, name: impl Into<String>, request: impl Into<Vec<u8>>, answer: Vec<u8>) -> Case {
    Case::new(number, name, Effect::None, Play::Exchanges(vec![Exchange { request: request.into(), answer }]))
}

/// Many exchanges of one kind that change nothing.
pub fn each<R: Into<Vec<u8>>>(
    number: u16,
    name: impl Into<String>,
    steps: impl IntoIterator<Item = (R, Vec<u8>)>,
) -> Case {
    Case { effect: Effect::None, ..row(number, name, steps.into_iter().collect()) }
}

/// Exchanges in a row on one connection of a fresh server.
pub fn row<R: Into<Vec<u8>>>(number: u16, name: impl Into<String>, steps: Vec<(R, Vec<u8>)>) -> Case {
    let steps = steps.into_iter().map(|(request, answer)| Exchange { request: request.into(), answer }).collect();
    Case::new(number, name, Effect::Lasting, Play::Exchanges(steps))
}

/// A row that leaves everything as it was.
pub fn round<R: Into<Vec<u8>>>(number: u16, name: impl Into<String>, steps: Vec<(R, Vec<u8>)>) -> Case {
    Case { effect: Effect::Undone, ..row(number, name, steps) }
}

/// A play of its own that changes nothing.
pub fn own(number: u16, name: impl Into<String>, play: impl Fn(&Stage<'_>) -> Step + Send + Sync + 'static) -> Case {
    Case::new(number, name, Effect::None, Play::Own(Box::new(play)))
}

/// A play of its own on a fresh server.
pub fn fresh(number: u16, name: impl Into<String>, play: impl Fn(&Stage<'_>) -> Step + Send + Sync + 'static) -> Case {
    Case { effect: Effect::Lasting, ..own(number, name, play) }
}

/// A play that takes long, on a fresh server.
pub fn slow(number: u16, name: impl Into<String>, play: impl Fn(&Stage<'_>) -> Step + Send + Sync + 'static) -> Case {
    Case { slow: true, ..fresh(number, name, play) }
}
