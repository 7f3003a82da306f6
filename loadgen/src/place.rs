//! Where things run and how many descriptors there may be: cores of server and load generator, and the file limit.

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Descriptors beside connections: standard streams, epoll, logs, `/proc`.
const SPARE: u64 = 64;

/// Cores of the two sides, where they have their own.
#[derive(Debug, Clone, Copy)]
pub struct Cores {
    all: CpuSet,
    generator: CpuSet,
    server: CpuSet,
}

impl Cores {
    /// The first core this process may use for the load generator, all others for the server. None where there is
    /// but one.
    pub fn split() -> anyhow::Result<Option<Cores>> {
        let all = sched_getaffinity(None).context("cannot ask which cores this process may run on")?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
        let (mut generator, mut server) = (CpuSet::new(), CpuSet::new());
        if let Some(first) = cores.next() {
            generator.set(first);
        }
        cores.for_each(|core| server.set(core));
        Ok((server.count() > 0).then_some(Cores { all, generator, server }))
    }

    /// Puts the calling thread on the load generator's core.
    pub fn pin_generator(&self) -> anyhow::Result<()> {
        sched_setaffinity(None, &self.generator).context("cannot pin the load generator to its core")
    }

    /// Runs `start` so that a process it starts has the server's cores and no other.
    pub fn for_server<T>(&self, start: impl FnOnce() -> T) -> anyhow::Result<T> {
        sched_setaffinity(None, &self.server).context("cannot choose the server's cores")?;
        let started = start();
        sched_setaffinity(None, &self.all).context("cannot go back to all cores")?;
        Ok(started)
    }
}

/// Makes `count` things on this thread, as many on each core it may run on as on the others: a server that takes connections
/// on the core they come from then has some on every core. Where it cannot choose its core, they are made all the same.
pub fn across_cores<T, E>(count: usize, mut make: impl FnMut() -> Result<T, E>) -> Result<Vec<T>, E> {
    let all = sched_getaffinity(None).ok();
    let cores: Vec<usize> =
        all.iter().flat_map(|all| (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect::<Vec<_>>()).collect();
    let mut made = Vec::with_capacity(count);
    for (index, core) in cores.iter().enumerate() {
        let mut only = CpuSet::new();
        only.set(*core);
        let moved = sched_setaffinity(None, &only);
        let share = (count * (index + 1)).div_ceil(cores.len());
        while made.len() < share {
            match make() {
                Ok(thing) => made.push(thing),
                Err(error) => {
                    back(moved.is_ok(), all.as_ref());
                    return Err(error);
                }
            }
        }
        back(moved.is_ok(), all.as_ref());
    }
    while made.len() < count {
        made.push(make()?);
    }
    Ok(made)
}

/// Gives the calling thread the cores back that it had.
fn back(moved: bool, all: Option<&CpuSet>) {
    if let Some(all) = all.filter(|_| moved) {
        // It had them a moment ago.
        let _ = sched_setaffinity(None, all);
    }
}

/// Raises this process's file limit so that it can hold `connections`. A server started afterwards inherits it.
pub fn raise_descriptors(connections: usize) -> anyhow::Result<()> {
    let wanted = connections as u64 + SPARE;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now >= wanted) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < wanted) {
        bail!(
            "{connections} connections need {wanted} descriptors, and the hard limit is {hard}: raise it (`ulimit -Hn {wanted}` as \
             root, or the container's nofile limit) or ask for fewer connections"
        );
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .with_context(|| format!("cannot raise the limit of open files to {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_sides_share_no_core_and_the_caller_gets_all_its_cores_back() {
        let before = sched_getaffinity(None).unwrap();
        // On one core there is nothing to split.
        assert_eq!(Cores::split().unwrap().is_some(), before.count() > 1);
        let Some(cores) = Cores::split().unwrap() else { return };
        let inside = cores.for_server(|| sched_getaffinity(None).unwrap()).unwrap();
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        std::thread::spawn(move || {
            cores.pin_generator().unwrap();
            let own = sched_getaffinity(None).unwrap();
            assert_eq!(own.count(), 1);
            assert_eq!(own.count() + inside.count(), before.count());
            assert!((0..CpuSet::MAX_CPU).all(|core| !(own.is_set(core) && inside.is_set(core))));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn things_are_made_on_every_core_alike() {
        let before = sched_getaffinity(None).unwrap();
        for count in [0, 1, 5, 64] {
            let made: Vec<CpuSet> = across_cores(count, || sched_getaffinity(None)).unwrap();
            assert_eq!(made.len(), count);
            let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)).collect();
            let on = |core: usize| made.iter().filter(|set| set.count() == 1 && set.is_set(core)).count();
            assert!(cores.iter().all(|core| on(*core).abs_diff(count / cores.len()) <= 1), "{count}");
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        }
        assert_eq!(across_cores(3, || Err::<(), u8>(7)), Err(7));
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }

    #[test]
    fn more_connections_than_the_hard_limit_are_an_error_with_a_remedy() {
        let Some(hard) = getrlimit(Resource::Nofile).maximum else { return };
        let error = raise_descriptors(hard as usize).unwrap_err().to_string();
        assert!(error.contains("hard limit") && error.contains("fewer connections"), "{error}");
        raise_descriptors(1).unwrap();
    }
}
