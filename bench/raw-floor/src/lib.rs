//! What both floors share: the lengths, the answers, the owed, the one option. They look at no byte that they receive.

use std::process::ExitCode;

use lexopt::prelude::{Long, ValueExt as _};

/// The one request there is; only its length matters.
const REQUEST: &[u8] = include_bytes!("../../constant/request.http");
/// The one answer.
const ANSWER: &[u8] = include_bytes!("../../constant/answer.http");
/// As many answers as go out in one write at most.
const MOST: usize = 1024;
/// Bytes received at once at most.
pub const RECEIVE: usize = 1 << 16;

/// [`MOST`] answers in a row, for as long as the program runs.
pub fn answers() -> &'static [u8] {
    ANSWER.repeat(MOST).leak()
}

/// What one connection has sent and is owed.
#[derive(Debug, Default)]
pub struct Account {
    /// Bytes received of a request that is not whole.
    begun: usize,
    /// Bytes of answers that are to be sent.
    owed: usize,
}

impl Account {
    /// So many bytes came.
    pub fn received(&mut self, count: usize) {
        self.begun += count;
        self.owed += self.begun / REQUEST.len() * ANSWER.len();
        self.begun %= REQUEST.len();
    }

    /// So many bytes went.
    pub fn sent(&mut self, count: usize) {
        self.owed -= count;
    }

    /// What is to be sent next: all that is owed, or as much of it as there is room for.
    pub fn due(&self, answers: &'static [u8]) -> &'static [u8] {
        // An answer cut off by an earlier write is the first to go on.
        let cut = (ANSWER.len() - self.owed % ANSWER.len()) % ANSWER.len();
        &answers[cut..answers.len().min(cut + self.owed)]
    }
}

/// Runs a floor on the port that the command line names.
pub fn run(serve: fn(u16) -> std::io::Result<()>) -> ExitCode {
    let served = port().and_then(|port| {
        serve(port).map_err(|error| lexopt::Error::from(format!("cannot serve on port {port}: {error}")))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}. Usage: floor-epoll|floor-uring --data DIR --port P");
            ExitCode::FAILURE
        }
    }
}

fn port() -> Result<u16, lexopt::Error> {
    let mut options = lexopt::Parser::from_env();
    let mut port = None;
    while let Some(option) = options.next()? {
        match option {
            Long("port") => port = Some(options.value()?.parse()?),
            Long("data") => drop(options.value()?),
            other => return Err(other.unexpected()),
        }
    }
    port.ok_or_else(|| "--port is missing".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_requests_and_answers_are_cut_each_request_gets_its_answer() {
        let answers = answers();
        for (receive, send) in [(1, 1), (7, 1000), (REQUEST.len() * 3 + 1, 50), (RECEIVE, usize::MAX)] {
            let (mut account, mut out) = (Account::default(), Vec::new());
            let mut left = REQUEST.len() * 20;
            while left > 0 {
                let came = left.min(receive);
                account.received(came);
                left -= came;
                let due = account.due(answers);
                let went = due.len().min(send);
                out.extend_from_slice(&due[..went]);
                account.sent(went);
            }
            while !account.due(answers).is_empty() {
                let due = account.due(answers);
                out.extend_from_slice(due);
                account.sent(due.len());
            }
            assert!(out == ANSWER.repeat(20), "received {receive}, sent {send} at once");
        }
    }
}
