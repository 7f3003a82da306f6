//! Workers: one thread a core, each with its own listener and engine. An engine moves bytes between sockets and
//! connections; what they mean is none of its business.

mod epoll;
mod listen;
mod peer;

use std::io;
use std::net::TcpListener;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::state::State;

/// Something that serves the connections of one listener with one thread.
pub trait Engine: Sized {
    /// An engine for `listener`, which is in non-blocking mode.
    fn new(listener: TcpListener) -> io::Result<Self>;

    /// Serves until something fails that concerns more than one connection.
    fn run(self, state: &State) -> io::Result<()>;
}

/// Opens `port`, says so, and serves `state` with `workers` threads. Returns only if that fails.
pub fn serve(state: &State, port: u16, workers: Option<usize>) -> Result<(), String> {
    let cores = cores();
    let workers = workers.unwrap_or(cores.len());
    raise_file_limit();
    let listeners = listen::listeners(port, workers)?;
    let address = listeners[0].local_addr().map_err(|error| format!("the listener has no address: {error}"))?;
    eprintln!("candidate: serving on {address}, workers: {workers}");
    thread::scope(|scope| {
        let threads: Vec<_> = listeners
            .into_iter()
            .zip(cores.iter().cycle())
            .map(|(listener, core)| scope.spawn(move || work(listener, *core, state)))
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

fn work(listener: TcpListener, core: usize, state: &State) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(core);
    if let Err(error) = sched_setaffinity(None, &only) {
        eprintln!("candidate: a worker stays unpinned, core {core} was refused: {error}");
    }
    let failed = epoll::Epoll::new(listener).and_then(|engine| engine.run(state));
    if let Err(error) = &failed {
        // The other workers would go on and hide that a share of the connections is not served any more.
        eprintln!("candidate: the worker of core {core} failed: {error}");
        std::process::exit(1);
    }
    failed
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
fn raise_file_limit() {
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
