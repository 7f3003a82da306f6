//! The warden: a forked copy of the harness that does nothing but end a tree of processes. It runs between fork and
//! exec of a process that had many threads, so it allocates nothing, locks nothing and cannot panic: only system calls
//! and arrays on its stack. The harness's side of the conversation is in `running`.

use std::ffi::CStr;
use std::mem;

/// Harness to warden: end it all, KILL after this many milliseconds. The only message in that direction.
pub(super) type Stop = [u8; 4];
/// Warden to harness: kind, value, number of killed left-overs (three little-endian i32).
pub(super) type Report = [u8; 12];
/// The command's pid is `value`.
pub(super) const STARTED: i32 = 1;
/// The command ended with wait status `value`, and everything beneath it is gone.
pub(super) const ENDED: i32 = 2;

/// Blocks every signal: the warden must outlive a Ctrl-C in its terminal, and reads SIGCHLD as data.
pub(super) fn block_signals(mask: &mut libc::sigset_t) {
    // SAFETY: both sets are ours and outlive the calls; a thread's mask may always be changed.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, mask);
    }
}

/// Puts back what [`block_signals`] saved.
pub(super) fn unblock_signals(mask: &libc::sigset_t) {
    // SAFETY: `mask` was filled by sigprocmask.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Watches over `child` until it and all its descendants are dead, reports and exits. Never returns.
///
/// # Safety
/// Only in a freshly forked, single-threaded copy that is `child`'s parent and a subreaper with all signals blocked,
/// and that owns `control`.
pub(super) unsafe fn keep(child: libc::pid_t, control: libc::c_int) -> ! {
    close_all_but(control);
    report(control, STARTED, child, 0);
    let signals = child_signals();
    let mut state = Watch { child, status: 0, ended: false, killed: 0 };
    let mut kill_at: Option<i64> = None;
    loop {
        if !state.reap() || state.ended {
            break;
        }
        let wait = match kill_at {
            None => -1,
            Some(at) => (at - now_ms()).clamp(0, 60_000) as libc::c_int,
        };
        if kill_at.is_some() && wait == 0 {
            break;
        }
        match wait_for(control, signals, wait) {
            Woken::Nothing => {}
            Woken::HarnessGone => break,
            Woken::Stop(grace) => {
                state.signal_all(libc::SIGTERM);
                kill_at = Some(now_ms() + i64::from(grace));
            }
        }
    }
    state.kill_all();
    report(control, ENDED, state.status, state.killed);
    // SAFETY: leaves at once; destructors belong to the harness, of which this is a copy.
    unsafe { libc::_exit(0) }
}

struct Watch {
    child: libc::pid_t,
    status: i32,
    ended: bool,
    killed: i32,
}

impl Watch {
    /// Reaps all that are dead. False when no process is left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
                0 => return true,
                pid if pid > 0 => self.note(pid, status),
                _ => return false,
            }
        }
    }

    fn note(&mut self, pid: libc::pid_t, status: i32) {
        if pid == self.child {
            self.status = status;
            self.ended = true;
        } else if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
            self.killed += 1;
        }
    }

    /// To the command's group and to every process that was orphaned to the warden.
    fn signal_all(&self, signal: libc::c_int) {
        if !self.ended {
            // SAFETY: the group is the unreaped child's, so its id cannot belong to anybody else.
            unsafe { libc::kill(-self.child, signal) };
        }
        each_child(|pid| {
            // SAFETY: an unreaped child of ours: its pid cannot have been given away.
            unsafe { libc::kill(pid, signal) };
        });
    }

    /// Kills children until there are none. The children of what dies become ours, so each round goes one level down,
    /// whatever sessions and groups they made for themselves.
    fn kill_all(&mut self) {
        while self.reap() {
            self.signal_all(libc::SIGKILL);
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            let pid = unsafe { libc::waitpid(-1, &mut status, 0) };
            if pid <= 0 {
                break;
            }
            self.note(pid, status);
        }
    }
}

enum Woken {
    Nothing,
    HarnessGone,
    Stop(u32),
}

fn wait_for(control: libc::c_int, signals: libc::c_int, timeout: libc::c_int) -> Woken {
    let mut polls = [
        libc::pollfd { fd: control, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 },
    ];
    // Without a signalfd (the harness's limit on open files) the children are looked at ten times a second.
    let timeout = if signals < 0 && !(0..100).contains(&timeout) { 100 } else { timeout };
    // SAFETY: two pollfds, which outlive the call.
    unsafe { libc::poll(polls.as_mut_ptr(), 2, timeout) };
    if polls[1].revents != 0 {
        let mut drained = [0u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: the buffer has the size given. What it says does not matter: reap() asks the kernel.
        unsafe { libc::read(signals, drained.as_mut_ptr().cast(), drained.len()) };
    }
    if polls[0].revents == 0 {
        return Woken::Nothing;
    }
    let mut message: Stop = [0; 4];
    // SAFETY: the buffer has the size given.
    let n = unsafe { libc::recv(control, message.as_mut_ptr().cast(), message.len(), libc::MSG_DONTWAIT) };
    match n {
        4 => Woken::Stop(u32::from_le_bytes(message)),
        // The other end was closed: the harness is dead, or has let go.
        0 => Woken::HarnessGone,
        _ => Woken::Nothing,
    }
}

fn report(control: libc::c_int, kind: i32, value: i32, killed: i32) {
    let mut message: Report = [0; 12];
    let parts = [kind, value, killed];
    for (to, part) in message.chunks_exact_mut(4).zip(parts) {
        to.copy_from_slice(&part.to_le_bytes());
    }
    // SAFETY: the buffer has the size given; without a harness there is nobody to tell, hence no SIGPIPE and no check.
    unsafe { libc::send(control, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
}

/// Pipes that the harness opened for others must not stay open in its copy: they would never end for their readers.
fn close_all_but(keep: libc::c_int) {
    let close = |first: u32, last: u32| {
        // SAFETY: closing descriptors of this copy, which uses none of them.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }
    };
    let keep = keep as u32;
    if (keep == 0 || close(0, keep - 1) == 0) && close(keep + 1, u32::MAX) == 0 {
        return;
    }
    // Before Linux 5.9.
    for fd in (0..65_536).filter(|&fd| fd != keep as libc::c_int) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

fn child_signals() -> libc::c_int {
    // SAFETY: the set is ours; signalfd reads it.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
    }
}

fn now_ms() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Calls `f` with each process whose parent is this one, from `/proc`, through a buffer on the stack.
fn each_child(mut f: impl FnMut(libc::pid_t)) {
    // SAFETY: takes nothing and cannot fail.
    let me = unsafe { libc::getpid() };
    // SAFETY: a constant, terminated string.
    let folder = unsafe { libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    if folder < 0 {
        return;
    }
    let mut entries = [0u8; 8192];
    loop {
        // SAFETY: the buffer has the size given.
        let n = unsafe { libc::syscall(libc::SYS_getdents64, folder, entries.as_mut_ptr(), entries.len()) };
        if n <= 0 {
            break;
        }
        let mut rest = entries.get(..n as usize).unwrap_or(&[]);
        // struct linux_dirent64: inode 8, offset 8, record length 2, type 1, name.
        while let Some(&[low, high]) = rest.get(16..18) {
            let length = usize::from(u16::from_le_bytes([low, high]));
            let name = rest.get(19..length).unwrap_or(&[]);
            if let Some(pid) = number(name)
                && parent_of(folder, pid) == Some(me)
            {
                f(pid);
            }
            rest = rest.get(length.max(1)..).unwrap_or(&[]);
        }
    }
    // SAFETY: opened above.
    unsafe { libc::close(folder) };
}

/// A name of digits only, up to its terminating zero.
fn number(name: &[u8]) -> Option<libc::pid_t> {
    let mut value: libc::pid_t = 0;
    let mut any = false;
    for &c in name.iter().take_while(|&&c| c != 0) {
        if !c.is_ascii_digit() {
            return None;
        }
        any = true;
        value = value.wrapping_mul(10).wrapping_add(libc::pid_t::from(c - b'0'));
    }
    any.then_some(value)
}

/// Field 4 of `/proc/PID/stat`, counted from the last bracket because the name may hold anything.
fn parent_of(folder: libc::c_int, pid: libc::pid_t) -> Option<libc::pid_t> {
    let mut path = [0u8; 24];
    let mut digits = [0u8; 12];
    let mut left = pid;
    let mut first = digits.len();
    while left > 0 {
        first -= 1;
        *digits.get_mut(first)? = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let name = digits.get(first..)?;
    path.get_mut(..name.len())?.copy_from_slice(name);
    path.get_mut(name.len()..name.len() + 6)?.copy_from_slice(b"/stat\0");
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let mut text = [0u8; 512];
    // SAFETY: a terminated string, a buffer of the size given, and a descriptor opened here.
    let n = unsafe {
        let fd = libc::openat(folder, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let n = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        n
    };
    let text = text.get(..usize::try_from(n).ok()?)?;
    let bracket = text.iter().rposition(|&c| c == b')')?;
    // ") S 123 ...": one letter of state between two spaces.
    let parent = text.get(bracket + 4..)?;
    let end = parent.iter().position(|&c| c == b' ')?;
    number(parent.get(..end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_without_the_heap() {
        // SAFETY: a constant, terminated string.
        let folder = unsafe { libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
        let parent = parent_of(folder, std::process::id() as i32);
        assert_eq!(parent, Some(std::os::unix::process::parent_id() as i32));
        assert_eq!(parent_of(folder, i32::MAX), None);
        // SAFETY: opened above.
        unsafe { libc::close(folder) };
    }

    #[test]
    fn only_names_of_digits_are_processes() {
        assert_eq!(number(b"123\0\0\0"), Some(123));
        assert_eq!(number(b"self\0"), None);
        assert_eq!(number(b"\0"), None);
        assert_eq!(number(b"12a"), None);
    }
}
