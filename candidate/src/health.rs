//! Whether a server answers: what a health check asks from outside of its process.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A path that nobody serves, so that the answer depends on no data.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// For connecting, and for each piece of the answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the server on `port` of this machine; the error says what it did instead of answering.
pub fn check(port: u16) -> Result<(), String> {
    let answer = ask(port).map_err(|error| format!("no server answers on port {port}: {error}"))?;
    if answer == ANSWER {
        return Ok(());
    }
    Err(format!("what listens on port {port} is no such server: it says {:?}", String::from_utf8_lossy(&answer)))
}

fn ask(port: u16) -> io::Result<Vec<u8>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(REQUEST)?;
    let mut answer = Vec::new();
    socket.take(1024).read_to_end(&mut answer)?;
    Ok(answer)
}
