//! io_uring as safe calls. All that is unsafe about it is here and in `buffers`: memory the kernel reads or writes later.
//!
//! What makes it sound: bytes to send are owned by the ring from the call until their completion; bytes received lie in the
//! ring's buffers; an operation with memory in it is never cancelled by dropping something, only by asking the kernel,
//! which answers with a completion.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::types::{Fd, Fixed, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use slab::Slab;

use super::buffers::{Buffers, Filled, GROUP};
use super::id::{Operation, PeerId};
use crate::choices::{Descriptors, Receiving, Sending, TaskRun};
use crate::conn::Outgoing;
use crate::tunables;

/// Time between two sweeps. Static, because the kernel reads it when the operation is submitted.
static SWEEP: Timespec = {
    let nanoseconds = tunables::SWEEP_EVERY * 1_000_000;
    Timespec::new().sec(nanoseconds / 1_000_000_000).nsec((nanoseconds % 1_000_000_000) as u32)
};
/// Completions that have room, for each entry of the submission queue. More are kept by the kernel and come later.
const COMPLETIONS: u32 = 4;
/// First look whether there is something to receive, then try: for the one who knows that there is nothing yet.
const POLL_FIRST: u16 = 1;
/// Take all or report how much: without waiting, and with less than all being no success.
const AT_ONCE: i32 = (SendFlags::DONTWAIT.bits() | WAIT_ALL) as i32;
/// `MSG_WAITALL`, which means something for sends in io_uring only.
const WAIT_ALL: u32 = RecvFlags::WAITALL.bits();
/// Bytes that a single receive asks for.
const ONE_BUFFER: u32 = tunables::READ_BUFFER as u32;

/// A connected socket: a descriptor of the process or of the ring, closed by [`Ring::close`] only.
#[derive(Debug)]
pub struct Socket(u32);

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// Somebody has connected, or accepting failed. Without `more` the kernel has ceased to accept.
    Accepted { socket: io::Result<Socket>, more: bool },
    /// Bytes have come (none: the end of input), or receiving failed. Without `more` the kernel has ceased to receive.
    Received { peer: PeerId, bytes: io::Result<Option<Filled>>, more: bool },
    /// What was to be sent comes back, `from` counting what is sent.
    Sent { peer: PeerId, outgoing: Outgoing, result: io::Result<usize> },
    /// It is time for a sweep.
    Timer,
    /// The end is asked for.
    Stop,
}

/// The queues to and from the kernel, with all memory that lies in them.
pub struct Ring {
    /// Closed before the memory below is given back.
    uring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    sends: ManuallyDrop<Slab<Send>>,
    /// Those that are only reported if the socket does not take all at once.
    unreported: Vec<u32>,
    /// Operations in the kernel that write to the buffers.
    receiving: usize,
}

struct Send {
    peer: PeerId,
    outgoing: Outgoing,
}

/// An entry for a socket, whichever kind of descriptor it is.
macro_rules! on {
    ($socket:expr, $descriptor:ident => $entry:expr) => {
        match tunables::DESCRIPTORS {
            Descriptors::Process => {
                let $descriptor = Fd($socket.0 as i32);
                $entry
            }
            Descriptors::Ring => {
                let $descriptor = Fixed($socket.0);
                $entry
            }
        }
    };
}

impl Ring {
    /// A ring for this thread, with `entries` places for submissions, `buffers` to receive into, and, if sockets are to be
    /// the ring's own, room for `sockets` of them. Fails where the kernel does not have or allow what is needed.
    pub fn new(entries: u32, buffers: u16, sockets: u32) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_submit_all().setup_cqsize(entries * COMPLETIONS);
        match tunables::TASK_RUN {
            TaskRun::Deferred => builder.setup_defer_taskrun(),
            TaskRun::Cooperative => builder.setup_coop_taskrun(),
        };
        let uring = builder.build(entries)?;
        let ring = Self {
            uring: ManuallyDrop::new(uring),
            buffers: ManuallyDrop::new(Buffers::new(buffers, tunables::READ_BUFFER)),
            sends: ManuallyDrop::new(Slab::new()),
            unreported: Vec::new(),
            receiving: 0,
        };
        // SAFETY: `drop` closes the ring first.
        unsafe { ring.buffers.register(&ring.uring.submitter()) }?;
        if tunables::DESCRIPTORS == Descriptors::Ring {
            ring.uring.submitter().register_files_sparse(sockets)?;
        }
        Ok(ring)
    }

    /// Hands over what is queued, and waits for an event if `wait`. Fine without one: signals interrupt it.
    pub fn enter(&mut self, wait: bool) -> io::Result<()> {
        let queued = self.uring.submission().len() as u32;
        // Without the flag the kernel would not run what it has put off until we ask for events.
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no argument is passed, and what is queued is described at `push`.
        match unsafe { self.uring.submitter().enter::<()>(queued, u32::from(wait), flags, None) } {
            Ok(_) => Ok(()),
            // A signal; or no room for now: events are to be taken out first, what is queued stays queued.
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::BUSY | Errno::AGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// The next event that has happened.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let Some(completion) = self.uring.completion().next() else {
                return self.unreported_event();
            };
            if let Some(event) = self.event(&completion) {
                return Some(event);
            }
        }
    }

    /// The end of a send about which the kernel has said nothing, once all it had to say has been heard.
    fn unreported_event(&mut self) -> Option<Event> {
        if self.unreported.is_empty() {
            return None;
        }
        let queue = self.uring.submission();
        if !queue.is_empty() || queue.cq_overflow() {
            return None;
        }
        drop(queue);
        let Send { peer, mut outgoing } = self.sends.remove(self.unreported.pop()? as usize);
        let count = outgoing.bytes.len() - outgoing.from;
        outgoing.from += count;
        Some(Event::Sent { peer, outgoing, result: Ok(count) })
    }

    fn event(&mut self, completion: &cqueue::Entry) -> Option<Event> {
        let more = cqueue::more(completion.flags());
        let result = match completion.result() {
            error @ ..0 => Err(io::Error::from_raw_os_error(-error)),
            count => Ok(count as u32),
        };
        match Operation::decode(completion.user_data()) {
            Operation::Accept => Some(Event::Accepted { socket: result.map(Socket), more }),
            Operation::Receive(peer) => {
                self.receiving -= usize::from(!more);
                let bytes = result.map(|len| {
                    let id = cqueue::buffer_select(completion.flags())?;
                    // SAFETY: this is the completion it comes from.
                    let filled = unsafe { self.buffers.filled(id, len as usize) };
                    if len > 0 {
                        return Some(filled);
                    }
                    self.buffers.recycle(filled);
                    None
                });
                Some(Event::Received { peer, bytes, more })
            }
            Operation::Send(number) => {
                let Send { peer, mut outgoing } = self.sends.remove(number as usize);
                self.unreported.retain(|unreported| *unreported != number);
                let result = result.map(|count| count as usize);
                outgoing.from += result.as_ref().map_or(0, |count| *count);
                Some(Event::Sent { peer, outgoing, result })
            }
            Operation::Timer => Some(Event::Timer),
            Operation::Stop => Some(Event::Stop),
            Operation::Aside => None,
        }
    }

    /// Queues an entry, handing over what is queued if there is no room.
    ///
    /// # Safety
    /// Memory that the entry names must stay as it is until the entry's last completion.
    unsafe fn push(&mut self, entry: squeue::Entry, operation: Operation) -> io::Result<()> {
        let entry = entry.user_data(operation.encode());
        loop {
            // SAFETY: the caller's word.
            if unsafe { self.uring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.enter(false)?;
        }
    }

    /// Accepts connections of `listener`, until an event says that there will be no more.
    pub fn accept(&mut self, listener: BorrowedFd<'_>) -> io::Result<()> {
        let own = tunables::DESCRIPTORS == Descriptors::Ring;
        let entry = opcode::AcceptMulti::new(Fd(listener.as_raw_fd())).allocate_file_index(own);
        // SAFETY: no memory.
        unsafe { self.push(entry.build(), Operation::Accept) }
    }

    /// Receives for `peer`, until an event says that there will be no more.
    pub fn receive(&mut self, peer: PeerId, socket: &Socket) -> io::Result<()> {
        let entry = match tunables::RECEIVING {
            Receiving::Multishot => on!(socket, to => opcode::RecvMulti::new(to, GROUP).build()),
            Receiving::Single => {
                on!(socket, to => single(opcode::Recv::new(to, std::ptr::null_mut(), ONE_BUFFER).ioprio(POLL_FIRST)))
            }
        };
        self.push_receive(entry, peer)
    }

    /// Receives for `peer` once, what has come already. If nothing has, the event is the error `WouldBlock`.
    pub fn receive_now(&mut self, peer: PeerId, socket: &Socket) -> io::Result<()> {
        let flags = RecvFlags::DONTWAIT.bits() as i32;
        let entry = on!(socket, to => single(opcode::Recv::new(to, std::ptr::null_mut(), ONE_BUFFER).flags(flags)));
        self.push_receive(entry, peer)
    }

    fn push_receive(&mut self, entry: squeue::Entry, peer: PeerId) -> io::Result<()> {
        self.receiving += 1;
        // SAFETY: the kernel writes to buffers of the group, which live as long as the ring.
        unsafe { self.push(entry, Operation::Receive(peer)) }
    }

    /// What has been received, before it is given back.
    pub fn bytes(&self, filled: &Filled) -> &[u8] {
        self.buffers.bytes(filled)
    }

    /// Gives a buffer back, to be received into again.
    pub fn recycle(&mut self, filled: Filled) {
        self.buffers.recycle(filled);
    }

    /// Sends for `peer` what is not sent yet. An event brings it back, maybe before all is sent. With `at_once` the socket
    /// takes what it can without waiting; the event may then come as late as with the next one, whoever's that is. The
    /// number is for [`Ring::cancel_send`].
    pub fn send(&mut self, peer: PeerId, socket: &Socket, outgoing: Outgoing, at_once: bool) -> io::Result<u32> {
        let unsent = &outgoing.bytes[outgoing.from..];
        let (start, len) = (unsent.as_ptr(), u32::try_from(unsent.len()).unwrap_or(u32::MAX));
        let mut send =
            on!(socket, to => opcode::Send::new(to, start, len).flags(if at_once { AT_ONCE } else { 0 }).build());
        let number = self.sends.insert(Send { peer, outgoing }) as u32;
        if at_once && tunables::SENDING == Sending::Unreported {
            send = send.flags(squeue::Flags::SKIP_SUCCESS);
            self.unreported.push(number);
        }
        // SAFETY: the bytes lie on the heap and belong to `sends` until the completion; nothing there changes them. A send
        // that must not wait is over when it has been handed over: unless that is reported, with success.
        unsafe { self.push(send, Operation::Send(number)) }?;
        Ok(number)
    }

    /// Asks the kernel to give up a receive; its last event comes all the same.
    pub fn cancel_receive(&mut self, peer: PeerId) -> io::Result<()> {
        self.cancel(Operation::Receive(peer))
    }

    /// Asks the kernel to give up a send; its event comes all the same.
    pub fn cancel_send(&mut self, number: u32) -> io::Result<()> {
        self.cancel(Operation::Send(number))
    }

    /// Asks the kernel to cease to accept; the last event comes all the same.
    pub fn cancel_accept(&mut self) -> io::Result<()> {
        self.cancel(Operation::Accept)
    }

    fn cancel(&mut self, operation: Operation) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(operation.encode()).build().flags(squeue::Flags::SKIP_SUCCESS);
        // SAFETY: no memory.
        unsafe { self.push(entry, Operation::Aside) }
    }

    /// Shuts the sending side down, once all that was sent before is on its way.
    pub fn shutdown(&mut self, socket: &Socket) -> io::Result<()> {
        match tunables::DESCRIPTORS {
            Descriptors::Process => {
                // SAFETY: a socket is open until `close` takes it.
                let socket = unsafe { BorrowedFd::borrow_raw(socket.0 as i32) };
                // A peer that is gone already needs no FIN.
                let _ = rustix::net::shutdown(socket, Shutdown::Write);
                Ok(())
            }
            Descriptors::Ring => {
                let how = Shutdown::Write as i32;
                let entry = opcode::Shutdown::new(Fixed(socket.0), how).build().flags(squeue::Flags::SKIP_SUCCESS);
                // SAFETY: no memory.
                unsafe { self.push(entry, Operation::Aside) }
            }
        }
    }

    /// Closes a socket for which nothing is in the kernel any more.
    pub fn close(&mut self, socket: Socket) -> io::Result<()> {
        let entry = on!(socket, to => opcode::Close::new(to).build()).flags(squeue::Flags::SKIP_SUCCESS);
        // SAFETY: no memory.
        unsafe { self.push(entry, Operation::Aside) }
    }

    /// Makes an event when the next sweep is due.
    pub fn start_timer(&mut self) -> io::Result<()> {
        // SAFETY: the time is static.
        unsafe { self.push(opcode::Timeout::new(&SWEEP).build(), Operation::Timer) }
    }

    /// Makes an event when `file` becomes readable.
    pub fn watch(&mut self, file: BorrowedFd<'_>) -> io::Result<()> {
        let readable = u32::from(rustix::event::PollFlags::IN.bits());
        // SAFETY: no memory.
        unsafe { self.push(opcode::PollAdd::new(Fd(file.as_raw_fd()), readable).build(), Operation::Stop) }
    }
}

/// A receive that ends with its first completion.
fn single(receive: opcode::Recv) -> squeue::Entry {
    receive.buf_group(GROUP).build().flags(squeue::Flags::BUFFER_SELECT)
}

impl Drop for Ring {
    fn drop(&mut self) {
        let idle = self.receiving == 0 && self.sends.is_empty();
        // SAFETY: none of the three is used again. Operations outlive the closing of the ring for a moment; if there are any
        // that name memory, that memory is left to the end of the process, which is when rings are dropped in service.
        unsafe {
            ManuallyDrop::drop(&mut self.uring);
            if idle {
                ManuallyDrop::drop(&mut self.buffers);
                ManuallyDrop::drop(&mut self.sends);
            }
        }
    }
}
