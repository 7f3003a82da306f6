//! One connection of a case: sends raw bytes, and says exactly how what comes differs from what should.

use crate::report::escaped;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What was sent, what should have come, and what came.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What the answer was to; empty where it is not about one.
    pub sent: String,
    pub expected: String,
    pub got: String,
}

/// The result of a step.
pub type Step = Result<(), Failure>;

/// A failure in words.
pub fn fail<T>(expected: impl Into<String>, got: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { sent: String::new(), expected: expected.into(), got: got.into() })
}

/// Bytes that are shown of what was sent and of what came.
const SHOWN: usize = 600;

/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long a server may take nothing of what is sent, before the case gives up.
const STUCK: Duration = Duration::from_secs(60);

/// A connection.
#[derive(Debug)]
pub struct Line {
    socket: TcpStream,
    /// The start of what was sent since the last right answer, and how much that was in all.
    sent: (Vec<u8>, usize),
    answered: bool,
    come: Vec<u8>,
    ended: Option<&'static str>,
    /// How long an answer may take here.
    pub patience: Duration,
}

impl Line {
    pub fn open(addr: SocketAddr) -> Result<Line, Failure> {
        let socket =
            TcpStream::connect_timeout(&addr, PATIENCE).and_then(|socket| socket.set_nodelay(true).map(|()| socket));
        let socket = socket.and_then(|socket| socket.set_write_timeout(Some(STUCK)).map(|()| socket));
        match socket {
            Ok(socket) => Ok(Line {
                socket,
                sent: (Vec::new(), 0),
                answered: false,
                come: Vec::new(),
                ended: None,
                patience: PATIENCE,
            }),
            Err(error) => fail("a connection", error.to_string()),
        }
    }

    /// The socket itself, for what only one case does.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends all bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> Step {
        self.note(bytes.as_ref());
        self.socket
            .write_all(bytes.as_ref())
            .or_else(|error| self.wrong("a connection that takes bytes", error.to_string()))
    }

    /// Remembers what is sent, for the report.
    fn note(&mut self, bytes: &[u8]) {
        if std::mem::take(&mut self.answered) {
            self.sent = (Vec::new(), 0);
        }
        let room = SHOWN - self.sent.0.len();
        self.sent.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.sent.1 += bytes.len();
    }

    /// A failure that says what was sent here.
    fn wrong<T>(&self, expected: impl Into<String>, got: impl Into<String>) -> Result<T, Failure> {
        let mut sent = escaped(&self.sent.0, SHOWN);
        if self.sent.1 > SHOWN {
            sent.push_str(&format!("... ({} bytes)", self.sent.1));
        }
        Err(Failure { sent, expected: expected.into(), got: got.into() })
    }

    /// Sends from another thread, as a server that does not read for a while would block this one. A server may
    /// close before it has all: then the rest stays unsent.
    pub fn send_aside(&mut self, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
        self.note(&bytes);
        let mut socket = self.socket.try_clone().expect("a socket can be cloned");
        std::thread::spawn(move || {
            let _ = socket.write_all(&bytes);
        })
    }

    /// No more will be sent.
    pub fn half_close(&mut self) -> Step {
        self.socket.shutdown(Shutdown::Write).or_else(|error| self.wrong("an open connection", error.to_string()))
    }

    /// Reads once more, until `deadline`. False if nothing came.
    fn read_more(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || self.ended.is_some() {
            return false;
        }
        let mut buffer = [0; 16384];
        self.socket.set_read_timeout(Some(left)).expect("a time that is not zero is a timeout");
        match self.socket.read(&mut buffer) {
            Ok(0) => self.ended = Some("FIN"),
            Ok(count) => self.come.extend_from_slice(&buffer[..count]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.ended = Some("RST"),
            Err(_) => self.ended = Some("an error"),
        }
        self.ended.is_none()
    }

    /// Exactly these bytes come next.
    pub fn expect(&mut self, right: impl AsRef<[u8]>) -> Step {
        self.expect_one_of(&[right.as_ref()]).map(|_| ())
    }

    /// Exactly one of these comes next; which one. None may begin another.
    pub fn expect_one_of(&mut self, right: &[&[u8]]) -> Result<usize, Failure> {
        let deadline = Instant::now() + self.patience;
        let mut possible: Vec<(usize, &[u8])> = right.iter().copied().enumerate().collect();
        // Megabytes may come in thousands of pieces: each is compared once.
        let mut compared = 0;
        loop {
            possible.retain(|(_, right)| {
                let end = right.len().min(self.come.len());
                let start = compared.min(end);
                right[start..end] == self.come[start..end]
            });
            compared = self.come.len();
            if let Some((index, right)) = possible.iter().find(|(_, right)| right.len() <= self.come.len()) {
                self.come.drain(..right.len());
                self.answered = true;
                return Ok(*index);
            }
            if possible.is_empty() {
                // A moment for the rest of the wrong answer, to show it whole.
                let soon = Instant::now() + Duration::from_millis(50);
                while self.read_more(soon) {}
                break;
            }
            if !self.read_more(deadline) && (self.ended.is_some() || Instant::now() >= deadline) {
                break;
            }
        }
        let expected: Vec<String> = right.iter().map(|right| escaped(right, SHOWN)).collect();
        let mut got = escaped(&self.come, SHOWN);
        match self.ended {
            Some(end) => got.push_str(&format!(" then {end}")),
            None if got.is_empty() => got.push_str(&format!("nothing in {:?}", self.patience)),
            None => {}
        }
        self.wrong(expected.join(" or "), got)
    }

    /// Whether exactly these bytes come next, beginning within that time.
    pub fn try_expect(&mut self, right: impl AsRef<[u8]>, within: Duration) -> Result<bool, Failure> {
        let deadline = Instant::now() + within;
        while self.come.is_empty() && self.ended.is_none() && Instant::now() < deadline {
            self.read_more(deadline);
        }
        let come = !self.come.is_empty() || self.ended.is_some();
        if come { self.expect(right).map(|()| true) } else { Ok(false) }
    }

    /// The server ends the connection, gracefully, and sends nothing more.
    pub fn fin(&mut self) -> Step {
        let deadline = Instant::now() + self.patience;
        while self.ended.is_none() && self.come.is_empty() && Instant::now() < deadline {
            self.read_more(deadline);
        }
        match (self.ended, self.come.is_empty()) {
            (Some("FIN"), true) => Ok(()),
            (Some(end), true) => self.wrong("FIN", end),
            (None, true) => self.wrong("FIN", format!("an open connection after {:?}", self.patience)),
            (_, false) => self.wrong("FIN and nothing before it", escaped(&self.come, SHOWN)),
        }
    }

    /// Nothing comes for that long, and the connection stays.
    pub fn quiet(&mut self, time: Duration) -> Step {
        let deadline = Instant::now() + time;
        while self.read_more(deadline) {}
        match self.ended {
            None if self.come.is_empty() => Ok(()),
            Some(end) => {
                self.wrong("an open connection and no bytes", format!("{} then {end}", escaped(&self.come, SHOWN)))
            }
            None => self.wrong("no bytes", escaped(&self.come, SHOWN)),
        }
    }

    /// The connection is in step: a request that needs no state is answered rightly, with nothing before or behind.
    pub fn in_step(&mut self) -> Step {
        // What is wrong here comes of what was sent before.
        self.answered = false;
        self.send("GET /no/such/path HTTP/1.1\r\nHost: probe\r\n\r\n")?;
        self.expect(crate::model::answer::status(404)).map_err(|failure| Failure {
            expected: format!("an open connection in step: {}", failure.expected),
            ..failure
        })?;
        if self.come.is_empty() { Ok(()) } else { self.wrong("nothing behind the answer", escaped(&self.come, SHOWN)) }
    }
}
