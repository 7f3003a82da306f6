//! Sockets that std cannot make: with a chosen source address, a small receive buffer, or ended by a reset; and very many
//! at once.

use crate::place::across_cores;
use anyhow::Context;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Connections from one source address: well below the 28,000 ports it has, which stay taken for a minute after use.
const PORTS: usize = 10_000;

/// Source addresses to connect from, so that ports do not run out: the kernel keeps the port of a closed connection
/// for a minute, but counts the ports of each source address for itself, and all of 127.0.0.0/8 is ours.
#[derive(Debug, Clone, Copy)]
pub struct Sources {
    count: usize,
}

impl Sources {
    /// As many as `connections` to `server` need; none to choose from where it is not on loopback.
    pub fn new(server: SocketAddr, connections: usize) -> Sources {
        let local = server.is_ipv4() && server.ip().is_loopback();
        Sources { count: if local { connections.div_ceil(PORTS) } else { 0 } }
    }

    /// The source of the connection with this number.
    pub fn of(self, number: usize) -> Option<Ipv4Addr> {
        let place = u8::try_from(number.checked_rem(self.count)? % 60_000 / 240).ok()?;
        Some(Ipv4Addr::new(127, 1, place, 1 + (number % self.count % 240) as u8))
    }
}

/// Begins to connect, without waiting. An outer error is our own failure, such as no descriptor; an inner one the
/// server's refusal.
pub fn begin(addr: SocketAddr, source: Option<Ipv4Addr>) -> anyhow::Result<io::Result<TcpStream>> {
    let socket = open(addr, SocketFlags::NONBLOCK).context("cannot open a socket: is `ulimit -n` high enough?")?;
    if let Some(source) = source {
        bind(&socket, &SocketAddrV4::new(source, 0)).with_context(|| format!("cannot connect from {source}"))?;
    }
    match connect(&socket, &addr) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(Ok(TcpStream::from(socket))),
        Err(error @ (Errno::ADDRNOTAVAIL | Errno::NOBUFS)) => {
            Err(error).with_context(|| format!("cannot connect to {addr}: have ports run out?"))
        }
        Err(error) => Ok(Err(error.into())),
    }
}

/// Connects with a receive buffer of about `bytes`: the server cannot send more than that before something is read.
pub fn narrow(addr: SocketAddr, bytes: usize) -> io::Result<TcpStream> {
    let socket = open(addr, SocketFlags::empty())?;
    sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
    connect(&socket, &addr)?;
    Ok(TcpStream::from(socket))
}

/// Ends a connection by a reset: what is unread or unsent is thrown away on both sides.
pub fn reset(socket: TcpStream) -> io::Result<()> {
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    drop(socket);
    Ok(())
}

/// Connections that come at once in [`pile_up`]: so many for each core, and on large machines no more than there are ports.
pub fn pile() -> usize {
    const PER_CORE: usize = 1_500;
    const MOST: usize = 12_000;
    let cores = sched_getaffinity(None).map_or(1, |cores| cores.count() as usize);
    (PER_CORE * cores).min(MOST)
}

/// Lets more connections come at once, on every core, than a server can be told of, and closes them. One that has asked the
/// kernel once for all connections to come (io_uring) has to ask again after that. What that is good for: the kernel goes by
/// the limit of descriptors of the moment when it was asked.
pub fn pile_up(addr: SocketAddr, pid: u32) -> anyhow::Result<()> {
    let stopped = Stopped::new(pid)?;
    let pile = across_cores(pile(), || TcpStream::connect_timeout(&addr, Duration::from_secs(5)));
    drop(stopped);
    pile.map(drop).context("cannot connect to a server that is stopped for a moment")
}

/// A process that is stopped until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> anyhow::Result<Stopped> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("the server's process id is none")?;
        kill_process(pid, Signal::STOP).context("cannot stop the server: is it another user's?")?;
        Ok(Stopped(pid))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Where this fails the server has ended, and that is found by others.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn open(addr: SocketAddr, flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    socket_with(family, SocketType::STREAM, flags | SocketFlags::CLOEXEC, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn no_source_address_is_given_more_connections_than_it_has_ports() {
        let sources = Sources::new("127.0.0.1:80".parse().unwrap(), 500_000);
        let mut uses: HashMap<_, usize> = HashMap::new();
        for number in 0..500_000 {
            *uses.entry(sources.of(number).unwrap()).or_default() += 1;
        }
        assert_eq!(uses.len(), 50);
        assert!(uses.iter().all(|(source, uses)| source.is_loopback() && *uses <= PORTS));
        assert_eq!(Sources::new("192.0.2.1:80".parse().unwrap(), 500_000).of(7), None);
    }

    #[test]
    fn the_server_sees_the_source_and_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let source = Ipv4Addr::new(127, 1, 0, 9);
        let socket = begin(addr, Some(source)).unwrap().unwrap();
        let (mut there, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), source);
        reset(socket).unwrap();
        assert_eq!(there.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
