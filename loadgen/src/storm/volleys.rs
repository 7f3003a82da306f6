//! The three storms. Each returns what was seen, or as an error what the server did that it must not.

use super::Scene;
use super::witness::{answered, ask};
use crate::dial;
use crate::facts;
use crate::place::across_cores;
use crate::report::escaped;
use anyhow::{Context, ensure};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Requests sent on a connection that is to be reset: their answers are more than its receive buffer takes.
const BURST: usize = 64;
const NARROW: usize = 2048;
const PATIENCE: Duration = Duration::from_secs(10);
/// The most CPU time, as a share of one core, of a server that has no room and little to do.
const IDLE: f64 = 0.5;
/// What a head that never ends is answered, at most.
const TIMEOUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Many connections ask for much, read the first bytes, and are reset.
pub fn reset(scene: &Scene) -> anyhow::Result<String> {
    let plan = &scene.plan;
    let burst = &plan.requests()[..plan.request(BURST.min(plan.len()) - 1).end];
    // From all cores, or each storm may find another worker that is still cold.
    let sockets = across_cores(scene.shape.connections, || {
        let mut socket = dial::narrow(scene.addr, NARROW).context("cannot connect")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.write_all(burst).context("requests cannot be sent")?;
        anyhow::Ok(socket)
    })?;
    for mut socket in sockets {
        let mut first = [0; 12];
        socket.read_exact(&mut first).context("the answers do not begin")?;
        ensure!(plan.answers().starts_with(&first), "the first answer begins {}", escaped(&first, 12));
        dial::reset(socket).context("cannot reset a connection")?;
    }
    Ok(format!("{} connections reset with {BURST} answers due", scene.shape.connections))
}

/// The server may open only a few descriptors more, and twice as many clients come.
pub fn exhaust(scene: &Scene) -> anyhow::Result<String> {
    let before = facts::descriptors(scene.pid)?;
    let limit = Limit::lower(scene.pid, before + scene.shape.spare)?;
    dial::pile_up(scene.addr, scene.pid)?;
    super::settled(scene, before).context("after many came at once")?;
    let mut clients = Vec::new();
    for _ in 0..2 * scene.shape.spare {
        let mut client = TcpStream::connect_timeout(&scene.addr, PATIENCE).context("cannot connect")?;
        client.set_read_timeout(Some(PATIENCE))?;
        client.write_all(&scene.plan.requests()[scene.plan.request(0)])?;
        clients.push(client);
    }
    let (mut served, mut waiting) = divide(clients, Duration::from_secs(1))?;
    ensure!(!served.is_empty(), "nobody is served, though {} descriptors were left", scene.shape.spare);
    ensure!(!waiting.is_empty(), "all clients were accepted: the limit of open files had no effect");
    for client in &mut served {
        answered(client, &scene.plan, 0).context("one who was accepted is not served")?;
    }
    let (start, cpu) = (Instant::now(), facts::cpu_time(scene.pid)?);
    std::thread::sleep(Duration::from_secs(1));
    let share = (facts::cpu_time(scene.pid)?.saturating_sub(cpu)).as_secs_f64() / start.elapsed().as_secs_f64();
    ensure!(share < IDLE, "the server spins: it uses {:.0}% of a core while there is no room", share * 100.0);
    for client in &mut served {
        ask(client, &scene.plan, 1).context("one who was accepted before is not served any more")?;
    }
    let seen = format!(
        "{} of {} clients accepted, the others served once those had gone",
        served.len(),
        served.len() + waiting.len()
    );
    drop(served);
    for client in &mut waiting {
        answered(client, &scene.plan, 0).context("one who had to wait is not served when there is room again")?;
    }
    drop(limit);
    Ok(seen)
}

/// Who has bytes to read, and who has none; decided when nothing has come for a while.
fn divide(clients: Vec<TcpStream>, quiet: Duration) -> anyhow::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let (mut served, mut waiting) = (Vec::new(), clients);
    let mut last = Instant::now();
    while last.elapsed() < quiet {
        let mut still = Vec::new();
        for client in waiting {
            client.set_nonblocking(true)?;
            let peeked = client.peek(&mut [0]);
            client.set_nonblocking(false)?;
            match peeked {
                Ok(0) => anyhow::bail!("a client that came when there was no room is turned away"),
                Ok(_) => {
                    served.push(client);
                    last = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => still.push(client),
                Err(error) => return Err(error).context("a client that came when there was no room is turned away"),
            }
        }
        waiting = still;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok((served, waiting))
}

/// A lowered limit of open files of another process; dropped, it is as before.
struct Limit {
    pid: Pid,
    before: Rlimit,
}

impl Limit {
    fn lower(pid: u32, to: usize) -> anyhow::Result<Limit> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("the server's process id is none")?;
        let maximum = getrlimit(Resource::Nofile).maximum;
        let before = prlimit(Some(pid), Resource::Nofile, Rlimit { current: Some(to as u64), maximum })
            .context("cannot lower the server's limit of open files: is it another user's?")?;
        Ok(Limit { pid, before })
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Where this fails the server has ended, and that is found by others.
        let _ = prlimit(Some(self.pid), Resource::Nofile, self.before);
    }
}

/// Thousands of heads, each a byte a second.
pub fn crawl(scene: &Scene) -> anyhow::Result<String> {
    let mut heads = Vec::with_capacity(scene.shape.slow);
    for _ in 0..scene.shape.slow {
        let socket = TcpStream::connect_timeout(&scene.addr, PATIENCE).context("cannot connect")?;
        socket.set_nonblocking(true)?;
        heads.push(Head { socket, got: Vec::new(), open: true });
    }
    let text = b"GET /user HTTP/1.1\r\nHost: slow\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'a'));
    for (second, byte) in (1..=scene.shape.seconds).zip(text) {
        scene.go_on()?;
        let start = Instant::now();
        for head in heads.iter_mut().filter(|head| head.open) {
            head.send(*byte).with_context(|| format!("a slow head in second {second}"))?;
        }
        std::thread::sleep(Duration::from_secs(1).saturating_sub(start.elapsed()));
    }
    for head in heads.iter_mut().filter(|head| head.open) {
        head.read().context("a slow head at its end")?;
    }
    let refused = heads.iter().filter(|head| head.got == TIMEOUT).count();
    for head in heads {
        dial::reset(head.socket).context("cannot reset a connection")?;
    }
    Ok(format!(
        "{} slow heads for {} s, {refused} of them ended by the server with 408",
        scene.shape.slow, scene.shape.seconds
    ))
}

struct Head {
    socket: TcpStream,
    got: Vec<u8>,
    open: bool,
}

impl Head {
    fn send(&mut self, byte: u8) -> anyhow::Result<()> {
        self.read()?;
        if !self.open {
            return Ok(());
        }
        match self.socket.write(&[byte]) {
            Ok(_) => Ok(()),
            // What the server said before it left is read the next time.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(()),
            Err(error) => Err(error).context("a byte cannot be sent"),
        }
    }

    /// Reads what there is; it can only be the refusal, and then the end.
    fn read(&mut self) -> anyhow::Result<()> {
        let mut bytes = [0; 256];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => {
                    self.open = false;
                    ensure!(self.got == TIMEOUT, "the connection was closed after {:?}", escaped(&self.got, 300));
                    return Ok(());
                }
                Ok(count) => {
                    self.got.extend_from_slice(&bytes[..count]);
                    ensure!(TIMEOUT.starts_with(&self.got), "it is answered {}", escaped(&self.got, 300));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("the connection broke"),
            }
        }
    }
}
