//! One counter of the kernel's perf events: open, read, take differences, and say why it cannot be had. What is counted
//! over which window is in the parent module; what a known piece of work must count is in `known`.

use std::fmt;
use std::io;

use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter as Raw};

use crate::os::machine;

/// What is counted. The software kinds exist on every machine and go the same way as the hardware one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "the software kinds carry the tests of this path"))]
pub enum Kind {
    /// Instructions retired, by the CPU's own counter.
    Instructions,
    /// Page faults.
    PageFaults,
    /// Nanoseconds that tasks ran.
    TaskClock,
    /// Times that a task was taken from a CPU.
    ContextSwitches,
}

/// In which mode of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// User only.
    User,
    /// Kernel only.
    Kernel,
    /// Both, in one counter.
    Both,
}

/// Of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything that runs on this CPU.
    Cpu(usize),
    /// One thread, wherever it runs, and all that it starts from now on.
    Thread(i32),
    /// The calling thread.
    ThisThread,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Instructions => "instructions",
            Kind::PageFaults => "page-faults",
            Kind::TaskClock => "task-clock",
            Kind::ContextSwitches => "context-switches",
        })
    }
}

/// Why a counter cannot be had, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum NoCounter {
    /// The machine has none.
    #[error(
        "this machine has no hardware counter for {kind} ({source}): virtual machines often have none. Use the meter \
         `vm`, or a machine (or a virtual machine with a virtual PMU) that has one"
    )]
    Absent {
        /// What was to be counted.
        kind: Kind,
        /// ENOENT, ENODEV or EOPNOTSUPP.
        source: io::Error,
    },
    /// `perf_event_paranoid` forbids it.
    #[error(
        "counting {kind} of {scope:?} in mode {mode:?} is not permitted ({source}): kernel.perf_event_paranoid is \
         {paranoid} and {needed} or less is needed. Run `sudo sysctl kernel.perf_event_paranoid={needed}`, or give the \
         harness CAP_PERFMON"
    )]
    Paranoid {
        /// What was to be counted.
        kind: Kind,
        /// Of whom.
        scope: Scope,
        /// In which mode.
        mode: Mode,
        /// The setting now.
        paranoid: i32,
        /// The setting that would do.
        needed: i32,
        /// EACCES or EPERM.
        source: io::Error,
    },
    /// The setting would permit it, so something else forbids it.
    #[error(
        "perf_event_open is forbidden although kernel.perf_event_paranoid ({paranoid:?}) would allow it ({source}). In a \
         container the seccomp profile does that: allow perf_event_open there, and add the capability PERFMON"
    )]
    Filtered {
        /// The setting now; `None` on a kernel that was built without perf events.
        paranoid: Option<i32>,
        /// EACCES, EPERM or ENOSYS.
        source: io::Error,
    },
    /// The observed thread is gone.
    #[error("thread {0} is gone, so it cannot be counted. Did the server die?")]
    Gone(i32),
    /// The counter exists and counts wrong.
    #[error("the counter does not count right: {0}")]
    Wrong(String),
    /// Anything else.
    #[error("opening a counter for {kind} of {scope:?} in mode {mode:?} failed: {source}")]
    Other {
        /// What was to be counted.
        kind: Kind,
        /// Of whom.
        scope: Scope,
        /// In which mode.
        mode: Mode,
        /// The system's answer.
        source: io::Error,
    },
}

/// Why a difference is not a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// The counter was on the hardware for a part of the time only.
    #[error(
        "{kind} of {scope:?} was counted for {running} of {enabled} ns only: too many counters are in use. Stop other \
         profilers, and `sudo sysctl kernel.nmi_watchdog=0`"
    )]
    Shared {
        /// What was counted.
        kind: Kind,
        /// Of whom.
        scope: Scope,
        /// Time it should have counted, ns.
        enabled: u64,
        /// Time it did, ns.
        running: u64,
    },
    /// A value became smaller.
    #[error("{kind} of {scope:?} went backwards, from {from} to {to}: somebody reset the counter")]
    Backwards {
        /// What was counted.
        kind: Kind,
        /// Of whom.
        scope: Scope,
        /// The earlier value.
        from: u64,
        /// The later value.
        to: u64,
    },
    /// No value could be read.
    #[error("{kind} of {scope:?} could not be read ({why}): the counter was pushed off the hardware")]
    Unreadable {
        /// What was counted.
        kind: Kind,
        /// Of whom.
        scope: Scope,
        /// The system's answer.
        why: String,
    },
}

/// An open counter. It counts from when it was opened and is never reset: only differences of readings mean anything.
#[derive(Debug)]
pub struct Counter {
    raw: Raw,
    kind: Kind,
    scope: Scope,
}

/// A value and the times that say whether to believe it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Events.
    pub count: u64,
    /// Nanoseconds that it should have counted.
    pub enabled: u64,
    /// Nanoseconds that it did.
    pub running: u64,
}

impl Counter {
    /// Opens and starts a counter.
    pub fn open(kind: Kind, mode: Mode, scope: Scope) -> Result<Counter, NoCounter> {
        let event: Event = match kind {
            Kind::Instructions => Hardware::INSTRUCTIONS.into(),
            Kind::PageFaults => Software::PAGE_FAULTS.into(),
            Kind::TaskClock => Software::TASK_CLOCK.into(),
            Kind::ContextSwitches => Software::CONTEXT_SWITCHES.into(),
        };
        let mut builder = Builder::new().kind(event);
        builder = match scope {
            Scope::Cpu(cpu) => builder.any_pid().one_cpu(cpu),
            Scope::Thread(tid) => builder.observe_pid(tid).any_cpu(),
            Scope::ThisThread => builder.observe_self().any_cpu(),
        };
        builder.exclude_user(mode == Mode::Kernel).exclude_kernel(mode == Mode::User).exclude_hv(true);
        // Pinned: on the hardware always, or in error and said so; never silently shared.
        builder.pinned(!matches!(scope, Scope::ThisThread)).inherit(matches!(scope, Scope::Thread(_)));
        let explain = |source| explain(kind, mode, scope, source, machine::perf_event_paranoid());
        let mut raw = builder.build().map_err(explain)?;
        raw.enable().map_err(explain)?;
        Ok(Counter { raw, kind, scope })
    }

    /// The value since the counter was opened.
    pub fn read(&mut self) -> Result<Reading, Bad> {
        let (kind, scope) = (self.kind, self.scope);
        let value = self.raw.read_count_and_time();
        let value = value.map_err(|e| Bad::Unreadable { kind, scope, why: e.to_string() })?;
        Ok(Reading { count: value.count, enabled: value.time_enabled, running: value.time_running })
    }

    /// What happened between two readings of this counter.
    pub fn between(&self, from: Reading, to: Reading) -> Result<Reading, Bad> {
        difference(self.kind, self.scope, from, to)
    }
}

fn difference(kind: Kind, scope: Scope, from: Reading, to: Reading) -> Result<Reading, Bad> {
    for (from, to) in [(from.count, to.count), (from.enabled, to.enabled), (from.running, to.running)] {
        if to < from {
            return Err(Bad::Backwards { kind, scope, from, to });
        }
    }
    let (enabled, running) = (to.enabled - from.enabled, to.running - from.running);
    if enabled != running {
        return Err(Bad::Shared { kind, scope, enabled, running });
    }
    Ok(Reading { count: to.count - from.count, enabled, running })
}

/// From errno to the remedy; `paranoid` is what the kernel is set to.
fn explain(kind: Kind, mode: Mode, scope: Scope, source: io::Error, paranoid: Option<i32>) -> NoCounter {
    let needed = match (scope, mode) {
        (Scope::Cpu(_), _) => 0,
        (_, Mode::User) => 2,
        _ => 1,
    };
    match (source.raw_os_error(), scope) {
        (Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP), _) => NoCounter::Absent { kind, source },
        (Some(libc::EACCES | libc::EPERM), _) => match paranoid {
            Some(paranoid) if paranoid > needed => NoCounter::Paranoid { kind, scope, mode, paranoid, needed, source },
            paranoid => NoCounter::Filtered { paranoid, source },
        },
        (Some(libc::ENOSYS), _) => NoCounter::Filtered { paranoid, source },
        (Some(libc::ESRCH), Scope::Thread(tid)) => NoCounter::Gone(tid),
        _ => NoCounter::Other { kind, scope, mode, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(errno: i32, mode: Mode, scope: Scope, paranoid: Option<i32>) -> String {
        explain(Kind::Instructions, mode, scope, io::Error::from_raw_os_error(errno), paranoid).to_string()
    }

    #[test]
    fn each_refusal_of_the_kernel_names_its_remedy() {
        let absent = why(libc::ENOENT, Mode::User, Scope::ThisThread, Some(2));
        assert!(absent.contains("no hardware counter") && absent.contains("`vm`"), "{absent}");
        let cpu = why(libc::EACCES, Mode::Both, Scope::Cpu(1), Some(2));
        assert!(cpu.contains("perf_event_paranoid is 2") && cpu.contains("paranoid=0"), "{cpu}");
        let kernel = why(libc::EPERM, Mode::Kernel, Scope::Thread(1), Some(4));
        assert!(kernel.contains("paranoid=1"), "{kernel}");
        let container = why(libc::EPERM, Mode::Kernel, Scope::Cpu(1), Some(-1));
        assert!(container.contains("seccomp"), "{container}");
        assert!(why(libc::ENOSYS, Mode::User, Scope::ThisThread, None).contains("seccomp"));
        assert!(why(libc::ESRCH, Mode::User, Scope::Thread(7), Some(0)).contains("thread 7 is gone"));
        assert!(why(libc::EMFILE, Mode::User, Scope::Thread(7), Some(0)).contains("Too many open files"));
    }

    #[test]
    fn a_difference_is_taken_only_where_the_counter_ran_all_the_time() {
        let (kind, scope) = (Kind::Instructions, Scope::Cpu(3));
        let at = |count, enabled, running| Reading { count, enabled, running };
        assert_eq!(difference(kind, scope, at(5, 10, 9), at(25, 110, 109)), Ok(at(20, 100, 100)));
        let shared = difference(kind, scope, at(5, 10, 10), at(25, 110, 100)).unwrap_err();
        assert_eq!(shared, Bad::Shared { kind, scope, enabled: 100, running: 90 });
        assert!(shared.to_string().contains("nmi_watchdog"));
        let back = difference(kind, scope, at(5, 10, 10), at(4, 20, 20)).unwrap_err();
        assert_eq!(back, Bad::Backwards { kind, scope, from: 5, to: 4 });
    }

    #[test]
    fn a_thread_that_does_not_exist_is_told_as_gone() {
        let error = Counter::open(Kind::PageFaults, Mode::User, Scope::Thread(i32::MAX - 1)).unwrap_err();
        assert!(matches!(error, NoCounter::Gone(_)), "{error}");
    }

    #[test]
    fn the_hardware_counter_is_there_or_its_absence_is_explained() {
        match Counter::open(Kind::Instructions, Mode::User, Scope::ThisThread) {
            Ok(mut counter) => assert!(counter.read().unwrap().count > 0),
            Err(NoCounter::Other { source, .. }) => panic!("an errno that nothing explains: {source}"),
            Err(error) => println!("not run on hardware: {error}"),
        }
    }
}
