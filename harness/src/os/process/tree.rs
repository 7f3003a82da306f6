//! Reading `/proc`: who descends from whom, how many threads, how much memory. Kills nothing.

use std::fs;

/// One process as `/proc/PID/stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its parent's id.
    pub parent: i32,
    /// Its session.
    pub session: i32,
    /// One letter: R, S, D, T, Z...
    pub state: u8,
    /// Threads it has.
    pub threads: u64,
    /// Resident memory in bytes.
    pub resident: u64,
    /// CPU it last ran on.
    pub cpu: i32,
    /// Start time in clock ticks since boot: with the pid, an identity that is not reused.
    pub started: u64,
}

impl Process {
    /// A dead process that its parent has not reaped.
    pub fn is_zombie(&self) -> bool {
        self.state == b'Z'
    }
}

/// The process `pid`, if it exists.
pub fn read(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process there is, in no order. One that ends meanwhile is left out.
pub fn all() -> Vec<Process> {
    numbers("/proc").into_iter().filter_map(read).collect()
}

/// All that descend from `root` by their parents (without `root`).
pub fn descendants(root: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = all.iter().filter(|p| p.parent == root).copied().collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|p| p.pid) {
        found.extend(all.iter().filter(|p| p.parent == parent));
        next += 1;
    }
    found
}

/// Ids of the threads of `pid`; empty when it is gone.
pub fn threads(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// Threads that this user has on the machine: RLIMIT_NPROC counts them all together.
pub fn threads_of_user(uid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let owned = |pid: &i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|m| m.uid() == uid);
    numbers("/proc").into_iter().filter(owned).filter_map(read).map(|p| p.threads).sum()
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// The name (second field) may hold spaces and brackets, so fields are counted from the last bracket.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // Field 3 of proc_pid_stat(5) is rest[0].
    let number = |field: usize| rest.get(field - 3)?.parse::<i64>().ok();
    // SAFETY: takes a constant and reads it.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(0) as u64;
    Some(Process {
        pid,
        parent: number(4)? as i32,
        session: number(6)? as i32,
        state: *rest.first()?.as_bytes().first()?,
        threads: number(20)? as u64,
        resident: number(24)?.max(0) as u64 * page,
        cpu: number(39)? as i32,
        started: number(22)? as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_with_its_parent_and_memory() {
        let me = read(std::process::id() as i32).unwrap();
        assert_eq!(me.parent, std::os::unix::process::parent_id() as i32);
        assert!(me.resident > 100_000, "{me:?}");
        assert!(!me.is_zombie());
        assert!(descendants(me.parent).iter().any(|p| p.pid == me.pid));
    }

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let tail = "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 555 1000 2 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0";
        let p = parse(42, &format!("42 (a) b (c) {tail}")).unwrap();
        assert_eq!((p.parent, p.session, p.threads, p.started, p.cpu), (7, 9, 3, 555, 1));
        assert_eq!(parse(42, "42 (x"), None);
        assert_eq!(parse(42, "42 (x) S 7"), None);
    }
}
