//! The floor over epoll, by mio: one thread, one read and one write for what came together.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use raw_floor::{Account, RECEIVE, answers, run};
use slab::Slab;

const LISTENER: Token = Token(usize::MAX);

struct Peer {
    stream: TcpStream,
    account: Account,
}

fn main() -> ExitCode {
    run(serve)
}

fn serve(port: u16) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port).into())?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut events, mut peers) = (Events::with_capacity(1024), Slab::new());
    let (mut received, answers) = (vec![0; RECEIVE], answers());
    loop {
        match poll.poll(&mut events, None) {
            // Being stopped and continued interrupts the call.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            if event.token() == LISTENER {
                accept(&poll, &listener, &mut peers)?;
            } else if let Err(error) = exchange(&mut peers[event.token().0], &mut received, answers)
                && error.kind() != ErrorKind::WouldBlock
            {
                // Closing it takes it out of the poll.
                drop(peers.remove(event.token().0));
            }
        }
    }
}

fn accept(poll: &Poll, listener: &TcpListener, peers: &mut Slab<Peer>) -> io::Result<()> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let place = peers.vacant_entry();
        poll.registry().register(&mut stream, Token(place.key()), Interest::READABLE | Interest::WRITABLE)?;
        place.insert(Peer { stream, account: Account::default() });
    }
}

/// Sends what is owed, receives and answers what there is. A short read has emptied the socket; more will be an event.
fn exchange(peer: &mut Peer, received: &mut [u8], answers: &'static [u8]) -> io::Result<()> {
    let mut count = received.len();
    loop {
        while let due @ [_, ..] = peer.account.due(answers) {
            let sent = peer.stream.write(due)?;
            peer.account.sent(sent);
        }
        if count < received.len() {
            return Ok(());
        }
        count = peer.stream.read(received)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        peer.account.received(count);
    }
}
