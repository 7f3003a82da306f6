//! A load generator with nothing but the standard library, for tests of the emulated meter: same arguments, marks, report
//! and exit codes as the real one. Waves of one request a connection, every byte of every answer compared.

use std::arch::asm;
use std::io::{Read, Write};
use std::net::TcpStream;

const CONNECTIONS: usize = 32;
const WARM_UP: usize = 10;
const WAVES: usize = 60;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";

unsafe extern "C" {
    fn kill(pid: i32, signal: i32) -> i32;
}

#[derive(Default)]
struct Counts {
    sent: usize,
    verified: usize,
    wrong: usize,
    lost: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).map(|at| arguments[at + 1].clone());
    let gate: Option<i32> = value("--gate").map(|pid| pid.parse().unwrap());
    let seed: u64 = std::fs::read_to_string(value("--plan").unwrap()).unwrap().trim().parse().unwrap();
    let mut connections: Vec<TcpStream> =
        (0..CONNECTIONS).map(|_| TcpStream::connect(value("--addr").unwrap()).unwrap()).collect();
    for connection in &connections {
        connection.set_nodelay(true).unwrap();
        connection.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    }
    let mut warm_up = Counts::default();
    for _ in 0..WARM_UP {
        wave(&mut connections, gate, &mut warm_up);
    }
    let mut window = Counts::default();
    // SAFETY: a no-operation.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 1, 0xde, 0xc0, 0x5e") };
    for _ in 0..WAVES {
        wave(&mut connections, gate, &mut window);
    }
    // SAFETY: a no-operation.
    unsafe { asm!(".byte 0x0f, 0x1f, 0x84, 0x00, 2, 0xde, 0xc0, 0x5e") };
    let Counts { sent, verified, wrong, lost } = window;
    println!(
        "{{\"seed\": {seed}, \"window\": {{\"sent\": {sent}, \"verified\": {verified}, \"wrong\": {wrong}, \"lost\": {lost}}}, \"errors\": []}}"
    );
    std::process::exit(i32::from(warm_up.verified != WARM_UP * CONNECTIONS || verified != WAVES * CONNECTIONS));
}

fn wave(connections: &mut [TcpStream], gate: Option<i32>, counts: &mut Counts) {
    let signal = |signal| gate.map(|pid| unsafe { kill(pid, signal) });
    signal(19);
    for connection in connections.iter_mut() {
        counts.sent += usize::from(connection.write_all(REQUEST).is_ok());
    }
    signal(18);
    for connection in connections.iter_mut() {
        let mut answer = [0; ANSWER.len()];
        match connection.read_exact(&mut answer) {
            Ok(()) if answer == ANSWER => counts.verified += 1,
            Ok(()) => counts.wrong += 1,
            Err(_) => counts.lost += 1,
        }
    }
}
