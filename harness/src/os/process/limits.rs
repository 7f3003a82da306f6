//! Limits of a command: those the kernel keeps for each process, and those that the waiting keeps for the whole tree.

use std::io;

use super::tree;

/// `None` is no limit. Core dumps are always off.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Address space of each process, bytes. An allocation beyond it fails.
    pub address_space: Option<u64>,
    /// Largest file that a process may write, bytes. Beyond it, SIGXFSZ.
    pub file_size: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Processes and threads of the whole tree. Ends with [`super::Ended::TooManyProcesses`]; for users other than
    /// root the kernel refuses the fork too.
    pub processes: Option<u64>,
    /// Resident memory of the whole tree, bytes. Ends with [`super::Ended::TooMuchMemory`].
    pub memory: Option<u64>,
}

impl Limits {
    /// The calls to make in the forked child, worked out before the fork, where memory may still be allocated.
    pub(super) fn calls(&self) -> Vec<(u32, u64)> {
        let processes = self.processes.map(|limit| {
            // SAFETY: takes nothing and cannot fail.
            let uid = unsafe { libc::getuid() };
            tree::threads_of_user(uid).saturating_add(limit)
        });
        let wanted = [
            (libc::RLIMIT_CORE, Some(0)),
            (libc::RLIMIT_AS, self.address_space),
            (libc::RLIMIT_FSIZE, self.file_size),
            (libc::RLIMIT_NOFILE, self.open_files),
            (libc::RLIMIT_NPROC, processes),
        ];
        wanted.into_iter().filter_map(|(which, value)| Some((which, value?))).collect()
    }

    /// True when the waiting has to look at the whole tree.
    pub(super) fn watched(&self) -> bool {
        self.processes.is_some() || self.memory.is_some()
    }
}

/// Lowers soft and hard limit; never raises either, which only root may. Safe between fork and exec.
pub(super) fn lower(which: u32, value: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is written by the kernel and outlives the call.
    if unsafe { libc::getrlimit(which, &mut now) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let value = value.min(now.rlim_max);
    let new = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: `new` is only read.
    if unsafe { libc::setrlimit(which, &new) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
