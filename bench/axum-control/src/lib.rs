//! The auth server's contract (docs/contract.md) the way an axum user would write it: routes, extractors, serde. What the
//! framework answers by itself is left as it is; bench/README.md lists where that differs.

mod client;
mod json;
mod load;
mod reply;
mod requests;
mod routes;
mod serve;
mod state;
mod stream;
mod token;

use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::{Long, ValueExt as _};

/// How hyper is to write pipelined answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Each by itself, hyper's default.
    Each,
    /// Those that are ready together.
    Pipeline,
}

/// Runs the server that the command line describes, for good.
pub fn run(flush: Flush) -> ExitCode {
    match options().and_then(|(data, port)| {
        let state = load::load(&data)?;
        serve::serve(state, port, flush)
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What ends the program: a message.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn options() -> Result<(PathBuf, u16), Failure> {
    let mut options = lexopt::Parser::from_env();
    let (mut data, mut port) = (PathBuf::from("/storage/data"), 8080);
    while let Some(option) = options.next()? {
        match option {
            Long("data") => data = options.value()?.into(),
            Long("port") => port = options.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok((data, port))
}
