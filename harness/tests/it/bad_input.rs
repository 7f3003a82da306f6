//! What the command line says to input that is wrong: the exit code, the telling words, and a repository left as it was.
//! Nothing here is built or measured.

use std::collections::HashMap;
use std::fs;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::checkout::Checkout;

const RUNS: &str = "[runs.default]\n";
const PATCHES: &str = "[runs.default]\nproposer = \"patches\"\npatches = \"patches\"\n";

/// A ledger whose chain holds, in the format that `data/ledger.rs` documents.
fn ledger(events: &[Value]) -> String {
    let mut prev = "0".repeat(64);
    let mut text = String::new();
    for (index, event) in events.iter().enumerate() {
        let body = json!({ "n": index + 1, "time": "2026-03-01T22:30:00Z", "event": event }).to_string();
        let hash: String = Sha256::digest(format!("{prev}{body}")).iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{{\"prev\":\"{prev}\",\"hash\":\"{hash}\",\"body\":{body}}}\n");
        prev = hash;
    }
    text
}

/// An attempt that did not compile, in two lines.
fn one_attempt() -> String {
    let changed = json!({ "patch": { "name": "a.patch" } });
    let record = json!({
        "attempt": 1, "parent": "4f2a", "commit": null, "binary": null, "hypothesis": "Try it", "changed": changed,
        "outcome": { "outcome": "build-failed", "reason": "error: expected one of `;`" },
        "screen": [], "confirm": [], "phases": [{ "phase": "build", "seconds": 1.5 }]
    });
    ledger(&[
        json!({ "event": "intent", "attempt": 1, "run": "default", "parent": "4f2a", "hypothesis": "Try it",
                "changed": changed }),
        json!({ "event": "outcome", "run": "default", "meter": "vm", "fingerprint": "f", "record": record }),
    ])
}

#[track_caller]
fn search_refuses(runs: &str, args: &[&str], words: &[&str]) {
    let checkout = Checkout::with_runs(runs);
    checkout.untouched(&[&["search"], args].concat()).refused(2, words);
    assert!(!checkout.root().join("history").exists(), "a refused search begins no ledger");
}

#[test]
fn outside_a_repository_every_verb_says_so() {
    let folder = Checkout::empty();
    for verb in [&["search"][..], &["log"], &["show", "1"], &["replay", "HEAD"], &["measure"], &["verify"]] {
        folder.harness(verb).refused(1, &["error: ", "is not inside a git repository", "Run this in the repository"]);
    }
    assert_eq!(fs::read_dir(folder.root()).unwrap().count(), 0);
}

#[test]
fn without_a_runs_toml_the_missing_file_is_named() {
    let checkout = Checkout::with_runs(RUNS);
    fs::remove_file(checkout.root().join("runs.toml")).unwrap();
    checkout.commit("Remove the runs");
    for verb in [&["search"][..], &["measure"], &["calibrate"]] {
        checkout.untouched(verb).refused(2, &["runs.toml", "write one, or go to the repository's root"]);
    }
}

#[test]
fn a_misspelt_key_is_answered_with_its_line_and_the_likely_one() {
    search_refuses(
        "[runs.default]\n\n[runs.default.workload]\nconections = 64\n",
        &[],
        &["runs.toml:4:1: ", "unknown field `conections`", "did you mean `connections`?"],
    );
    search_refuses("[runs.default]\nmeter = \"pref\"\n", &[], &["runs.toml:2:9: ", "did you mean `perf`?"]);
}

#[test]
fn a_figure_without_its_unit_or_with_a_wrong_one_is_refused_with_its_line() {
    search_refuses("[runs.default]\nbudget = { time = 8 }\n", &[], &["runs.toml:2:19: ", "needs its unit", "8s"]);
    search_refuses("[runs.default.budget]\ntime = \"8 fortnights\"\n", &[], &["runs.toml:2:8: ", "8 fortnights"]);
    search_refuses("[runs.default.threshold]\ngain = \"3h\"\n", &[], &["runs.toml:2:8: ", "3%"]);
    search_refuses("[runs.default.limits]\nmemory = \"2 parsecs\"\n", &[], &["runs.toml:2:10: ", "2 parsecs"]);
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_its_line() {
    search_refuses("[runs.default]\nmeter = vm\n", &[], &["runs.toml:2:"]);
    search_refuses("", &[], &["no run is defined", "[runs.default]"]);
}

#[test]
fn a_workload_that_cannot_be_made_is_refused_as_input_with_figures_that_can() {
    let runs = "[runs.default]\nworkload = { requests = 1000 }\n";
    search_refuses(runs, &[], &["requests is 1000", "multiple of 512", "1024"]);
}

#[test]
fn an_unknown_run_is_answered_with_those_there_are() {
    let runs = "[runs.night]\n[runs.short]\n";
    search_refuses(runs, &["nihgt"], &["no run \"nihgt\"", "did you mean \"night\"?", "night, short"]);
    search_refuses(runs, &[], &["which run?", "night, short"]);
    let checkout = Checkout::with_runs(runs);
    checkout.untouched(&["measure", "--run", "none"]).refused(2, &["no run \"none\"", "night, short"]);
    checkout.untouched(&["log", "--run", "night"]).refused(2, &["no run named night"]);
}

#[test]
fn a_candidate_with_uncommitted_changes_is_refused_by_file() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.write("candidate/src/main.rs", "fn main() { todo!() }\n");
    checkout.write("candidate/src/new.rs", "\n");
    let ran = checkout.untouched(&["search"]);
    ran.refused(2, &["candidate/src/main.rs", "candidate/src/new.rs", "no commit", "git stash -u -- candidate"]);
}

#[test]
fn a_patch_folder_that_is_missing_or_empty_or_holds_no_diff_is_refused() {
    search_refuses(PATCHES, &[], &["patch folder", "patches", "Make it, or set `patches` in runs.toml"]);
    search_refuses("[runs.default]\nproposer = \"patches\"\n", &[], &["runs.toml:1:", "patches = \"patches\""]);

    let checkout = Checkout::with_runs(PATCHES);
    checkout.write("patches/README", "Not a patch.\n");
    checkout.untouched(&["search"]).refused(2, &["no .patch file"]);
    checkout.write("patches/0001.patch", "Words alone.\n");
    checkout.untouched(&["search"]).refused(2, &["0001.patch", "no unified diff"]);
}

#[test]
fn a_time_of_day_that_no_clock_shows_is_refused() {
    for until in ["25:00", "07:60", "7", "seven"] {
        search_refuses(RUNS, &["--until", until], &["--until", until, "HH:MM", "07:00"]);
    }
}

#[test]
fn a_command_that_does_not_exist_or_lacks_an_argument_is_refused() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.untouched(&["serach"]).refused(2, &["serach", "search"]);
    checkout.untouched(&["show"]).refused(2, &["<N>"]);
    checkout.untouched(&["show", "one"]).refused(2, &["one"]);
    checkout.untouched(&["search", "--attempts", "many"]).refused(2, &["many", "--attempts"]);
}

#[test]
fn measure_refuses_a_binary_that_is_missing_or_that_the_machine_could_not_run() {
    let checkout = Checkout::with_runs(RUNS);
    let measure = |binary: &str| checkout.untouched(&["measure", "--binary", binary]);
    measure("peer").refused(2, &["peer", "NAME=PATH"]);
    measure("peer=no/such/file").refused(2, &["no/such/file", "is it built?"]);
    measure("peer=runs.toml").refused(2, &["runs.toml", "no 64-bit ELF program"]);
    let dynamic = env!("CARGO_BIN_EXE_harness");
    measure(&format!("peer={dynamic}")).refused(2, &[dynamic, "linked dynamically", "target-feature=+crt-static"]);
    checkout.untouched(&["measure", "HEAD", "HEAD"]).refused(2, &["two servers are called HEAD"]);
    checkout.untouched(&["measure", "no-such-branch"]).refused(2, &["`no-such-branch`"]);
}

#[test]
fn measure_refuses_a_workload_that_cannot_be() {
    let checkout = Checkout::with_runs(RUNS);
    let measure = |args: &[&str]| checkout.untouched(&[&["measure"], args].concat());
    measure(&["--workload", "conections=8"]).refused(2, &["conections=8", "did you mean `connections`?"]);
    measure(&["--workload", "connections=many"]).refused(2, &["connections=many", "expected u32"]);
    measure(&["--workload", "none.json"]).refused(2, &["none.json", "neither KEY=VALUE nor a file"]);
    measure(&["--depth", "3"]).refused(2, &["depth 3", "requests is 5120", "multiple of 192"]);
    measure(&["--seeds", "0"]).refused(2, &["--seeds"]);
}

#[test]
fn measure_refuses_a_constant_request_without_an_answer_that_can_be_held_against_a_server() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.write("request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    checkout.write("answer", "HTTP/1.1 200 OK\n\n");
    let measure = |args: &[&str]| checkout.untouched(&[&["measure", "--request"], args].concat());
    measure(&["request"]).refused(2, &["--answer"]);
    measure(&["request", "--answer", "none"]).refused(2, &["none", "cannot be read"]);
    measure(&["request", "--answer", "answer"]).refused(2, &["answer of HEAD", "lines must end in CR LF"]);
    measure(&["request", "--answer", "peer=answer"]).refused(2, &["no server is called peer", "HEAD"]);
}

#[test]
fn replay_of_what_does_not_exist_says_what_there_is() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.untouched(&["replay", "no-such-branch"]).refused(2, &["`no-such-branch`", "git log", "harness log"]);
    checkout.untouched(&["replay", "7"]).refused(2, &["`7`", "A number is an attempt"]);
    let tree = checkout.git(&["rev-parse", "HEAD^{tree}"]);
    checkout.untouched(&["replay", tree.trim()]).refused(2, &["is a tree, not a commit"]);
}

#[test]
fn replay_of_a_whole_night_names_the_runs_there_are_and_takes_no_single_commit() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.untouched(&["replay"]).refused(2, &["COMMIT|N"]);
    checkout.untouched(&["replay", "--all-promoted", "1"]).refused(2, &["--all-promoted", "cannot be used with"]);
    checkout.untouched(&["replay", "1", "--run", "default"]).refused(2, &["--run", "cannot be used with"]);
    checkout.untouched(&["replay", "--all-promoted", "--run", "night"]).refused(2, &["no run named night", "none"]);
    assert_eq!(checkout.untouched(&["replay", "--all-promoted", "--json"]).json(0)["of"], 0);
}

#[test]
fn a_simulation_of_nothing_or_of_no_noise_is_refused() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.untouched(&["simulate", "--runs", "0"]).refused(2, &["--runs", "above 0"]);
    checkout.untouched(&["simulate", "--noise", "0.1,much"]).refused(2, &["--noise", "much", "0 to 50"]);
    let report =
        checkout.untouched(&["simulate", "--runs", "2", "--attempts", "10", "--noise", "0.1", "--json"]).json(0);
    assert_eq!(
        (&report["null"][0]["found"]["attempts"], &report["null"][0]["found"]["promoted"]),
        (&json!(20), &json!(0))
    );
}

#[test]
fn replay_of_a_short_hash_of_two_commits_lists_both() {
    let checkout = Checkout::with_runs(RUNS);
    let repo = git2::Repository::open(checkout.root()).unwrap();
    let tree = repo.head().unwrap().peel_to_tree().unwrap();
    let who = git2::Signature::new("Test", "test@example.org", &git2::Time::new(1_772_404_200, 0)).unwrap();
    // Four hex digits: among a few hundred commits two begin alike.
    let mut seen: HashMap<String, git2::Oid> = HashMap::new();
    let (digits, both) = (0..)
        .find_map(|n| {
            let id = repo.commit(None, &who, &who, &format!("Commit {n}"), &tree, &[]).unwrap();
            let digits = id.to_string()[..4].to_owned();
            seen.insert(digits.clone(), id).map(|other| (digits, [id, other]))
        })
        .unwrap();
    let ran = checkout.untouched(&["replay", &digits]);
    ran.refused(2, &["is ambiguous", "Give more digits"]);
    for id in both {
        assert!(ran.stderr.contains(&id.to_string()[..10]), "{id}: {ran:?}");
    }
}

#[test]
fn a_commit_nobody_counted_is_not_comparable() {
    let checkout = Checkout::with_runs(RUNS);
    let answer = checkout.untouched(&["replay", "HEAD", "--json"]).json(4);
    assert!(answer.to_string().contains("no sample of this commit"), "{answer}");
    let ran = checkout.untouched(&["replay", "HEAD"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("not comparable"), "{ran:?}");
}

#[test]
fn an_attempt_without_a_commit_cannot_be_replayed_and_says_how_it_ended() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.write("history/ledger.jsonl", &one_attempt());
    checkout.untouched(&["replay", "1"]).refused(2, &["attempt 1 has no commit", "build failed", "expected one of"]);
}

#[test]
fn show_of_an_unknown_attempt_names_the_last() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.untouched(&["show", "3"]).refused(2, &["no attempts yet", "harness search"]);
    checkout.write("history/ledger.jsonl", &one_attempt());
    checkout.untouched(&["show", "3"]).refused(2, &["attempt 3", "the last number given out is 1", "harness log"]);
}

#[test]
fn a_second_search_is_told_who_holds_the_ledger() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.write("history/lock", "4711\n");
    let lock = fs::File::open(checkout.root().join("history/lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    checkout.untouched(&["search"]).refused(1, &["a search is running", "process 4711", "Ctrl-C"]);
    // Reading needs no lock.
    assert_eq!(checkout.untouched(&["log"]).code, Some(0));
    assert_eq!(checkout.untouched(&["verify"]).code, Some(0));
}

#[test]
fn an_empty_history_is_no_fault() {
    let checkout = Checkout::with_runs(RUNS);
    let log = checkout.untouched(&["log"]);
    assert_eq!(log.code, Some(0), "{log:?}");
    assert!(log.stdout.contains("No attempts yet"), "{log:?}");
    assert_eq!(checkout.untouched(&["log", "--json"]).json(0), json!([]));
    let verify = checkout.untouched(&["verify"]);
    assert_eq!(verify.code, Some(0), "{verify:?}");
    assert!(verify.stdout.contains("0 lines"), "{verify:?}");
    assert_eq!(checkout.untouched(&["verify", "--json"]).json(0)["objections"], json!([]));
}

#[test]
fn reports_as_json_hold_what_the_ledger_holds() {
    let checkout = Checkout::with_runs(RUNS);
    checkout.write("history/ledger.jsonl", &one_attempt());
    let log = checkout.untouched(&["log", "--json"]).json(0);
    assert_eq!(log[0]["outcome"]["outcome"], "build-failed");
    assert_eq!(checkout.untouched(&["show", "1", "--json"]).json(0)["record"], log[0]);
    let verified = checkout.untouched(&["verify", "--json"]).json(0);
    assert_eq!((&verified["lines"], &verified["verdicts"]), (&json!(2), &json!(0)));
}

#[test]
fn one_changed_byte_of_the_ledger_is_found_and_nothing_reads_on() {
    let checkout = Checkout::with_runs(RUNS);
    let good = one_attempt();
    checkout.write("history/ledger.jsonl", &good);
    assert_eq!(checkout.untouched(&["verify"]).code, Some(0));

    let changed = good.replacen("Try it", "Try It", 1);
    checkout.write("history/ledger.jsonl", &changed);
    let verify = checkout.untouched(&["verify"]);
    assert_eq!(verify.code, Some(3), "{verify:?}");
    assert!(verify.stdout.contains("line 1 of the ledger does not hold"), "{verify:?}");
    let report = checkout.untouched(&["verify", "--json"]).json(3);
    assert!(report["objections"][0].as_str().unwrap().contains("it was changed"), "{report}");
    for verb in [&["log"][..], &["show", "1"], &["replay", "1"]] {
        checkout.untouched(verb).refused(1, &["ledger.jsonl is damaged", "line 1", "restore it from a copy"]);
    }
    // What a search would append to it would be lost with it.
    let ran = checkout.harness(&["search"]);
    ran.refused(1, &["ledger.jsonl is damaged"]);
    assert_eq!(fs::read_to_string(checkout.root().join("history/ledger.jsonl")).unwrap(), changed);
}

#[test]
fn help_lists_the_exit_codes() {
    let folder = Checkout::empty();
    let help = folder.harness(&["--help"]);
    assert_eq!(help.code, Some(0), "{help:?}");
    let (_, codes) = help.stdout.split_once("Exit codes:").expect("the help has a list of exit codes");
    let listed: Vec<&str> = codes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, ["0", "1", "2", "3", "4", "130"]);
}
