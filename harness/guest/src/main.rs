//! PID 1 of the emulated machine. Sets the machine up, stops it so that a snapshot can be taken, and in every machine
//! restored from that snapshot takes one job, does it, answers, and ends. Started as any other process it confines itself
//! and becomes the server.

mod cases;
mod distance;
mod machine;
mod ports;
mod run;
mod selftest;

use ports::Ports;
use std::io;
use std::os::unix::fs::PermissionsExt;
use vm_init::MARK_FINISH;
use vm_init::answer::{self, section};
use vm_init::job::{Job, Task};

fn main() {
    if std::process::id() != 1 {
        eprintln!("cannot become the server: {}", cases::become_server());
        std::process::exit(127);
    }
    let sections = work().unwrap_or_else(|e| section(answer::FAULT, e.to_string().as_bytes()));
    if let Ok(ports) = Ports::open() {
        ports.send(&sections);
        ports.send(&section(answer::END, b""));
    }
    selftest::mark::<MARK_FINISH>();
    // Only reached without the counter, which ends the emulator at the mark.
    // SAFETY: nothing is left to be saved.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
}

fn work() -> io::Result<Vec<u8>> {
    machine::set_up()?;
    let (task, gate) = take_job()?;
    match task {
        Task::SelfTest => selftest::run().map(|()| Vec::new()),
        Task::Measure => run::measure(gate),
        Task::Cases => cases::play(false),
        Task::DistantCases => cases::play(true),
    }
}

/// The snapshot is taken inside this function, between stopping the machine and asking for the job.
fn take_job() -> io::Result<(Task, bool)> {
    let symbols = machine::text_symbols()?;
    let ports = Ports::open()?;
    ports.send(&section(answer::SYMBOLS, symbols.as_bytes()));
    ports.send(&section(answer::END, b""));
    drop(symbols);
    ports.stop_machine();
    let bytes = ports.job()?.ok_or_else(|| io::Error::other("the machine was given no job"))?;
    drop(ports);
    let job = Job::decode(&bytes).map_err(io::Error::other)?;
    for file in &job.files {
        machine::create(file.path, file.mode, file.contents)?;
    }
    if job.task != Task::SelfTest {
        // The load generator's own files are for root's eyes.
        std::fs::set_permissions("/job", std::fs::Permissions::from_mode(0o700))?;
    }
    Ok((job.task, job.gate))
}
