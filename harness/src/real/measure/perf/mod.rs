//! The hardware meter: instructions of a server's CPUs between two moments, user and kernel apart, beside those of the
//! server's own threads, so that strangers on the CPU and work elsewhere are seen. Driving load and judging the figures
//! are others' work.

mod counter;
mod known;
pub mod native;

pub use counter::{Bad, Counter, Kind, Mode, NoCounter, Reading, Scope};

use std::collections::BTreeSet;

use crate::os::pin;
use crate::os::process::tree;

/// Events in user mode that CPU and threads may differ by, as a share and at least so many: starting and stopping the
/// counters one after the other is not free.
const TOLERANCE: (u64, u64) = (1_000, 10_000);

/// Whom to count.
#[derive(Clone, Debug)]
pub struct Server {
    /// CPUs that the server is pinned to, and nothing else.
    pub cpus: Vec<usize>,
    /// Its process id.
    pub pid: i32,
}

/// One counted window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Events in user mode on the server's CPUs.
    pub user: u64,
    /// Events in kernel mode on the server's CPUs.
    pub kernel: u64,
    /// Events in user mode of the server's threads, on any CPU.
    pub task_user: u64,
    /// Events in kernel mode of the server's threads, on any CPU.
    pub task_kernel: u64,
    /// Nanoseconds that the CPUs' user counters should have counted, summed.
    pub enabled: u64,
    /// Nanoseconds that they did: equal to `enabled`, else there is no window.
    pub running: u64,
    /// What speaks against the window.
    pub doubts: Vec<Doubt>,
}

/// What speaks against a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Somebody else ran on the server's CPUs.
    #[error(
        "{events} events in user mode on the server's CPUs are not the server's. Isolate the CPUs (isolcpus=), or move \
         other programs away"
    )]
    Foreign {
        /// How many.
        events: u64,
    },
    /// The server worked on other CPUs.
    #[error("{events} events in user mode of the server's threads were not on its CPUs: it moved work elsewhere")]
    Elsewhere {
        /// How many.
        events: u64,
    },
}

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum NoWindow {
    /// The counter failed its self-test.
    #[error("self-test {when} the window: {why}")]
    SelfTest {
        /// "before" or "after".
        when: &'static str,
        /// What was counted.
        why: NoCounter,
    },
    /// A counter could not be opened.
    #[error(transparent)]
    NoCounter(#[from] NoCounter),
    /// A counter's difference is no count.
    #[error(transparent)]
    Bad(#[from] Bad),
}

/// A counter that has proved itself.
#[derive(Clone, Debug)]
pub struct PerfMeter {
    kind: Kind,
}

impl PerfMeter {
    /// The hardware meter, if this machine has the counter, this user may use it as a window needs it, and it counts
    /// right.
    pub fn probe() -> Result<PerfMeter, NoCounter> {
        let allowed = pin::allowed().map_err(|e| NoCounter::Wrong(format!("the CPUs allowed are not known: {e}")))?;
        PerfMeter::with(Kind::Instructions, allowed.last().copied().unwrap_or(0))
    }

    /// A meter for any kind of event: software events take the same way as the hardware one.
    pub fn with(kind: Kind, cpu: usize) -> Result<PerfMeter, NoCounter> {
        for mode in [Mode::User, Mode::Kernel] {
            Counter::open(kind, mode, Scope::Cpu(cpu))?;
            Counter::open(kind, mode, Scope::Thread(std::process::id() as i32))?;
        }
        known::prove(kind, cpu)?;
        Ok(PerfMeter { kind })
    }

    /// Counts while `drive` runs. `drive` begins and ends with nothing in flight, from another CPU than the server's.
    pub fn window<T>(&self, server: &Server, drive: impl FnOnce() -> T) -> Result<(Window, T), NoWindow> {
        self.prove(server, "before")?;
        let mut cpus = Both::cpus(self.kind, &server.cpus)?;
        let mut tasks = Both::threads(self.kind, server.pid)?;
        // The threads' counters are read outermost: what they miss cannot look like a stranger's.
        let tasks_before = tasks.read()?;
        let cpus_before = cpus.read()?;
        let driven = drive();
        let cpu = cpus.since(&cpus_before)?;
        let task = tasks.since(&tasks_before)?;
        self.prove(server, "after")?;
        let window = Window {
            user: cpu.0.count,
            kernel: cpu.1.count,
            task_user: task.0.count,
            task_kernel: task.1.count,
            enabled: cpu.0.enabled,
            running: cpu.0.running,
            doubts: doubts(cpu.0.count, task.0.count),
        };
        Ok((window, driven))
    }

    fn prove(&self, server: &Server, when: &'static str) -> Result<(), NoWindow> {
        let mut cpus = server.cpus.iter();
        cpus.try_for_each(|&cpu| known::prove(self.kind, cpu)).map_err(|why| NoWindow::SelfTest { when, why })
    }
}

/// In user mode there is neither idling nor an interrupt, so CPU and threads must agree.
fn doubts(cpu: u64, task: u64) -> Vec<Doubt> {
    let tolerance = (cpu.max(task) / TOLERANCE.0).max(TOLERANCE.1);
    let foreign = cpu.checked_sub(task).filter(|&n| n > tolerance).map(|events| Doubt::Foreign { events });
    let elsewhere = task.checked_sub(cpu).filter(|&n| n > tolerance).map(|events| Doubt::Elsewhere { events });
    foreign.into_iter().chain(elsewhere).collect()
}

/// User and kernel counters of several CPUs or threads, read and summed together. The library's groups are for the
/// calling process only, so these are single counters, each with its own times.
struct Both {
    user: Vec<Counter>,
    kernel: Vec<Counter>,
}

impl Both {
    fn new() -> Both {
        Both { user: Vec::new(), kernel: Vec::new() }
    }

    fn cpus(kind: Kind, cpus: &[usize]) -> Result<Both, NoCounter> {
        let mut both = Both::new();
        cpus.iter().try_for_each(|&cpu| both.add(kind, Scope::Cpu(cpu)))?;
        Ok(both)
    }

    /// All threads of the process and of its descendants. Those that start later are counted through their parents;
    /// those that start while this runs are found by looking again.
    fn threads(kind: Kind, pid: i32) -> Result<Both, NoCounter> {
        let mut both = Both::new();
        let mut known = BTreeSet::new();
        loop {
            let processes = tree::descendants(pid).into_iter().map(|p| p.pid).chain([pid]);
            let threads: BTreeSet<i32> = processes.flat_map(tree::threads).collect();
            let new: Vec<i32> = threads.difference(&known).copied().collect();
            if known.is_empty() && new.is_empty() {
                return Err(NoCounter::Gone(pid));
            }
            if new.is_empty() {
                return Ok(both);
            }
            for tid in new {
                known.insert(tid);
                match both.add(kind, Scope::Thread(tid)) {
                    // It ended between the look and now; nothing of it can be in the window.
                    Err(NoCounter::Gone(tid)) if tid != pid => {}
                    other => other?,
                }
            }
        }
    }

    fn add(&mut self, kind: Kind, scope: Scope) -> Result<(), NoCounter> {
        let user = Counter::open(kind, Mode::User, scope)?;
        self.kernel.push(Counter::open(kind, Mode::Kernel, scope)?);
        self.user.push(user);
        Ok(())
    }

    fn read(&mut self) -> Result<(Vec<Reading>, Vec<Reading>), Bad> {
        let user = self.user.iter_mut().map(Counter::read).collect::<Result<_, _>>()?;
        let kernel = self.kernel.iter_mut().map(Counter::read).collect::<Result<_, _>>()?;
        Ok((user, kernel))
    }

    fn since(&mut self, before: &(Vec<Reading>, Vec<Reading>)) -> Result<(Reading, Reading), Bad> {
        let now = self.read()?;
        Ok((sum(&self.user, &before.0, &now.0)?, sum(&self.kernel, &before.1, &now.1)?))
    }
}

fn sum(counters: &[Counter], before: &[Reading], now: &[Reading]) -> Result<Reading, Bad> {
    let mut total = Reading::default();
    for ((counter, &from), &to) in counters.iter().zip(before).zip(now) {
        let part = counter.between(from, to)?;
        total.count += part.count;
        total.enabled += part.enabled;
        total.running += part.running;
    }
    Ok(total)
}

#[cfg(test)]
mod tests;
