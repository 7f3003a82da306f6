//! The floor over io_uring: one ring, one thread; for each connection a receive that waits and, after it, a send.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::process::ExitCode;

use io_uring::squeue::Entry;
use io_uring::{IoUring, cqueue, opcode, types};
use raw_floor::{Account, RECEIVE, answers, run};
use slab::Slab;

const ENTRIES: u32 = 4096;
const ACCEPT: u64 = u64::MAX;

struct Peer {
    stream: TcpStream,
    account: Account,
    receiving: bool,
    sending: bool,
    ended: bool,
}

struct Server {
    ring: IoUring,
    listener: TcpListener,
    peers: Slab<Peer>,
    /// Where every connection's bytes go; nobody reads them.
    received: Vec<u8>,
    answers: &'static [u8],
}

fn main() -> ExitCode {
    run(serve)
}

fn serve(port: u16) -> io::Result<()> {
    let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(ENTRIES)?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let (peers, received) = (Slab::new(), vec![0; RECEIVE]);
    let mut server = Server { ring, listener, peers, received, answers: answers() };
    server.accept()?;
    let mut done = Vec::new();
    loop {
        match server.ring.submit_and_wait(1) {
            // Being stopped and continued interrupts the call.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => drop(other?),
        }
        done.extend(server.ring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        for (what, result, flags) in done.drain(..) {
            server.completed(what, result, flags)?;
        }
    }
}

impl Server {
    fn completed(&mut self, what: u64, result: i32, flags: u32) -> io::Result<()> {
        if what == ACCEPT {
            if !cqueue::more(flags) {
                self.accept()?;
            }
            return self.accepted(result);
        }
        let (index, sent) = ((what >> 1) as usize, what & 1 == 1);
        let peer = &mut self.peers[index];
        let under_way = if sent { &mut peer.sending } else { &mut peer.receiving };
        *under_way = false;
        match usize::try_from(result) {
            Ok(count) if sent => peer.account.sent(count),
            Ok(count) if count > 0 => peer.account.received(count),
            _ => peer.ended = true,
        }
        self.go_on(index)
    }

    fn accepted(&mut self, result: i32) -> io::Result<()> {
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result));
        }
        // SAFETY: the kernel has just made this descriptor for us, and nothing else owns it.
        let stream = unsafe { TcpStream::from_raw_fd(result) };
        stream.set_nodelay(true)?;
        let peer = Peer { stream, account: Account::default(), receiving: false, sending: false, ended: false };
        let index = self.peers.insert(peer);
        self.go_on(index)
    }

    fn accept(&mut self) -> io::Result<()> {
        let accept = opcode::AcceptMulti::new(types::Fd(self.listener.as_raw_fd()));
        self.push(accept.build().user_data(ACCEPT))
    }

    /// Has one receive and, where anything is owed, one send under way. A connection that has ended is closed when
    /// neither is.
    fn go_on(&mut self, index: usize) -> io::Result<()> {
        let peer = &mut self.peers[index];
        if peer.ended {
            if peer.sending || peer.receiving {
                // Makes what is under way end; a connection that is gone already needs no shutting down.
                let _ = peer.stream.shutdown(Shutdown::Both);
            } else {
                drop(self.peers.remove(index));
            }
            return Ok(());
        }
        let (socket, number) = (types::Fd(peer.stream.as_raw_fd()), (index as u64) << 1);
        let due = if peer.sending { &[] } else { peer.account.due(self.answers) };
        let receive = !std::mem::replace(&mut peer.receiving, true);
        if !due.is_empty() {
            peer.sending = true;
            self.push(opcode::Send::new(socket, due.as_ptr(), due.len() as u32).build().user_data(number | 1))?;
        }
        if receive {
            let receive = opcode::Recv::new(socket, self.received.as_mut_ptr(), self.received.len() as u32);
            self.push(receive.build().user_data(number))?;
        }
        Ok(())
    }

    fn push(&mut self, entry: Entry) -> io::Result<()> {
        // SAFETY: what an entry points to lives as long as the server: the receive buffer is never resized, the answers
        // are static, and a socket is closed only when none of its operations is under way.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }
}
