//! Ports for servers under test, and whether it is really they who listen.
//!
//! Connecting would be the simple way to find out, and a wrong one: a connection to a port in the ephemeral range that
//! nobody listens on can be given that very port as its own, and is then connected to itself; and whoever took the port
//! between our choice and the server's bind would be taken for the server.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;

use anyhow::Context as _;

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
    let local = format!(":{port:04X}");
    let mut inodes = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A system without IPv6 has no second table.
        let Ok(table) = File::open(table) else { continue };
        for line in BufReader::new(table).lines().skip(1).map_while(Result::ok) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            // Number, local address, remote address, state, ..., inode as tenth: proc_pid_net(5). Listeners come first.
            let (Some(address), Some(&"0A"), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9)) else {
                break;
            };
            if address.ends_with(&local) {
                inodes.extend(inode.parse::<u64>());
            }
        }
    }
    inodes
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
