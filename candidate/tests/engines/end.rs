//! The end of a server: what has come is answered, connections are closed, and the status is 0.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Signal, kill_process};

use crate::client::*;
use crate::server::Server;
use crate::servers;

fn send(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(server.pid() as i32).unwrap(), signal).unwrap();
}

/// A connection on which one request was answered.
fn greeted(server: &Server) -> TcpStream {
    let mut stream = connect(server.address);
    stream.write_all(get("10.1.0.1", TA).as_bytes()).unwrap();
    expect(&mut stream, &ok(UA));
    stream
}

#[test]
fn what_has_come_is_answered_before_the_end_and_the_rest_is_closed() {
    for signal in [Signal::TERM, Signal::INT] {
        for (engine, mut server) in servers() {
            println!("{engine}");
            let mut idle = greeted(&server);
            let mut half = greeted(&server);
            half.write_all(b"GET /user HTTP/1.1\r\nHost").unwrap();
            let mut full = greeted(&server);
            // Stopped, so that it finds everything at once: requests, connections that wait, and the signal.
            send(&server, Signal::STOP);
            // As many as a receive window takes at first.
            full.write_all(get("10.1.0.1", TA).repeat(100).as_bytes()).unwrap();
            let mut new = connect(server.address);
            new.write_all(get("10.2.0.1", TB).as_bytes()).unwrap();
            send(&server, signal);
            send(&server, Signal::CONT);
            assert_eq!(rest(&mut idle), "");
            assert_eq!(rest(&mut half), "");
            assert_eq!(rest(&mut full), ok(UA).repeat(100));
            assert_eq!(rest(&mut new), ok(UB));
            drop((idle, half, full, new));
            assert_eq!(server.ends().code(), Some(0));
            assert_eq!(TcpStream::connect(server.address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
    }
}

#[test]
fn the_end_comes_although_a_client_neither_reads_nor_closes() {
    for (engine, mut server) in servers() {
        println!("{engine}");
        let idle = greeted(&server);
        let mut deaf = greeted(&server);
        let requests = get("10.1.0.1", TA).repeat(1_000);
        deaf.set_nonblocking(true).unwrap();
        while deaf.write(requests.as_bytes()).is_ok() {}
        send(&server, Signal::TERM);
        assert_eq!(server.ends().code(), Some(0));
        drop((idle, deaf));
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    for (engine, mut server) in servers() {
        println!("{engine}");
        let mut idle = greeted(&server);
        send(&server, Signal::TERM);
        // The first has been seen when the server closes its side; it now waits for ours.
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        send(&server, Signal::TERM);
        assert_eq!(server.ends().signal(), Some(Signal::TERM.as_raw()));
        let _ = idle.shutdown(Shutdown::Both);
    }
}
