//! Which CPUs may be used, and pinning threads and processes to them. Which CPU is for whom is the caller's choice.

use std::io;
use std::mem;

/// CPUs that this thread may run on, ascending. In a container this is fewer than the machine has.
pub fn allowed() -> io::Result<Vec<usize>> {
    affinity_of(0)
}

/// CPUs that the thread `tid` may run on (0: this thread).
pub fn affinity_of(tid: i32) -> io::Result<Vec<usize>> {
    let mut set = empty();
    // SAFETY: `set` is a cpu_set_t of the size given, written by the kernel.
    let rc = unsafe { libc::sched_getaffinity(tid, size_of::<libc::cpu_set_t>(), &mut set) };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the index is below CPU_SETSIZE, the set's number of bits.
    let is_in = |cpu: usize| unsafe { libc::CPU_ISSET(cpu, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&cpu| is_in(cpu)).collect())
}

/// Pins the calling thread; threads that it starts later inherit it.
pub fn pin_this_thread(cpus: &[usize]) -> io::Result<()> {
    set_affinity(0, &to_set(cpus)?).map_err(|e| explain(e, "this thread", cpus))
}

/// The kernel's set for a list; an error names a CPU that cannot exist.
pub(super) fn to_set(cpus: &[usize]) -> io::Result<libc::cpu_set_t> {
    let mut set = empty();
    if cpus.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty list of CPUs: name at least one"));
    }
    for &cpu in cpus {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no machine has a CPU {cpu}")));
        }
        // SAFETY: the index was checked against the set's size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    Ok(set)
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: cpu_set_t is an array of integers, for which all zeroes is the empty set.
    unsafe { mem::zeroed() }
}

fn set_affinity(tid: i32, set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: `set` is a cpu_set_t of the size given and only read.
    let rc = unsafe { libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), set) };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn explain(error: io::Error, who: &str, cpus: &[usize]) -> io::Error {
    let allowed = allowed().unwrap_or_default();
    io::Error::new(error.kind(), format!("cannot pin {who} to CPUs {cpus:?}: {error} (allowed here: {allowed:?})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_that_cpu_only() {
        let cpu = *allowed().unwrap().last().unwrap();
        let seen = std::thread::spawn(move || {
            pin_this_thread(&[cpu]).unwrap();
            // SAFETY: takes no argument and only reads.
            (allowed().unwrap(), unsafe { libc::sched_getcpu() })
        });
        assert_eq!(seen.join().unwrap(), (vec![cpu], cpu as i32));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
        let error = std::thread::spawn(|| pin_this_thread(&[1000])).join().unwrap().unwrap_err();
        assert!(error.to_string().contains("allowed here"), "{error}");
        assert!(pin_this_thread(&[]).is_err());
        assert!(pin_this_thread(&[usize::MAX]).is_err());
    }
}
