//! The client that behaves: one connection, one request after the other, every byte checked, all through a storm.

use super::Scene;
use crate::plan::Plan;
use crate::report::escaped;
use anyhow::{Context, anyhow, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long it waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(2);

/// A witness at work.
pub struct Witness {
    over: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<(u64, Duration)>>,
}

impl Witness {
    /// Connects, has one request answered, and goes on in a thread of its own.
    pub fn start(scene: &Scene) -> anyhow::Result<Witness> {
        let mut socket = TcpStream::connect_timeout(&scene.addr, PATIENCE).context("a new client cannot connect")?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        ask(&mut socket, &scene.plan, 0).context("a new client is not served")?;
        let over = Arc::new(AtomicBool::new(false));
        let (seen, plan) = (Arc::clone(&over), Arc::clone(&scene.plan));
        let thread = std::thread::spawn(move || {
            let (mut served, mut longest) = (0, Duration::ZERO);
            // At least one more, so that a storm that ends at once has been witnessed too.
            loop {
                let start = Instant::now();
                ask(&mut socket, &plan, served as usize % plan.len())
                    .with_context(|| format!("after {served} right answers"))?;
                longest = longest.max(start.elapsed());
                served += 1;
                if seen.load(Ordering::Relaxed) {
                    return Ok((served, longest));
                }
                std::thread::sleep(PAUSE);
            }
        });
        Ok(Witness { over, thread })
    }

    /// The storm is over: how often it was served, or how not.
    pub fn finish(self) -> anyhow::Result<String> {
        self.over.store(true, Ordering::Relaxed);
        let (served, longest) = self.thread.join().map_err(|_| anyhow!("the witness panicked"))??;
        Ok(format!("{served} requests of another client answered right, the slowest in {} ms", longest.as_millis()))
    }
}

/// Sends a request of the plan and reads its answer, which must be right to the byte.
pub fn ask(socket: &mut TcpStream, plan: &Plan, request: usize) -> anyhow::Result<()> {
    socket.write_all(&plan.requests()[plan.request(request)]).context("a request cannot be sent")?;
    answered(socket, plan, request)
}

/// Reads the answer to a request that was sent.
pub fn answered(socket: &mut TcpStream, plan: &Plan, request: usize) -> anyhow::Result<()> {
    let expected = &plan.answers()[plan.answer(request)];
    let mut got = vec![0; expected.len()];
    socket.read_exact(&mut got).context("no whole answer came")?;
    if got != expected {
        bail!("the answer is {}, and must be {}", escaped(&got, 300), escaped(expected, 300));
    }
    Ok(())
}
