//! The machine around the server: mounts, the loopback device, which CPU pays for what, and what the server may do.
//!
//! Who pays. CPU 0 belongs to the load generator, CPU 1 to the server. The server's tasks are confined to CPU 1 by a
//! cpuset, which no system call of theirs can leave. Work the kernel puts off (RCU, per-CPU workers) stays on the CPU that
//! caused it, because the kernel is started without `nohz_full` and `rcu_nocbs`.
//!
//! On loopback a packet is received on the CPU that sent it: the server's send would pay for the client's receive, and the
//! client's send for the server's. Receive flow steering (RFS) moves each packet to the CPU where its reader last read, as
//! a network card with its own queues would. A connection's first packet has no reader yet and stays with its sender.
//! Kernel instructions a request for an epoll server, 64 connections, 8 requests deep, waves: 7,904 with RFS; 9,527
//! with the default; 10,656 with all reception on the server's CPU. All three are the same in every run.

use std::fs;
use std::io;
use std::path::Path;

/// CPU of the load generator and of PID 1.
pub const LOAD_CPU: usize = 0;
/// CPU of the server, and of nothing else.
pub const SERVER_CPU: usize = 1;

const CPUSET: &str = "/cgroup/server";
const FLOWS: &str = "32768";

/// Mounts the kernel's file systems, brings up loopback and prepares what the server is confined by.
pub fn set_up() -> io::Result<()> {
    for (kind, at, options) in [
        ("proc", "/proc", ""),
        ("sysfs", "/sys", ""),
        ("devtmpfs", "/dev", ""),
        ("cgroup2", "/cgroup", ""),
        ("tmpfs", "/tmp", "size=32m,mode=1777"),
    ] {
        mount(kind, at, options).map_err(|e| at_path("mount", at, e))?;
    }
    write("/cgroup/cgroup.subtree_control", "+cpuset")?;
    fs::create_dir(CPUSET).map_err(|e| at_path("create", CPUSET, e))?;
    write(&format!("{CPUSET}/cpuset.cpus"), &SERVER_CPU.to_string())?;
    pin(LOAD_CPU)?;
    raise_loopback()?;
    write("/proc/sys/net/core/rps_sock_flow_entries", FLOWS)?;
    write("/sys/class/net/lo/queues/rx-0/rps_flow_cnt", FLOWS)?;
    Ok(())
}

/// Pins this thread, and what it will start, to one CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: `cpu_set_t` is plain bits; the call reads it and changes this thread's affinity only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        check(libc::sched_setaffinity(0, size_of_val(&set), &set))
    }
}

/// What a server process becomes just before it is executed: confined to its CPU, unprivileged, first to die when memory
/// runs out. Unprivileged also means: it cannot stop, read or signal the load generator, nor reach the ports or the counter.
pub fn become_server() -> io::Result<()> {
    const USER: u32 = 1000;
    fs::write("/proc/self/oom_score_adj", "1000")?;
    fs::write(format!("{CPUSET}/cgroup.procs"), "0")?;
    pin(SERVER_CPU)?;
    limit(libc::RLIMIT_NPROC, 256)?;
    limit(libc::RLIMIT_FSIZE, 32 << 20)?;
    limit(libc::RLIMIT_CORE, 0)?;
    become_program()?;
    // SAFETY: these change the credentials of this process only.
    unsafe {
        check(libc::setgroups(0, std::ptr::null()))?;
        check(libc::setresgid(USER, USER, USER))?;
        check(libc::setresuid(USER, USER, USER))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    }
}

/// Limits every program here gets: many sockets, and memory for io_uring to lock.
pub fn become_program() -> io::Result<()> {
    limit(libc::RLIMIT_NOFILE, 65_536)?;
    limit(libc::RLIMIT_MEMLOCK, 64 << 20)
}

/// Kills everything the server started, wherever it put itself.
pub fn kill_server() {
    // Nothing to do where this fails: the machine ends right after.
    let _ = fs::write(format!("{CPUSET}/cgroup.kill"), "1");
}

/// The kernel's text symbols, one `ADDRESS NAME` a line.
pub fn text_symbols() -> io::Result<String> {
    let all = fs::read_to_string("/proc/kallsyms").map_err(|e| at_path("read", "/proc/kallsyms", e))?;
    let mut text = String::with_capacity(all.len());
    for line in all.lines() {
        let mut words = line.split_ascii_whitespace();
        if let (Some(address), Some("t" | "T" | "w" | "W"), Some(name)) = (words.next(), words.next(), words.next()) {
            text.push_str(&format!("{address} {name}\n"));
        }
    }
    Ok(text)
}

/// Writes a file, making the folders above it.
pub fn create(path: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = Path::new(path).parent() {
        fs::create_dir_all(folder).map_err(|e| at_path("create the folder of", path, e))?;
    }
    fs::write(path, contents).map_err(|e| at_path("write", path, e))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn mount(kind: &str, at: &str, options: &str) -> io::Result<()> {
    fs::create_dir_all(at)?;
    let c = |text: &str| std::ffi::CString::new(text).expect("no NUL in a constant");
    let (source, target, kind, options) = (c(kind), c(at), c(kind), c(options));
    // SAFETY: four C strings that outlive the call.
    let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
    check(done)
}

fn raise_loopback() -> io::Result<()> {
    // SAFETY: `ifreq` is plain data; the kernel reads its name and flags; the socket is closed again.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        check(socket)?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let raised = check(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request));
        libc::close(socket);
        raised
    }
}

fn limit(what: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: reads `limit`, changes this process's limits only.
    check(unsafe { libc::setrlimit(what, &limit) })
}

fn write(path: &str, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|e| at_path("write", path, e))
}

fn at_path(what: &str, path: &str, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("cannot {what} {path}: {e}"))
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
