//! Workers: one thread a core, each with its own listener and engine. An engine moves bytes between sockets and
//! connections; what they mean is none of its business.

mod choose;
mod epoll;
mod listen;
mod pool;
mod stop;
mod time;
mod turn;
mod uring;

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::choices::EngineChoice;
use crate::state::State;

pub use choose::{Choice, Wish, choose};
pub use stop::{Stop, Stopper, pair as stop_pair};

/// Something that serves the connections of one listener with one thread.
trait Engine: Sized {
    /// An engine for `listener`, made by the thread that will run it.
    fn new(listener: TcpListener, stop: Stop) -> io::Result<Self>;

    /// Serves until `stop` asks for the end; then answers what has come, and returns once all connections are closed, or
    /// after some seconds. Fails if something fails that concerns more than one connection.
    fn run(self, state: &State) -> io::Result<()>;
}

/// A server that listens and does not serve yet.
pub struct Server {
    address: SocketAddr,
    engine: EngineChoice,
    stop: Stop,
    /// Listeners with the cores of their workers.
    workers: Vec<(TcpListener, usize)>,
}

impl Server {
    /// Opens `port` for `workers` threads, one for each core if not given, until `stop` asks for the end.
    pub fn open(port: u16, workers: Option<usize>, engine: EngineChoice, stop: Stop) -> Result<Self, String> {
        let cores = cores();
        let count = workers.unwrap_or(cores.len());
        let cores: Vec<usize> = cores.into_iter().cycle().take(count).collect();
        let listeners = listen::listeners(port, &cores)?;
        let address = listeners[0].local_addr().map_err(|error| format!("the listener has no address: {error}"))?;
        Ok(Self { address, engine, stop, workers: listeners.into_iter().zip(cores).collect() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says that it serves, and does so. Returns once it was asked to end and all connections are closed.
    pub fn serve(self, state: &State) -> Result<(), String> {
        let (address, workers) = (self.address, self.workers.len());
        let engine = self.engine.name();
        // In one write, for others may write to the same stderr.
        let line = format!("candidate: serving on {address}, workers: {workers}, engine: {engine}\n");
        drop(io::stderr().write_all(line.as_bytes()));
        let (engine, stop) = (self.engine, &self.stop);
        thread::scope(|scope| {
            let threads: Vec<_> = self
                .workers
                .into_iter()
                .map(|(listener, core)| scope.spawn(move || work(engine, listener, core, stop.clone(), state)))
                .collect();
            for thread in threads {
                match thread.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => return Err(format!("a worker failed: {error}")),
                    Err(_) => return Err("a worker panicked".to_owned()),
                }
            }
            Ok(())
        })
    }
}

fn work(engine: EngineChoice, listener: TcpListener, core: usize, stop: Stop, state: &State) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(core);
    if let Err(error) = sched_setaffinity(None, &only) {
        eprintln!("candidate: a worker stays unpinned, core {core} was refused: {error}");
    }
    let ended = match engine {
        EngineChoice::Epoll => epoll::Epoll::new(listener, stop).and_then(|engine| engine.run(state)),
        EngineChoice::Uring => uring::Uring::new(listener, stop).and_then(|engine| engine.run(state)),
    };
    if let Err(error) = &ended {
        // The other workers would go on and hide that a share of the connections is not served any more.
        eprintln!("candidate: the worker of core {core} failed: {error}");
        std::process::exit(1);
    }
    ended
}

/// The cores this process may run on; never empty.
fn cores() -> Vec<usize> {
    let cores: Vec<usize> = match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect(),
        Err(_) => Vec::new(),
    };
    if cores.is_empty() { vec![0] } else { cores }
}

/// Files are connections: as many as the system lets us have.
pub fn raise_file_limit() {
    const WANTED: u64 = 65_536;
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(WANTED);
    let higher = Rlimit { current: Some(hard.max(WANTED)), maximum: Some(hard.max(WANTED)) };
    let highest = Rlimit { current: Some(hard), maximum: limit.maximum };
    if setrlimit(Resource::Nofile, higher).is_err()
        && let Err(error) = setrlimit(Resource::Nofile, highest)
    {
        eprintln!("candidate: the limit of open files stays at {:?}: {error}", limit.current);
    }
}
