//! Real searches in a clone of this repository: one whose every patch fails in its own way, and one that is killed. They
//! build the candidate and boot the emulated machine, so they take minutes. What is asserted is what a person finds in
//! the morning: each outcome with its reason, and a checkout as it was left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::checkout::Checkout;

const RUNS: &str = r#"
[runs.faults]
proposer = "patches"
patches = "patches"
workload = { requests = 512, warmup = 512 }
limits = { start = "3s" }
calibration = "off"
"#;

/// Something that strikes once in the life of a server, in the middle of the window. The contract's cases bring fewer
/// users than the workload, so that they do not see it.
fn in_the_window(strike: &str) -> String {
    format!(
        "        static ANSWERED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        if self.access.shared().users.len() >= 1000
            && ANSWERED.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 700
        {{
            {strike}
        }}
        match request.route {{"
    )
}

/// The clone that a test works in, with a queue of patches made from the candidate as it is today.
struct Night {
    checkout: Checkout,
    head: String,
}

impl Night {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let checkout = Checkout::clone_of(root, &shared_cache());
        for written_by_searches in ["history", "knowledge"] {
            fs::remove_dir_all(checkout.root().join(written_by_searches)).unwrap();
        }
        checkout.write("runs.toml", RUNS);
        checkout.commit("Define the runs of this test");
        let head = checkout.git(&["rev-parse", "HEAD"]).trim().to_owned();
        Night { checkout, head }
    }

    /// Queue the change of all `from` in a file to `to`.
    #[track_caller]
    fn queue(&self, name: &str, path: &str, from: &str, to: &str) -> String {
        let before = fs::read_to_string(self.checkout.root().join(path)).unwrap();
        assert!(before.contains(from), "{path} has no {from:?} any more: choose another place for {name}");
        self.checkout.write(path, &before.replace(from, to));
        let diff = self.checkout.git(&["diff", "--no-ext-diff", "--no-color"]);
        self.checkout.write(path, &before);
        self.queue_text(name, &diff);
        diff
    }

    fn queue_text(&self, name: &str, diff: &str) {
        self.checkout.write(&format!("patches/{name}.patch"), &format!("Try {name}\n\n{diff}"));
    }

    /// The queue is the user's own: in a commit, so that the checkout is clean.
    fn ready(&mut self) {
        self.checkout.commit("Queue patches");
        self.head = self.checkout.git(&["rev-parse", "HEAD"]).trim().to_owned();
    }

    fn ledger(&self) -> PathBuf {
        self.checkout.root().join("history/ledger.jsonl")
    }

    fn log(&self) -> Vec<Value> {
        let log = self.checkout.harness(&["log", "--json", "--run", "faults"]).json(0);
        log.as_array().expect("the log is a list").clone()
    }

    /// HEAD, index, files and branches are the user's; the search has its own branch, its refs, history and knowledge.
    #[track_caller]
    fn is_as_it_was_left(&self) {
        assert_eq!(self.checkout.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(self.checkout.git(&["rev-parse", "HEAD"]).trim(), self.head);
        assert_eq!(self.checkout.git(&["diff", "--cached", "--name-only"]), "");
        let status = self.checkout.git(&["status", "--porcelain", "--untracked-files=all"]);
        let theirs = |line: &&str| !line.starts_with("?? history/") && !line.starts_with("?? knowledge/");
        assert_eq!(status.lines().find(theirs), None, "{status}");
        let promoted = self.checkout.git(&["rev-parse", "search/faults"]);
        assert_eq!(promoted.trim(), self.head, "nothing is promoted");
    }

    #[track_caller]
    fn verifies(&self) {
        let report = self.checkout.harness(&["verify", "--json"]).json(0);
        assert_eq!(report["objections"], serde_json::json!([]));
    }

    /// Every attempt has its lesson.
    #[track_caller]
    fn has_lessons(&self, attempts: usize) {
        let folder = fs::read_dir(self.checkout.root().join("knowledge")).unwrap();
        let names: Vec<String> = folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let lessons = names.iter().filter(|name| name.starts_with(|first: char| first.is_ascii_digit())).count();
        assert_eq!(lessons, attempts, "{names:?}");
    }
}

fn shared_cache() -> PathBuf {
    std::env::var_os("HARNESS_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"), PathBuf::from)
}

#[test]
fn a_night_of_failing_candidates_ends_well_and_says_how_each_failed() {
    const API: &str = "candidate/src/api/mod.rs";
    const ROUTE: &str = "        match request.route {";
    let mut night = Night::new();
    let main = "fn main() -> ExitCode {";
    night.queue("1-does-not-compile", "candidate/src/main.rs", main, &format!("{main}\n    let _: u32 = \"one\";"));
    night.queue("2-outside-the-fence", "loadgen/src/lib.rs", "//! ", "//!  ");
    let listen = "        let listeners = listen::listeners(port, &cores)?;";
    let sleep = "        thread::sleep(std::time::Duration::from_secs(3600));";
    night.queue("3-never-listens", "candidate/src/engine/mod.rs", listen, &format!("{sleep}\n{listen}"));
    night.queue("4-wrong-byte", "candidate/src/reply.rs", "Not Found", "Not found");
    night.queue(
        "5-wrong-in-the-window",
        API,
        ROUTE,
        &in_the_window("return reply::not_allowed(out, \"\", request.ending);"),
    );
    night.queue("6-exits-in-the-window", API, ROUTE, &in_the_window("std::process::exit(7);"));
    night.queue("7-hangs-in-the-window", API, ROUTE, &in_the_window("loop { std::thread::park(); }"));
    let no_op = night.queue("8-comment", "candidate/src/main.rs", "//! The program", "//! Here is the program");
    night.queue_text("9-does-not-apply", &no_op.replace("//! The program", "//! Some other program"));
    night.ready();

    let search = night.checkout.harness(&["search", "faults"]);
    assert_eq!(search.code, Some(0), "{search:?}");
    let log = night.log();
    let expected = [
        ("build-failed", "mismatched types"),
        ("screened-out", "loadgen/src/lib.rs: outside candidate/"),
        ("invalid", "did not listen within 3s"),
        ("invalid", "Not found"),
        ("invalid", "wrong"),
        ("invalid", "exited with code 7"),
        ("invalid", "no complete answer in time"),
        ("no-op", "the champion's"),
        ("screened-out", "cannot be applied"),
    ];
    let found: Vec<String> = log
        .iter()
        .map(|record| {
            let reason = record["outcome"]["reason"].as_str().unwrap_or_default();
            let seconds: f64 = record["phases"].as_array().unwrap().iter().filter_map(|p| p["seconds"].as_f64()).sum();
            format!("{} after {seconds:.0} s: {reason}", record["outcome"]["outcome"].as_str().unwrap_or_default())
        })
        .collect();
    eprintln!("{}\n{found:#?}", search.stderr);
    assert_eq!(log.len(), expected.len(), "{found:#?}");
    for (index, (outcome, word)) in expected.iter().enumerate() {
        assert!(found[index].starts_with(outcome) && found[index].contains(word), "{outcome}, {word}: {found:#?}");
        assert_eq!(log[index]["attempt"], index + 1);
    }
    night.is_as_it_was_left();
    night.verifies();
    night.has_lessons(expected.len());

    let again = night.checkout.harness(&["search", "faults"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(night.log(), log, "the queue is used up: there is nothing to try again");
    night.is_as_it_was_left();
    night.verifies();
}

#[test]
fn a_search_killed_in_an_attempt_goes_on_with_no_attempt_missing() {
    let mut night = Night::new();
    night.queue("1-comment", "candidate/src/main.rs", "//! The program", "//! Here is the program");
    night.queue("2-outside-the-fence", "loadgen/src/lib.rs", "//! ", "//!  ");
    night.ready();

    let mut search = night.checkout.command(&["search", "faults"]);
    let mut search = search.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait("the first attempt", Duration::from_secs(400), || {
        assert_eq!(search.try_wait().unwrap(), None, "the search ended before its first attempt did");
        fs::read_to_string(night.ledger()).is_ok_and(|text| text.contains("\"event\":\"intent\""))
    });
    search.kill().unwrap();
    search.wait().unwrap();
    wait("the end of all that was started", Duration::from_secs(10), || night.checkout.processes().is_empty());
    assert_eq!(night.log(), [] as [Value; 0]);
    night.is_as_it_was_left();

    let again = night.checkout.harness(&["search", "faults"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stderr.contains("attempt 1 was under way"), "{again:?}");
    let log = night.log();
    let found: Vec<_> = log.iter().map(|record| (&record["attempt"], &record["outcome"]["outcome"])).collect();
    let expected = [(1, "interrupted"), (2, "no-op"), (3, "screened-out")];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(*found.0 == expected.0 && *found.1 == expected.1, "{found:?}, not {expected:?}");
    }
    night.is_as_it_was_left();
    night.verifies();
    night.has_lessons(expected.len());
}

#[test]
fn a_promotion_that_a_crash_cut_short_is_finished_once() {
    let mut night = Night::new();
    // The baseline writes each response by itself, which costs far more than the threshold.
    let tunables = "candidate/src/tunables.rs";
    let (slow, fast) = ("WriteMode = WriteMode::PerResponse", "WriteMode = WriteMode::PerBatch");
    let text = fs::read_to_string(night.checkout.root().join(tunables)).unwrap();
    assert!(text.contains(fast), "choose another knob: {fast} is not the champion's");
    night.checkout.write(tunables, &text.replace(fast, slow));
    night.checkout.commit("Write each response by itself");
    night.queue("1-one-write-a-batch", tunables, slow, fast);
    night.ready();
    let search = night.checkout.harness(&["search", "faults"]);
    assert_eq!(search.code, Some(0), "{search:?}");
    let tip = night.checkout.git(&["rev-parse", "search/faults"]);
    assert_ne!(tip.trim(), night.head, "{search:?}");

    // The crash: everything behind the verdict is lost, with and without the branch, which moves in between.
    let whole = fs::read_to_string(night.ledger()).unwrap();
    let verdict = whole.lines().position(|line| line.contains("\"event\":\"outcome\"")).unwrap();
    let until_verdict: String = whole.lines().take(verdict + 1).flat_map(|line| [line, "\n"]).collect();
    for branch in [tip.trim(), &night.head.clone()] {
        fs::write(night.ledger(), &until_verdict).unwrap();
        night.checkout.git(&["update-ref", "refs/heads/search/faults", branch]);
        let again = night.checkout.harness(&["search", "faults"]);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.stderr.contains("attempt 1 was promoted when the last process ended"), "{again:?}");
        let moved = night.checkout.git(&["rev-list", &format!("{}..search/faults", night.head)]);
        assert_eq!(moved.lines().count(), 1, "one commit is promoted, not two: {moved}");
        assert_eq!(night.checkout.git(&["diff", "--stat", tip.trim(), "search/faults"]), "");
        let events = fs::read_to_string(night.ledger()).unwrap();
        assert_eq!(events.matches("\"event\":\"promoted\"").count(), 1);
        night.verifies();
        night.has_lessons(1);
    }
}

#[track_caller]
fn wait(what: &str, limit: Duration, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < limit, "waited {limit:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
