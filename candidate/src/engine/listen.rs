//! Listening sockets: one for each worker on the same port, so that the kernel spreads connections over them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::choices::{ListenerCpu, NoDelay};
use crate::tunables;

/// Connections that may wait to be accepted; the kernel lowers it to its own limit.
pub const BACKLOG: i32 = 16_384;

/// Listeners on `port` of all addresses, one for the worker of each of `cores`; port 0 lets the kernel choose one.
pub fn listeners(port: u16, cores: &[usize]) -> Result<Vec<TcpListener>, String> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("port {port} is taken: stop what listens there or choose another with --port")
        }
        io::ErrorKind::PermissionDenied => format!("port {port} needs privileges: choose one from 1024 on with --port"),
        _ => format!("cannot listen on port {port}: {error}"),
    };
    if port != 0 {
        // A second server of ours would share the port unnoticed; a socket that does not share finds it.
        bound(port, false).map_err(refused)?;
    }
    let mut port = port;
    let mut all = Vec::new();
    for core in cores {
        let socket = bound(port, true).map_err(refused)?;
        if tunables::LISTENER_CPU == ListenerCpu::Workers {
            // A wish only: a kernel that does not fulfil it spreads connections by their addresses.
            let _ = socket.set_cpu_affinity(*core);
        }
        port = port_of(&socket).map_err(refused)?;
        all.push(socket);
    }
    // Only when all are bound does any accept, so that no early connection finds half a server.
    all.into_iter().map(|socket| listening(socket).map_err(refused)).collect()
}

fn bound(port: u16, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    // Connections of an earlier run that linger in the kernel must not keep the port.
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    Ok(socket)
}

fn port_of(socket: &Socket) -> io::Result<u16> {
    let address = socket.local_addr()?;
    Ok(address.as_socket().map_or(0, |address| address.port()))
}

fn listening(socket: Socket) -> io::Result<TcpListener> {
    if tunables::NO_DELAY == NoDelay::Inherited {
        socket.set_tcp_nodelay(true)?;
    }
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
