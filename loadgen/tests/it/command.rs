//! The program itself: exit codes, what goes where, and that the same seed gives the same files.

use super::replay::{Fault, serve};
use loadgen::plan::Plan;
use loadgen::report::Report;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

const SMALL: [&str; 10] =
    ["--connections", "4", "--pipelining", "4", "--requests", "64", "--warmup", "16", "--users", "200"];

fn loadgen(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadgen")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn plan_file(folder: &Path, seed: &str) -> (String, Arc<Plan>) {
    let path = folder.join(format!("plan-{seed}")).to_str().unwrap().to_string();
    let made = loadgen(&[&["plan", "--seed", seed, "--out", &path], &SMALL[..]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let plan = Plan::decode(&std::fs::read(&path).unwrap()).unwrap();
    (path, Arc::new(plan))
}

#[test]
fn a_right_server_exits_0_with_a_report_on_stdout_and_a_wrong_one_1() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plan) = plan_file(folder.path(), "5");
    for (fault, code) in [(Fault::None, 0), (Fault::Flip, 1)] {
        let addr = serve(&plan, fault, 2).to_string();
        let pid = std::process::id().to_string();
        let out = loadgen(&["drive", "--plan", &path, "--addr", &addr, "--marks", "--server-pid", &pid, "--json"]);
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stderr));
        let report: Report = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(report.clean(), code == 0);
        assert_eq!(report.window.planned, 64);
        assert!(report.server.unwrap().peak_rss_kib > 0);
        assert_eq!(text(&out.stderr).is_empty(), code == 0);
    }
}

#[test]
fn bad_usage_and_bad_files_exit_2_and_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x").to_str().unwrap().to_string();
    std::fs::write(&file, "not a plan").unwrap();
    for (arguments, said) in [
        (vec!["drive", "--plan", &file, "--addr", "127.0.0.1:1"], "make one with `loadgen plan`"),
        (vec!["drive", "--plan", "/no/such", "--addr", "127.0.0.1:1"], "cannot read the plan"),
        (vec!["plan", "--seed", "1", "--out", &file, "--requests", "7"], "multiple of 512"),
        (vec!["plan", "--seed", "x", "--out", &file], "invalid value"),
        (vec!["cases", "--server", "/no/such"], "cannot start"),
        (vec!["cases", "--server", "/bin/false"], "ended with"),
        (vec!["run", "--seed", "1"], "--server"),
        (vec!["frobnicate"], "unrecognized"),
    ] {
        let out = loadgen(&arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert!(text(&out.stderr).contains(said), "{arguments:?}: {}", text(&out.stderr));
        assert!(out.stdout.is_empty());
    }
}

#[test]
fn the_same_seed_writes_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, seed: &str| {
        let dir = folder.path().join(name);
        let out = loadgen(&[&["data", "--seed", seed, "--out", dir.to_str().unwrap()], &SMALL[..]].concat());
        assert!(out.status.success());
        [
            "users.jsonl",
            "GeoLite2-City-CSV/GeoLite2-City-Blocks-IPv4.csv",
            "GeoLite2-City-CSV/GeoLite2-City-Locations-en.csv",
        ]
        .map(|file| std::fs::read(dir.join(file)).unwrap())
    };
    let (first, again, other) = (read("a", "1"), read("b", "1"), read("c", "2"));
    assert_eq!(first, again);
    for (first, other) in first.iter().zip(&other) {
        assert_ne!(first, other);
    }
}

#[test]
fn a_workload_file_is_read_and_its_mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("workload.json").to_str().unwrap().to_string();
    let out = folder.path().join("plan").to_str().unwrap().to_string();
    let run = |text: &str| {
        std::fs::write(&file, text).unwrap();
        loadgen(&["plan", "--seed", "1", "--workload", &file, "--out", &out])
    };
    let right = run(
        r#"{"connections":2,"pipelining":2,"requests":40,"warmup":0,"users":100,"networks":200,"schedule":"closed-loop","mix":{"get-forged":500}}"#,
    );
    assert!(right.status.success(), "{}", text(&right.stderr));
    let wrong = run(r#"{"conections":2}"#);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("conections"));
}
