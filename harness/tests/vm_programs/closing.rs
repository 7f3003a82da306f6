//! A server with nothing but the standard library that gives one answer, ANSWER, to whatever request, and closes. Rightly
//! it then reads until its client closes too; compiled with MODE=drains it throws away what has come and does not wait.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

const ANSWER: &[u8] = include_bytes!(env!("ANSWER"));
const MODE: Option<&str> = option_env!("MODE");

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == "--port").unwrap();
    let listener = TcpListener::bind(("127.0.0.1", arguments[at + 1].parse::<u16>().unwrap())).unwrap();
    for connection in listener.incoming() {
        // A client that has gone is no concern of the next one.
        let _ = serve(connection.unwrap());
    }
}

fn serve(mut connection: TcpStream) -> Result<()> {
    let mut chunk = [0; 65_536];
    let mut come = Vec::new();
    while !whole(&come) {
        match connection.read(&mut chunk)? {
            0 => return Ok(()),
            count => come.extend_from_slice(&chunk[..count]),
        }
    }
    connection.write_all(ANSWER)?;
    connection.shutdown(Shutdown::Write)?;
    connection.set_nonblocking(MODE == Some("drains"))?;
    while connection.read(&mut chunk)? > 0 {}
    Ok(())
}

/// Whether a head and the body it announces are there.
fn whole(come: &[u8]) -> bool {
    let Some(end) = come.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&come[..end]);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok());
    come.len() >= end + 4 + length.unwrap_or(0)
}
