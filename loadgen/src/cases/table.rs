//! What a case is, and the usual forms of one: one exchange, several in a row, or something of its own.

use super::line::{Line, Step};
use std::net::SocketAddr;

/// Where a case plays.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// The server's address.
    pub addr: SocketAddr,
    /// Its process.
    pub pid: u32,
}

impl Stage {
    /// A new connection.
    pub fn open(&self) -> Result<Line, super::line::Failure> {
        Line::open(self.addr)
    }
}

/// A case.
pub struct Case {
    /// The contract's number, or 200 and more.
    pub number: u16,
    /// What it tries, in words.
    pub name: String,
    /// Takes more than five seconds.
    pub slow: bool,
    /// Needs a server of its own.
    pub fresh: bool,
    /// Plays it.
    pub play: Box<dyn Fn(&Stage) -> Step + Send + Sync>,
}

/// One exchange that changes nothing, and the state of the connection after it.
pub fn one(number: u16, name: impl Into<String>, request: impl Into<Vec<u8>>, answer: Vec<u8>) -> Case {
    let request = request.into();
    own(number, name, move |stage| {
        let mut line = stage.open()?;
        line.send(&request)?;
        line.expect(&answer)?;
        line.after(&answer)
    })
}

/// Exchanges in a row on one connection of a fresh server.
pub fn row<R: Into<Vec<u8>>>(number: u16, name: impl Into<String>, steps: Vec<(R, Vec<u8>)>) -> Case {
    let steps: Vec<(Vec<u8>, Vec<u8>)> = steps.into_iter().map(|(request, answer)| (request.into(), answer)).collect();
    fresh(number, name, move |stage| {
        let mut line = stage.open()?;
        for (index, (request, answer)) in steps.iter().enumerate() {
            line.send(request)?;
            line.expect(answer).map_err(|mut failure| {
                failure.expected = format!("step {}: {}", index + 1, failure.expected);
                failure
            })?;
        }
        line.after(&steps[steps.len() - 1].1)
    })
}

/// A play of its own that changes nothing.
pub fn own(number: u16, name: impl Into<String>, play: impl Fn(&Stage) -> Step + Send + Sync + 'static) -> Case {
    Case { number, name: name.into(), slow: false, fresh: false, play: Box::new(play) }
}

/// A play of its own on a fresh server.
pub fn fresh(number: u16, name: impl Into<String>, play: impl Fn(&Stage) -> Step + Send + Sync + 'static) -> Case {
    Case { fresh: true, ..own(number, name, play) }
}

/// A play that takes long, on a fresh server.
pub fn slow(number: u16, name: impl Into<String>, play: impl Fn(&Stage) -> Step + Send + Sync + 'static) -> Case {
    Case { slow: true, ..fresh(number, name, play) }
}
