//! What a process layer must survive: everything that the cheating corpus calls "the machine".

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

const LONG: Duration = Duration::from_secs(30);

fn sh(script: &str) -> Spawn {
    Spawn::new("/bin/sh").arg("-c").arg(script).env("PATH", "/usr/local/bin:/usr/bin:/bin")
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

/// A pid that a script wrote, once it is there.
fn pid_in(file: &Path) -> i32 {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        if let Some(pid) = fs::read_to_string(file).ok().and_then(|t| t.trim().parse().ok()) {
            return pid;
        }
        assert!(Instant::now() < until, "{} was never written", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_alive(pid: i32) -> bool {
    tree::read(pid).is_some_and(|p| !p.is_zombie())
}

#[test]
fn an_exit_code_and_a_signal_are_told_apart() {
    let code = sh("exit 7").run(LONG, &never()).unwrap();
    assert_eq!((code.ended, code.leftovers), (Ended::Exit(7), 0));
    assert_eq!(sh("true").run(LONG, &never()).unwrap().ended, Ended::Exit(0));
    let signal = sh("kill -SEGV $$").run(LONG, &never()).unwrap();
    assert_eq!(signal.ended, Ended::Signal(libc::SIGSEGV));
}

#[test]
fn a_missing_program_is_an_error_that_names_program_folder_and_path() {
    let error = Spawn::new("no-such-program").env("PATH", "/bin").folder("/").start().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`no-such-program` in /") && text.contains("PATH (/bin)"), "{text}");
}

#[test]
fn the_environment_holds_what_was_named_and_nothing_else() {
    let done = Spawn::new("/usr/bin/env").env("ONLY", "this").inherit(["NO_SUCH_VARIABLE"]).capture(1000);
    let done = done.run(LONG, &never()).unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "ONLY=this\n");
}

#[test]
fn a_command_has_no_input() {
    let none = Spawn::new("/bin/cat").capture(100).run(LONG, &never()).unwrap();
    assert_eq!((none.ended, none.stdout), (Ended::Exit(0), Vec::new()));
}

#[test]
fn a_million_lines_are_cut_and_neither_block_nor_kill_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("logs/build.log");
    let done = sh("seq 1000000; exit 3").log(&log, 10_000).run(LONG, &never()).unwrap();
    assert_eq!(done.ended, Ended::Exit(3));
    assert!(done.output_cut && done.output_error.is_none());
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("1\n2\n3\n"));
    assert!(text.ends_with("[cut: the output exceeds 10000 bytes, the rest is dropped]\n"), "{}", &text[9_900..]);
    assert!(text.len() < 10_200);
}

#[test]
fn stdout_and_stderr_share_the_log_in_order_unless_stdout_is_captured() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    sh("echo a; echo b >&2; echo c").log(&log, 100).run(LONG, &never()).unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "a\nb\nc\n");
    let done = sh("echo a; echo b >&2; echo c").log(&log, 100).capture(3).run(LONG, &never()).unwrap();
    assert_eq!((done.stdout.as_slice(), done.output_cut), (&b"a\nc"[..], true));
    assert_eq!(fs::read_to_string(&log).unwrap(), "b\n");
}

#[test]
fn a_full_disk_under_the_log_is_told_and_does_not_block_the_command() {
    let done = sh("seq 200000").log("/dev/full", 1 << 30).run(LONG, &never()).unwrap();
    assert_eq!(done.ended, Ended::Exit(0));
    assert!(done.output_error.unwrap().contains("No space left"));
}

#[test]
fn time_over_ends_even_what_ignores_term() {
    let begin = Instant::now();
    let done = sh("trap '' TERM; while :; do sleep 1; done").grace(Duration::from_millis(200));
    let done = done.run(Duration::from_millis(300), &never()).unwrap();
    assert_eq!(done.ended, Ended::TimedOut);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(done.duration >= Duration::from_millis(450));
}

#[test]
fn term_comes_first_so_that_a_server_can_say_goodbye() {
    let folder = tempfile::tempdir().unwrap();
    let (ready, bye) = (folder.path().join("ready"), folder.path().join("bye"));
    let script = format!(
        "trap 'echo bye > {}; exit 0' TERM; echo $$ > {}; while :; do sleep 0.05; done",
        bye.display(),
        ready.display()
    );
    let mut server = sh(&script).start().unwrap();
    assert_eq!(pid_in(&ready), server.pid().unwrap());
    assert!(server.ended().is_none());
    assert_eq!(server.stop().ended, Ended::Stopped);
    assert_eq!(fs::read_to_string(bye).unwrap(), "bye\n");
}

#[test]
fn the_stop_flag_is_seen_within_a_tenth_of_a_second() {
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    let set = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        setter.store(true, Ordering::SeqCst);
        Instant::now()
    });
    let done = Spawn::new("/bin/sleep").arg("30").run(LONG, &stop).unwrap();
    let late = set.join().unwrap().elapsed();
    assert_eq!(done.ended, Ended::Interrupted);
    assert!(late < Duration::from_millis(150), "{late:?}");
}

#[test]
fn background_children_die_with_the_command_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let done = sh(&format!("sleep 300 & echo $! > {}; exit 0", file.display())).run(LONG, &never()).unwrap();
    assert_eq!((done.ended, done.leftovers), (Ended::Exit(0), 1));
    assert!(!is_alive(pid_in(&file)));
}

#[test]
fn a_double_fork_with_setsid_and_an_empty_environment_does_not_escape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "(setsid env -i /bin/sh -c 'trap \"\" TERM HUP; echo $$ > {0}; while :; do /bin/sleep 1; done' >/dev/null 2>&1 &)
         while [ ! -s {0} ]; do sleep 0.01; done; sleep 300",
        file.display()
    );
    let server = sh(&script).grace(Duration::from_millis(100)).start().unwrap();
    let escapee = pid_in(&file);
    assert!(is_alive(escapee));
    assert_ne!(tree::read(escapee).unwrap().session, server.pid().unwrap(), "it did leave the session");
    assert!(server.tree().iter().any(|p| p.pid == escapee), "but not the tree");
    server.stop();
    assert!(!is_alive(escapee));
}

#[test]
fn dropping_the_handle_ends_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let server = sh(&format!("sleep 300 & echo $! > {}; wait", file.display())).start().unwrap();
    let (child, server_pid) = (pid_in(&file), server.pid().unwrap());
    drop(server);
    assert!(!is_alive(child) && !is_alive(server_pid));
}

#[test]
fn a_killed_warden_is_told_and_its_tree_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "(setsid env -i /bin/sh -c 'echo $$ > {0}; exec /bin/sleep 300' >/dev/null 2>&1 &)
         while [ ! -s {0} ]; do sleep 0.01; done; kill -KILL $PPID; sleep 300",
        file.display()
    );
    let done = sh(&script).run(LONG, &never()).unwrap();
    assert_eq!(done.ended, Ended::WardenLost);
    assert!(!is_alive(pid_in(&file)));
}

#[test]
fn when_the_harness_is_killed_nothing_of_its_tree_survives() {
    const ROLE: &str = "HARNESS_TEST_PLAYS_THE_HARNESS";
    const THIS: &str = "os::process::tests::when_the_harness_is_killed_nothing_of_its_tree_survives";
    if let Some(file) = std::env::var_os(ROLE) {
        let file = Path::new(&file).display().to_string();
        let script = format!("setsid /bin/sleep 300 & echo $! > {file}; wait");
        let _server = sh(&script).start();
        thread::sleep(LONG);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    // A second run of this very test plays the harness and is killed with -9.
    let mut harness = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", THIS])
        .env(ROLE, &file)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let victim = pid_in(&file);
    assert!(is_alive(victim));
    harness.kill().unwrap();
    harness.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(3);
    while is_alive(victim) {
        assert!(Instant::now() < until, "the server's child outlived the harness");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_fork_bomb_is_stopped_by_the_limit_on_processes() {
    let limits = Limits { processes: Some(40), ..Limits::default() };
    let bomb = sh("bomb() { while :; do sleep 300 & done; }; bomb").limits(limits);
    let done = bomb.run(LONG, &never()).unwrap();
    // Root is exempt from RLIMIT_NPROC and ends here; another user's fork may fail first, which ends the shell.
    assert!(
        matches!(done.ended, Ended::TooManyProcesses(n) if n > 40) || matches!(done.ended, Ended::Exit(_)),
        "{done:?}"
    );
    assert!(done.duration < Duration::from_secs(10));
}

#[test]
fn memory_beyond_the_limit_ends_the_tree_or_fails_the_allocation() {
    let eat = "x=a; while :; do x=$x$x; done";
    let tree = Limits { memory: Some(100 << 20), ..Limits::default() };
    let done = sh(eat).limits(tree).run(LONG, &never()).unwrap();
    assert!(matches!(done.ended, Ended::TooMuchMemory(n) if n > 100 << 20), "{done:?}");
    let each = Limits { address_space: Some(100 << 20), ..Limits::default() };
    let done = sh(eat).limits(each).run(LONG, &never()).unwrap();
    assert!(done.ended != Ended::Exit(0) && done.ended != Ended::TimedOut, "{done:?}");
}

#[test]
fn a_file_beyond_the_limit_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big");
    let limits = Limits { file_size: Some(100_000), ..Limits::default() };
    let done = Spawn::new("/bin/sh")
        .arg("-c")
        .arg(format!("exec /bin/dd if=/dev/zero of={} bs=1k count=1000", file.display()));
    let done = done.limits(limits).run(LONG, &never()).unwrap();
    assert_eq!(done.ended, Ended::Signal(libc::SIGXFSZ));
    assert_eq!(fs::metadata(file).unwrap().len(), 100_000);
}

#[test]
fn a_command_runs_on_the_cpus_it_was_given() {
    let cpu = *crate::os::pin::allowed().unwrap().last().unwrap();
    let server = Spawn::new("/bin/sleep").arg("300").cpus(&[cpu]).start().unwrap();
    assert_eq!(crate::os::pin::affinity_of(server.pid().unwrap()).unwrap(), vec![cpu]);
    assert_eq!(server.stop().ended, Ended::Stopped);
}

#[test]
fn many_at_once_do_not_hold_each_other_open() {
    let begin = Instant::now();
    let sleeper = Spawn::new("/bin/sleep").arg("20").start().unwrap();
    let threads: Vec<_> =
        (0..8).map(|_| thread::spawn(|| sh("echo x").capture(10).run(LONG, &never()).unwrap())).collect();
    for t in threads {
        let done = t.join().unwrap();
        assert_eq!((done.ended, done.stdout.as_slice()), (Ended::Exit(0), &b"x\n"[..]));
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(sleeper);
}
