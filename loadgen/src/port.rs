//! Ports for servers under test, and whether it is really they who listen.
//!
//! Connecting would be the simple way to find out, and a wrong one: a connection to a port in the ephemeral range that
//! nobody listens on can be given that very port as its own, and is then connected to itself; and whoever took the port
//! between our choice and the server's bind would be taken for the server.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;

use anyhow::Context as _;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

/// Times a server is started on another port because somebody took the one that was chosen for it.
pub const TRIES: usize = 3;

/// A port that nobody listens on now. Another may take it before the server does: see [`listens`].
///
/// # Errors
/// When the system has none.
pub fn free() -> anyhow::Result<u16> {
    // Of all addresses, as servers bind it: connections from 127.0.0.2 and so on count as well, dying ones included.
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Whether somebody else has the port, so that a server could not start on it. Not to be asked while one is starting.
pub fn taken(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_err()
}

/// Whether one of these processes listens on `port`, over IPv4 or IPv6.
pub fn listens(port: u16, pids: impl IntoIterator<Item = u32>) -> bool {
    let listeners = listeners(port);
    !listeners.is_empty() && pids.into_iter().any(|pid| holds(pid, &listeners))
}

/// Whether anybody listens on `port`; cheaper than [`listens`].
pub fn listened(port: u16) -> bool {
    !listeners(port).is_empty()
}

/// Inodes of the sockets that listen on `port`.
fn listeners(port: u16) -> HashSet<u64> {
    // The tables name all connections as well, tens of thousands where as many are dying. So the kernel is asked for
    // listeners only, and the tables are read where it has no ear for that: tcp_diag is a module.
    let asked = [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())]
        .map(|(family, id)| asked(port, family, id).or_else(|_| read(port, family)));
    asked.into_iter().flatten().flatten().collect()
}

/// Those of one address family, as the kernel tells them: sock_diag(7).
fn asked(port: u16, family: u8, socket_id: SocketId) -> io::Result<Vec<u64>> {
    let (protocol, extensions, states) = (IPPROTO_TCP, ExtensionFlags::empty(), StateFlags::LISTEN);
    let request = SockDiagMessage::InetRequest(InetRequest { family, protocol, extensions, states, socket_id });
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, request.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.send(&bytes, 0)?;
    let mut inodes = Vec::new();
    loop {
        let (bytes, _) = socket.recv_from_full()?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found))
                    if found.header.socket_id.source_port == port =>
                {
                    inodes.push(found.header.inode.into());
                }
                NetlinkPayload::Done(_) => return Ok(inodes),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            let length = message.header.length as usize;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

/// The same from the table of that family: proc_pid_net(5).
fn read(port: u16, family: u8) -> io::Result<Vec<u64>> {
    let local = format!(":{port:04X}");
    let table = File::open(if family == AF_INET { "/proc/net/tcp" } else { "/proc/net/tcp6" })?;
    let mut inodes = Vec::new();
    for line in BufReader::new(table).lines().skip(1) {
        let line = line?;
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // Number, local address, remote address, state, ..., inode as tenth. Listeners come first.
        let (Some(address), Some(&"0A"), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else {
            break;
        };
        if address.ends_with(&local) {
            inodes.extend(inode.parse::<u64>());
        }
    }
    Ok(inodes)
}

/// Whether a descriptor of the process is one of these sockets.
fn holds(pid: u32, sockets: &HashSet<u64>) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    // Following the link gives the socket itself.
    descriptors.filter_map(|entry| fs::metadata(entry.path()).ok()).any(|found| sockets.contains(&found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::process::{Command, Stdio};

    #[test]
    fn the_kernel_tells_what_the_tables_say() {
        let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = v4.local_addr().unwrap().port();
        let _connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let from_table = read(port, AF_INET).unwrap();
        assert_eq!(from_table.len(), 1);
        // Where the kernel cannot be asked, the table is all there is.
        if let Ok(asked) = asked(port, AF_INET, SocketId::new_v4()) {
            assert_eq!(asked, from_table);
        }
        if let Ok(v6) = TcpListener::bind((std::net::Ipv6Addr::LOCALHOST, 0)) {
            let port = v6.local_addr().unwrap().port();
            assert_eq!(listeners(port).len(), 1);
            assert_eq!(read(port, AF_INET6).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_listener_is_its_process_s_own() {
        let port = free().unwrap();
        let own = std::process::id();
        assert!(!taken(port) && !listened(port) && !listens(port, [own]));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(taken(port) && listened(port) && listens(port, [own]));
        // A connected socket with the same local port does not listen.
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap();
        drop(listener);
        assert!(!listened(port));
        drop((client, accepted));
    }

    #[test]
    fn a_listener_of_another_process_is_not_ours() {
        let port = free().unwrap();
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut other = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        assert!(listened(port) && !listens(port, [other.id()]));
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
