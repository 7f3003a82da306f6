//! A server with nothing but the standard library, for tests of the emulated meter. What it does wrong is chosen when it
//! is compiled (`MODE`), because the machine gives every server the same arguments.

use std::arch::asm;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const MODE: Option<&str> = option_env!("MODE");
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";

#[repr(C)]
struct Poll {
    fd: i32,
    events: i16,
    revents: i16,
}

unsafe extern "C" {
    fn poll(fds: *mut Poll, count: u64, timeout: i32) -> i32;
    fn sched_setaffinity(pid: i32, size: usize, mask: *const u64) -> i32;
}

fn is(mode: &str) -> bool {
    MODE == Some(mode)
}

fn main() {
    println!("listening soon, as {MODE:?}");
    if is("exits") {
        eprintln!("cannot read users.jsonl");
        std::process::exit(3);
    }
    if is("silent") {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
    let listener = TcpListener::bind("0.0.0.0:8080").unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut connections: Vec<TcpStream> = Vec::new();
    let mut answered = 0_u64;
    if is("escapes") {
        // A thread that tries to leave the counted CPU and takes the work with it.
        std::thread::spawn(|| {
            // SAFETY: reads one word.
            let moved = unsafe { sched_setaffinity(0, 8, &1) };
            println!("moved to CPU 0: {moved}");
            loop {
                work(1000);
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        });
    }
    loop {
        let fd = |stream: &TcpStream| Poll { fd: stream.as_raw_fd(), events: 1, revents: 0 };
        let mut ready: Vec<Poll> = connections.iter().map(fd).collect();
        ready.push(Poll { fd: listener.as_raw_fd(), events: 1, revents: 0 });
        // SAFETY: as many entries as are said.
        unsafe { poll(ready.as_mut_ptr(), ready.len() as u64, -1) };
        for (connection, poll) in connections.iter_mut().zip(&ready) {
            if poll.revents != 0 {
                answered += serve(connection, answered);
            }
        }
        while let Ok((connection, _)) = listener.accept() {
            connection.set_nodelay(true).unwrap();
            connections.push(connection);
        }
    }
}

fn serve(connection: &mut TcpStream, answered: u64) -> u64 {
    let mut bytes = [0; 4096];
    let Ok(size) = connection.read(&mut bytes) else { return 0 };
    let requests = bytes[..size].windows(4).filter(|w| w == b"\r\n\r\n").count();
    if is("crashes") && answered > 700 {
        std::process::abort();
    }
    if is("hangs") && answered > 700 {
        loop {
            work(1000);
        }
    }
    if is("marks") {
        // SAFETY: a no-operation that looks like the end of the window.
        unsafe { asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 2, 0xde, 0xc0, 0x5e") };
    }
    if is("slower") {
        work(250);
    }
    let mut answer = ANSWER.repeat(requests);
    if is("wrong") && answered > 700 {
        *answer.last_mut().unwrap() = b'?';
    }
    let _ = connection.write_all(&answer);
    requests as u64
}

/// `4 * n` instructions.
#[inline(never)]
fn work(n: u64) {
    // SAFETY: counts a register down.
    unsafe { asm!("2: nop", "nop", "dec {0}", "jnz 2b", inout(reg) n => _, options(nomem, nostack)) };
}
