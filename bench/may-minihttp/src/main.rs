//! A constant answer by may_minihttp, as long as the answer of the auth server that the other peers are asked for.
//! Started as `may-minihttp --data DIR --port P`; there is no data to load.

use std::process::ExitCode;
use std::{io, thread};

use lexopt::prelude::{Long, ValueExt as _};
use may_minihttp::{HttpServer, HttpService, Request, Response};

/// With the fields the crate adds this makes the bytes of `constant/may-minihttp.http`.
const BODY: &str = r#"{"name":"Ann"}"#;

#[derive(Clone)]
struct Constant;

impl HttpService for Constant {
    fn call(&mut self, _: Request, answer: &mut Response) -> io::Result<()> {
        answer.header("Content-Type: application/json").body(BODY);
        Ok(())
    }
}

fn main() -> ExitCode {
    match port().and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}. Usage: may-minihttp --data DIR --port P");
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

fn serve(port: u16) -> Result<(), lexopt::Error> {
    let failed = |error: io::Error| lexopt::Error::from(format!("cannot listen on port {port}: {error}"));
    may::config().set_workers(thread::available_parallelism().map_err(failed)?.get());
    let serving = HttpServer(Constant).start(("0.0.0.0", port)).map_err(failed)?;
    serving.join().map_err(|_| "the server ended".into())
}
