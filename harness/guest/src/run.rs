//! One measurement: start the server, wait until it listens, run the load generator, say how both fared.
//!
//! Waiting is for signals, never by looking again and again, except for the port: nothing tells when a port is listened
//! on, and connecting to find out would be the server's first request.

use crate::machine;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use vm_init::answer::{self, section};
use vm_init::{DATA_DIR, LOADGEN_PATH, PLAN_PATH, SERVER_PATH, SERVER_PORT};

/// Guest time a server may take to listen. Guest time is instructions: one a nanosecond.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Guest time between two looks at the port.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Guest time the load may take.
const LOAD_LIMIT: Duration = Duration::from_secs(30);
/// How much of the server's output is kept.
const OUTPUT_LIMIT: usize = 16 << 10;
const REPORT: &str = "/job/report";
const ERRORS: &str = "/job/errors";

/// Runs server and load generator; the sections of the answer.
pub fn measure(gate: bool) -> io::Result<Vec<u8>> {
    let children = ChildSignal::block()?;
    let mut server = match start_server() {
        Ok(server) => server,
        Err(e) => {
            return Ok(section(answer::SERVER, format!("unstartable {e}").as_bytes()));
        }
    };
    let output = Output::keep(&mut server)?;
    let id = server.id();
    let mut sections = Vec::new();
    let mut fate = wait_until_listening(&mut server, &children)?;
    if fate.is_none() {
        settle();
        let (ended, load) = load(id, gate, &children)?;
        fate = server.try_wait()?.map(ended_how);
        sections.extend(section(answer::LOAD, ended.as_bytes()));
        sections.extend(load);
        let files =
            [(answer::SERVER_STATUS, "status"), (answer::SERVER_MEMORY, "smaps_rollup"), (answer::SERVER_MAPS, "maps")];
        for (name, file) in files {
            // A server that is gone has none of these; its fate says so.
            sections.extend(section(name, &fs::read(format!("/proc/{id}/{file}")).unwrap_or_default()));
        }
    }
    machine::kill_server();
    sections.extend(section(answer::SERVER, fate.as_deref().unwrap_or("running").as_bytes()));
    sections.extend(section(answer::SERVER_OUTPUT, &output.take()));
    Ok(sections)
}

fn start_server() -> io::Result<Child> {
    let (out, into) = io::pipe()?;
    let mut command = Command::new(SERVER_PATH);
    command.arg0("candidate").args(["--data", DATA_DIR, "--port", &SERVER_PORT.to_string()]);
    command.env_clear().current_dir("/").stdin(Stdio::null()).stdout(into.try_clone()?).stderr(into);
    // SAFETY: runs in the child between fork and exec, where PID 1 has no other thread yet; it only makes system calls.
    unsafe { command.pre_exec(machine::become_server) };
    let mut child = command.spawn()?;
    drop(command);
    // Both streams come through one pipe, in the order they were written; std gives it no place, so it travels as stdout.
    child.stdout = Some(std::os::fd::OwnedFd::from(out).into());
    Ok(child)
}

/// The server's output, read for as long as there is any, so that the server never blocks on it; the first of it is kept.
struct Output {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Output {
    fn keep(server: &mut Child) -> io::Result<Output> {
        let mut stream = server.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        let (kept, (tell_end, ended)) = (Arc::new(Mutex::new(Vec::new())), channel());
        let keep = Arc::clone(&kept);
        std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                let mut kept = keep.lock().expect("nobody panics with it");
                let room = OUTPUT_LIMIT.saturating_sub(kept.len());
                kept.extend_from_slice(&chunk[..n.min(room)]);
            }
            // Nobody listening is fine: the answer has then been sent without the rest.
            let _ = tell_end.send(());
        })?;
        Ok(Output { kept, ended })
    }

    /// All of it, once everything that can write to it has been killed; bounded, in case something survives.
    fn take(self) -> Vec<u8> {
        let _ = self.ended.recv_timeout(Duration::from_secs(1));
        std::mem::take(&mut *self.kept.lock().expect("the reader does not panic"))
    }
}

/// `None` once the server listens, else how it failed to.
fn wait_until_listening(server: &mut Child, children: &ChildSignal) -> io::Result<Option<String>> {
    for _ in 0..START_LIMIT.as_millis() / LOOK_EVERY.as_millis() {
        if listens()? {
            return Ok(None);
        }
        children.wait(LOOK_EVERY);
        if let Some(status) = server.try_wait()? {
            return Ok(Some(ended_how(status)));
        }
    }
    Ok(Some("silent".into()))
}

/// Whether anything listens on the server's port, over IPv4 or IPv6.
fn listens() -> io::Result<bool> {
    let wanted = format!(":{SERVER_PORT:04X}");
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = match fs::read_to_string(table) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        let listening = |line: &str| {
            let mut words = line.split_ascii_whitespace().skip(1);
            words.next().is_some_and(|local| local.ends_with(&wanted)) && words.nth(1) == Some("0A")
        };
        if text.lines().any(listening) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets what starting the server left behind finish, then goes on at a whole second of guest time: how long a server
/// took to start must not decide where the clock's ticks fall in the window.
fn settle() {
    let now = guest_time();
    let whole = Duration::from_secs(now.as_secs() + 1 + u64::from(now.subsec_millis() > 500));
    std::thread::sleep(whole - now);
}

fn guest_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Drives the plan: how the load generator ended, and the sections with what it said.
fn load(server: u32, gate: bool, children: &ChildSignal) -> io::Result<(String, Vec<u8>)> {
    let id = server.to_string();
    let mut command = Command::new(LOADGEN_PATH);
    command.args(["drive", "--plan", PLAN_PATH, "--addr", &format!("127.0.0.1:{SERVER_PORT}"), "--marks", "--json"]);
    command.args(["--server-pid", &id]);
    if gate {
        command.args(["--gate", &id]);
    }
    output_of(command, LOAD_LIMIT, children)
}

/// Runs the load generator with these arguments: how it ended, and the sections with what it said.
pub fn output_of(mut command: Command, limit: Duration, children: &ChildSignal) -> io::Result<(String, Vec<u8>)> {
    command.env_clear().stdin(Stdio::null()).stdout(File::create(REPORT)?).stderr(File::create(ERRORS)?);
    // SAFETY: runs in the child between fork and exec and only makes system calls.
    unsafe { command.pre_exec(machine::become_program) };
    let ended = match command.spawn() {
        Ok(mut load) => wait_for(&mut load, limit, children)?,
        Err(e) => format!("unstartable {e}"),
    };
    let mut sections = section(answer::LOAD_REPORT, &fs::read(REPORT)?);
    sections.extend(section(answer::LOAD_ERRORS, &fs::read(ERRORS)?));
    Ok((ended, sections))
}

fn wait_for(load: &mut Child, limit: Duration, children: &ChildSignal) -> io::Result<String> {
    let end = guest_time() + limit;
    loop {
        if let Some(status) = load.try_wait()? {
            return Ok(ended_how(status));
        }
        let left = end.saturating_sub(guest_time());
        if left.is_zero() {
            load.kill()?;
            load.wait()?;
            return Ok("overtime".into());
        }
        children.wait(left);
    }
}

fn ended_how(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited {code}"),
        (None, signal) => format!("killed {}", signal.unwrap_or(0)),
    }
}

/// The signal that a child has ended, blocked so that it can be waited for.
pub struct ChildSignal(libc::sigset_t);

impl ChildSignal {
    pub fn block() -> io::Result<ChildSignal> {
        // SAFETY: plain data filled by the calls that own it. Stopping and continuing a child (the gate does both, for
        // every wave) must not signal us: that would be work on the server's CPU that no request asked for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_NOCLDSTOP;
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGCHLD);
            if libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut()) != 0
                || libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0
            {
                return Err(io::Error::last_os_error());
            }
            Ok(ChildSignal(set))
        }
    }

    /// Waits for it, at most `limit`. Returning early is harmless: callers look at what they wait for.
    fn wait(&self, limit: Duration) {
        let limit = libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        // SAFETY: reads the set and the limit.
        unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &limit) };
    }
}
