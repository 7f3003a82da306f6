//! The whole way of a window, with software events where there is no hardware counter: page faults are exact, and the
//! kernel tells user mode from kernel mode for them as it does for instructions.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::*;
use crate::os::process::{Running, Spawn};

/// A meter, or why this user may not have it (then the test says so and ends).
fn meter(kind: Kind, cpu: usize) -> Option<PerfMeter> {
    match PerfMeter::with(kind, cpu) {
        Ok(meter) => Some(meter),
        Err(error @ (NoCounter::Paranoid { .. } | NoCounter::Filtered { .. } | NoCounter::Absent { .. })) => {
            println!("not run: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn last_cpu() -> usize {
    *pin::allowed().unwrap().last().unwrap()
}

/// A shell that forks `/bin/true` a number of times each time `go` appears, and then writes `done`.
fn worker(folder: &Path, cpus: &[usize]) -> Running {
    let script = "while :; do
        if [ -e go ]; then rm go; n=0; while [ $n -lt 50 ]; do /bin/true; n=$((n+1)); done; touch done; fi
        /bin/sleep 0.01
    done";
    let shell = Spawn::new("/bin/sh").arg("-c").arg(script).env("PATH", "/usr/bin:/bin").folder(folder).cpus(cpus);
    shell.start().unwrap()
}

fn work(folder: &Path) {
    std::fs::write(folder.join("go"), "").unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !folder.join("done").exists() {
        assert!(Instant::now() < until, "the worker did nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(folder.join("done")).unwrap();
}

#[test]
fn a_window_counts_the_servers_children_and_leaves_out_what_came_before() {
    let cpu = last_cpu();
    let Some(meter) = meter(Kind::PageFaults, cpu) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut running = worker(folder.path(), &[cpu]);
    work(folder.path());
    let server = Server { cpus: vec![cpu], pid: running.pid().unwrap() };
    let (busy, ()) = meter.window(&server, || work(folder.path())).unwrap();
    let (idle, answer) = meter.window(&server, || 42).unwrap();
    assert!(running.ended().is_none());
    assert_eq!(answer, 42);
    // 50 programs, each with dozens of faults of its own.
    assert!(busy.task_user > 50 * 20, "{busy:?}");
    assert!(idle.task_user < busy.task_user / 10, "{idle:?}");
    assert!(busy.user + 50 >= busy.task_user, "what its threads count is on its CPU: {busy:?}");
    assert!(busy.enabled == busy.running && busy.enabled > 0, "{busy:?}");
}

#[test]
fn a_stranger_on_the_servers_cpu_counts_for_the_cpu_and_not_for_the_server() {
    let cpu = last_cpu();
    let Some(meter) = meter(Kind::PageFaults, cpu) else { return };
    let (quiet, busy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (idler, _stranger) = (worker(quiet.path(), &[cpu]), worker(busy.path(), &[cpu]));
    let server = Server { cpus: vec![cpu], pid: idler.pid().unwrap() };
    let (window, ()) = meter.window(&server, || work(busy.path())).unwrap();
    assert!(window.user > window.task_user + 50 * 20, "{window:?}");
}

#[test]
fn a_server_that_dies_in_the_window_or_before_is_no_panic() {
    let cpu = last_cpu();
    let Some(meter) = meter(Kind::PageFaults, cpu) else { return };
    let done = Spawn::new("/bin/sleep").arg("0.2").start().unwrap();
    let server = Server { cpus: vec![cpu], pid: done.pid().unwrap() };
    let (window, _) = meter.window(&server, || done.wait(Duration::from_secs(5), &AtomicBool::new(false))).unwrap();
    assert!(window.task_user < 1_000, "{window:?}");
    assert!(matches!(meter.window(&server, || ()), Err(NoWindow::NoCounter(NoCounter::Gone(_)))));
}

#[test]
fn cpu_and_threads_must_agree_in_user_mode() {
    assert_eq!(doubts(50_000_000, 50_000_000), []);
    assert_eq!(doubts(50_000_000, 49_960_000), []);
    assert_eq!(doubts(50_000_000, 49_000_000), [Doubt::Foreign { events: 1_000_000 }]);
    assert_eq!(doubts(40_000_000, 50_000_000), [Doubt::Elsewhere { events: 10_000_000 }]);
    assert_eq!(doubts(0, 0), []);
    assert_eq!(doubts(0, 20_000), [Doubt::Elsewhere { events: 20_000 }]);
}

#[test]
fn probing_gives_a_meter_or_the_reason_why_there_is_none() {
    match PerfMeter::probe() {
        Ok(meter) => {
            let cpu = last_cpu();
            let sleep = Spawn::new("/bin/sleep").arg("30").cpus(&[cpu]).start().unwrap();
            let server = Server { cpus: vec![cpu], pid: sleep.pid().unwrap() };
            let (window, ()) = meter.window(&server, || std::thread::sleep(Duration::from_millis(50))).unwrap();
            assert!(window.kernel > 0, "{window:?}");
        }
        Err(error @ (NoCounter::Wrong(_) | NoCounter::Other { .. })) => panic!("{error}"),
        Err(error) => println!("not run on hardware: {error}"),
    }
}
