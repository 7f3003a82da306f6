//! What the kernel says of processes: CPU time, memory, descriptors. Read outside counted windows.

use crate::report::ServerFacts;
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What became of a thread's time since it began; the rest it slept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    /// It ran.
    pub ran: Duration,
    /// It could have run, and another had its core.
    pub waited: Duration,
}

impl Busy {
    /// What was added since `before`.
    pub fn since(self, before: Busy) -> Busy {
        Busy { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }
}

/// The calling thread's time.
pub fn this_thread() -> anyhow::Result<Busy> {
    busy(Path::new("/proc/thread-self/schedstat"))
}

/// The time of every thread of a process, by thread id.
pub fn threads(pid: u32) -> anyhow::Result<BTreeMap<u32, Busy>> {
    let folder = format!("/proc/{pid}/task");
    let mut all = BTreeMap::new();
    for thread in std::fs::read_dir(&folder).with_context(|| format!("cannot read {folder}: is the server running?"))? {
        let thread = thread?;
        let id = thread.file_name().to_string_lossy().parse().with_context(|| format!("{folder} lists no threads"))?;
        // A thread may have ended since the folder was listed.
        if let Ok(busy) = busy(&thread.path().join("schedstat")) {
            all.insert(id, busy);
        }
    }
    Ok(all)
}

/// CPU time of all threads of a process.
pub fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    Ok(threads(pid)?.values().map(|busy| busy.ran).sum())
}

/// Memory a process holds now, in KiB.
pub fn rss_kib(pid: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}: has the server ended?"))?;
    field(&text, "VmRSS:").with_context(|| format!("{path} has no VmRSS line: has the server ended?"))
}

/// Descriptors a process has open.
pub fn descriptors(pid: u32) -> anyhow::Result<usize> {
    let folder = format!("/proc/{pid}/fd");
    let list = std::fs::read_dir(&folder);
    Ok(list.with_context(|| format!("cannot read {folder}: has the server ended, or is it another user's?"))?.count())
}

/// Voluntary context switches of all threads of a process, so far.
pub fn switches(pid: u32) -> anyhow::Result<u64> {
    let folder = format!("/proc/{pid}/task");
    let mut sum = 0;
    for thread in std::fs::read_dir(&folder).with_context(|| format!("cannot read {folder}: is the server running?"))? {
        let path = thread?.path().join("status");
        // A thread may have ended since the folder was listed.
        if let Ok(text) = std::fs::read_to_string(&path) {
            sum += field(&text, "voluntary_ctxt_switches:").unwrap_or(0);
        }
    }
    Ok(sum)
}

/// The facts, after a window that began at `before` switches.
pub fn server(pid: u32, before: u64) -> anyhow::Result<ServerFacts> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}: has the server ended?"))?;
    Ok(ServerFacts {
        voluntary_switches: switches(pid)?.saturating_sub(before),
        peak_rss_kib: field(&text, "VmHWM:")
            .with_context(|| format!("{path} has no VmHWM line: has the server ended?"))?,
    })
}

fn busy(path: &Path) -> anyhow::Result<Busy> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}: was the kernel built with schedstats?", path.display()))?;
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(ran)), Some(Ok(waited))) => {
            Ok(Busy { ran: Duration::from_nanos(ran), waited: Duration::from_nanos(waited) })
        }
        _ => anyhow::bail!("{} says {text:?}, not two numbers of nanoseconds", path.display()),
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_worked_ran_and_one_that_slept_did_not() {
        let before = this_thread().unwrap();
        let mut sum = 0u64;
        while this_thread().unwrap().since(before).ran < Duration::from_millis(20) {
            sum = (0..100_000u64).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        let sleeper = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            this_thread().unwrap()
        });
        assert!(sleeper.join().unwrap().ran < this_thread().unwrap().since(before).ran);
        assert!(cpu_time(std::process::id()).unwrap() >= Duration::from_millis(20));
    }

    #[test]
    fn descriptors_and_memory_of_this_process_are_found_and_those_of_none_are_an_error() {
        let before = descriptors(std::process::id()).unwrap();
        let held: Vec<_> = (0..100).map(|_| std::fs::File::open("/proc/self/status").unwrap()).collect();
        assert!(descriptors(std::process::id()).unwrap() > before.saturating_sub(50) + 50);
        drop(held);
        assert!(rss_kib(std::process::id()).unwrap() > 100);
        assert!(rss_kib(4_000_000).unwrap_err().to_string().contains("has the server ended"));
    }
}
