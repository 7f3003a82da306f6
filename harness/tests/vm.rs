//! The emulated meter end to end: boots the machine, so it needs QEMU and a kernel in the cache or the network once.
//! Servers and load generator are the two small programs beside this file. Everything here is exact: no tolerance hides.

// The meter is taken by path because the harness is a program, not a library; what the tests do not call is not dead.
#![allow(dead_code)]

#[path = "../src/real/measure/fault.rs"]
mod fault;
#[path = "../src/judge/mod.rs"]
mod judge;
#[path = "../src/real/measure/tree_hash.rs"]
mod tree_hash;
#[path = "../src/real/measure/vm/mod.rs"]
mod vm;

use fault::Fault;
use judge::sample::{Counted, Mode};
use loadgen::model::answer::{Tail, ok_with};
use loadgen::model::token::issued;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vm::{Job, Network, VmMeter};

const REQUESTS: u64 = 60 * 32;

fn prepared_in(cache: &Path) -> VmMeter {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    VmMeter::prepare(root, cache, &mut |line| eprintln!("{line}")).unwrap()
}

fn meter_in(cache: &Path) -> VmMeter {
    prepared_in(cache).with_loadgen(&program("load", "")).with_limit(Duration::from_secs(300))
}

fn meter() -> &'static VmMeter {
    static METER: OnceLock<VmMeter> = OnceLock::new();
    METER.get_or_init(|| meter_in(&cache()))
}

fn cache() -> PathBuf {
    std::env::var_os("HARNESS_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), PathBuf::from)
}

/// Compiles one of the programs beside this file, as static as the machine needs it.
fn program(name: &str, mode: &str) -> PathBuf {
    program_with(name, mode, Path::new(""))
}

/// The same, with the file of the answer that it is to give.
fn program_with(name: &str, mode: &str, answer: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vm_programs/{name}.rs"));
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{mode}-{:?}", std::thread::current().id()));
    let mut rustc = Command::new("rustc");
    rustc.args(["-O", "--edition", "2024", "-C", "target-feature=+crt-static", "--target", "x86_64-unknown-linux-gnu"]);
    rustc.arg("-o").arg(&built).arg(source).env("MODE", mode).env("ANSWER", answer);
    assert!(rustc.status().unwrap().success());
    built
}

fn measure(meter: &VmMeter, server: &Path) -> Result<Counted, Fault> {
    let job = Job { server, data: &[("users.jsonl".into(), b"{}\n".to_vec())], plan: b"7", seed: 7, gate: true };
    meter.measure(&job, &AtomicBool::new(false))
}

fn invalid(mode: &str) -> String {
    match measure(meter(), &program("server", mode)) {
        Err(Fault::Invalid(why)) => why,
        other => panic!("{mode}: {other:?}"),
    }
}

#[test]
fn the_same_server_counts_the_same_to_the_instruction_even_side_by_side() {
    let server = program("server", "");
    let first = measure(meter(), &server).unwrap();
    assert_eq!(first.sample.load.verified, REQUESTS);
    assert!(first.sample.kernel > REQUESTS * 1_000, "{:?}", first.sample);
    let both = std::thread::scope(|scope| {
        [scope.spawn(|| measure(meter(), &server)), scope.spawn(|| measure(meter(), &server))]
            .map(|t| t.join().unwrap())
    });
    for again in both {
        assert_eq!(again.unwrap(), first);
    }
}

#[test]
fn the_profile_accounts_for_every_instruction_and_names_the_dear_function() {
    let counted = measure(meter(), &program("server", "slower")).unwrap();
    let sum = |mode| counted.profile.iter().filter(|f| f.mode == mode).map(|f| f.instructions).sum::<u64>();
    assert_eq!((sum(Mode::User), sum(Mode::Kernel)), (counted.sample.user, counted.sample.kernel));
    let work = counted.profile.iter().find(|f| f.name.ends_with("::work")).expect("work is in the profile");
    // 250 times four instructions a request, and a few around them.
    assert!((1000..=1005).contains(&(work.instructions / REQUESTS)), "{work:?}");
}

#[test]
fn work_that_tries_to_leave_the_counted_cpu_stays_and_is_counted() {
    let counted = measure(meter(), &program("server", "escapes")).unwrap();
    let work = counted.profile.iter().find(|f| f.name.ends_with("::work"));
    assert!(work.is_some_and(|w| w.instructions > 10_000), "{work:?}");
}

#[test]
fn each_way_a_server_fails_is_told_apart() {
    let exits = invalid("exits");
    assert!(
        exits.contains("exited with code 3 before it listened") && exits.contains("cannot read users.jsonl"),
        "{exits}"
    );
    assert!(invalid("silent").contains("did not listen"));
    assert!(invalid("crashes").contains("killed by signal 6"));
    assert!(invalid("wrong").contains("wrong"));
}

#[test]
fn a_marker_executed_by_the_server_makes_the_count_unsound() {
    match measure(meter(), &program("server", "marks")) {
        Err(Fault::Unsound(why)) => assert!(why.contains("marker executed by the candidate"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_measurement_that_is_stopped_counts_nothing_and_leaves_nothing() {
    let (cache, meter) = meter_apart();
    // It never listens: left alone, it would be invalid after its time in the machine.
    let server = program("server", "silent");
    let stop = AtomicBool::new(false);
    let job = Job { server: &server, data: &[], plan: b"7", seed: 7, gate: false };
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| meter.measure(&job, &stop));
        while at_work(cache.path()).is_empty() && !running.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(matches!(result, Err(Fault::Interrupted)), "{result:?}");
    assert_eq!(at_work(cache.path()), [] as [PathBuf; 0]);
    let folders = std::fs::read_dir(cache.path().join("vm")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!folders.into_iter().any(|name| name.to_string_lossy().starts_with("running-")));
}

#[test]
fn two_machines_booted_apart_count_alike() {
    let server = program("server", "");
    let (_cache, other) = meter_apart();
    assert_eq!(measure(&other, &server).unwrap(), measure(meter(), &server).unwrap());
}

/// A meter with a cache of its own. The packages are the shared ones; only the boot is done again.
fn meter_apart() -> (tempfile::TempDir, VmMeter) {
    let cache = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(cache.path().join("vm")).unwrap();
    for part in meter().shared_parts() {
        std::os::unix::fs::symlink(&part, cache.path().join("vm").join(part.file_name().unwrap())).unwrap();
    }
    let meter = meter_in(cache.path());
    (cache, meter)
}

/// The processes that run in a folder of this cache.
fn at_work(cache: &Path) -> Vec<PathBuf> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok());
    processes.filter(|cwd| cwd.starts_with(cache)).collect()
}

#[test]
fn a_server_that_closes_without_draining_passes_on_plain_loopback_and_is_caught_at_a_distance() {
    let answer = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let token = issued("ann", &"<".repeat(60_000));
    std::fs::write(answer.path(), ok_with(&format!("\"{token}\""), Tail::Close)).unwrap();
    let right = program_with("closing", "", answer.path());
    let wrong = program_with("closing", "drains", answer.path());
    // This meter has the program `load` for a load generator, which knows no cases.
    meter();
    let machine = prepared_in(&cache());
    let failed = |server, network| {
        // The case of a long answer that ends its connection.
        let report = machine.cases(server, network, "213", Duration::from_secs(300), &AtomicBool::new(false));
        report.unwrap().failed
    };
    assert_eq!(failed(&right, Network::Loopback), []);
    assert_eq!(failed(&right, Network::Distant), []);
    assert_eq!(failed(&wrong, Network::Loopback), []);
    let caught = failed(&wrong, Network::Distant);
    assert!(matches!(&caught[..], [case] if case.got.ends_with("RST")), "{caught:?}");
}
