//! From a [`Spawn`] to a [`Running`]: pipes, fork, warden, limits, exec. Waiting and ending are in `running`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::{fs, mem};

use super::log::{Pump, Sink};
use super::running::{self, Running};
use super::{Spawn, StartError, limits, warden};
use crate::os::pin;

pub(super) fn start(spawn: &Spawn) -> Result<Running, StartError> {
    let program = spawn.program.to_string_lossy().into_owned();
    let during = |what: &str| {
        let (program, what) = (program.clone(), what.to_owned());
        move |source| StartError::Preparation { program, what, source }
    };
    adopt_orphans();
    let (ours, theirs) = socket_pair().map_err(during("opening a socket pair"))?;
    let mut command = Command::new(&spawn.program);
    command.args(&spawn.args).env_clear().envs(spawn.env.iter().map(|(k, v)| (k, v)));
    command.stdin(Stdio::null());
    if let Some(folder) = &spawn.folder {
        command.current_dir(folder);
    }

    let mut pumps = Vec::new();
    let mut errors = Stdio::null();
    command.stdout(Stdio::null());
    if let Some((path, limit)) = &spawn.log {
        let what = format!("creating its log {}", path.display());
        let file = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(path));
        let file = file.map_err(during(&what))?;
        let (reader, writer) = pipe().map_err(during("opening a pipe"))?;
        command.stdout(writer.try_clone().map_err(during("copying a pipe"))?);
        errors = writer.into();
        pumps.push(Pump::start(reader, Sink::File(file, *limit)).map_err(during("starting the log thread"))?);
    }
    let captured = if let Some(limit) = spawn.capture {
        let (reader, writer) = pipe().map_err(during("opening a pipe"))?;
        command.stdout(writer);
        Some(Pump::start(reader, Sink::Memory(limit)).map_err(during("starting the output thread"))?)
    } else {
        None
    };
    command.stderr(errors);

    let calls = spawn.limits.calls();
    let cpus = match spawn.cpus.as_slice() {
        [] => None,
        cpus => Some(pin::to_set(cpus).map_err(during("choosing its CPUs"))?),
    };
    let control = theirs.as_raw_fd();
    // SAFETY: the closure allocates nothing and makes only system calls, in the one thread that the fork left.
    unsafe { command.pre_exec(move || divide(control, &calls, cpus.as_ref())) };
    let started = running::registered(|| command.spawn());
    // The pipes' writing ends live in `command`: while it lives, the readers would wait for it.
    drop(command);
    drop(theirs);
    let warden = started.map_err(|source| StartError::Program {
        program: program.clone(),
        folder: spawn.folder.as_ref().map_or_else(|| "this folder".into(), |f| f.display().to_string()),
        path: spawn
            .env
            .iter()
            .find(|(k, _)| k == "PATH")
            .map_or_else(|| "not set".into(), |(_, v)| v.to_string_lossy().into_owned()),
        source,
    })?;
    let log = pumps.pop();
    Ok(Running::new(warden, ours, log, captured, spawn.limits.clone(), spawn.grace))
}

/// In the forked child: it becomes the warden; a second fork becomes the command and returns to be exec'ed.
fn divide(control: i32, calls: &[(u32, u64)], cpus: Option<&libc::cpu_set_t>) -> io::Result<()> {
    // SAFETY: system calls with constants only.
    unsafe {
        // Its own session, so that a terminal's Ctrl-C and Ctrl-Z are the harness's to handle.
        libc::setsid();
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_NAME, c"harness-warden".as_ptr());
    }
    // SAFETY: an all-zero set is a valid value to be overwritten.
    let mut mask: libc::sigset_t = unsafe { mem::zeroed() };
    warden::block_signals(&mut mask);
    // SAFETY: takes nothing and cannot fail.
    let warden = unsafe { libc::getpid() };
    // SAFETY: this copy has one thread; both sides go on with system calls only.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_command(warden, &mask, calls, cpus),
        // SAFETY: freshly forked, the child's parent, subreaper, signals blocked, owner of its copy of `control`.
        child => unsafe { warden::keep(child, control) },
    }
}

fn become_command(
    warden: libc::pid_t,
    mask: &libc::sigset_t,
    calls: &[(u32, u64)],
    cpus: Option<&libc::cpu_set_t>,
) -> io::Result<()> {
    // SAFETY: system calls with constants only.
    unsafe {
        // Should somebody kill the warden, this one dies with it and its children fall to the harness.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != warden {
            libc::_exit(1);
        }
        libc::setsid();
    }
    if let Some(cpus) = cpus {
        // SAFETY: the set is of the size given and only read.
        if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    for &(which, value) in calls {
        limits::lower(which, value)?;
    }
    warden::unblock_signals(mask);
    Ok(())
}

/// Where a warden was killed, what it kept falls to the harness, not to PID 1: the sweep in `running` finds it there.
fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a system call with constants only. Where it fails, orphans go to PID 1 as they always did.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    });
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for two.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are open and owned by nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are open and owned by nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}
