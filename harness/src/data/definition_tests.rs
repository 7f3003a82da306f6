//! What a runs.toml may say, and what is answered to what it may not.

use super::*;

fn parse(text: &str) -> Result<Runs> {
    Runs::parse("runs.toml", text)
}

fn fault(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn an_empty_run_is_the_defaults() {
    let runs = parse("[runs.default]\n").unwrap();
    let (name, run) = runs.pick(None).unwrap();
    assert_eq!((name, run), ("default", &Run::default()));
    assert_eq!(run.rule(false), Rule::default());
    assert_eq!(run.rule(true).looks, [6, 12, 24]);
    assert_eq!(run.budget().seconds, Some(28_800.0));
}

#[test]
fn every_key_is_read() {
    let runs = parse(
        r#"
        [runs.night]
        proposer = "patches"
        patches = "queue"
        meter = "vm"
        calibration = "off"
        seed = 18446744073709551
        workload = { connections = 1, pipelining = 2, requests = 3, warmup = 4, schedule = "closed-loop", users = 5, networks = 6 }
        threshold = { gain = "1.5%", by = "point" }
        budget = { attempts = 7, plateau = 8, time = "90m" }
        limits = { build = "1m", start = "2s", validate = "3s", measure = "4s", log = "5KiB", memory = "6MiB", processes = 9 }
        candidate = { path = "server", package = "web", tunables = "server/src/knobs.rs" }
        "#,
    )
    .unwrap();
    let (_, run) = runs.pick(None).expect("the only run needs no name");
    let seconds = Duration::from_secs;
    let expected = Run {
        proposer: ProposerKind::Patches,
        patches: Some("queue".into()),
        workload: Workload {
            connections: 1,
            pipelining: 2,
            requests: 3,
            warmup: 4,
            schedule: ScheduleKind::ClosedLoop,
            users: 5,
            networks: 6,
        },
        meter: MeterKind::Vm,
        calibration: CalibrationKind::Off,
        threshold: Threshold { gain: 0.015, by: By::Point },
        budget: Budget { attempts: Some(7), plateau: Some(8), time: Some(seconds(5400)) },
        limits: Limits {
            build: seconds(60),
            start: seconds(2),
            validate: seconds(3),
            measure: seconds(4),
            log: 5120,
            memory: 6 << 20,
            processes: 9,
        },
        seed: Some(18_446_744_073_709_551),
        candidate: Candidate {
            path: "server".into(),
            package: "web".to_owned(),
            tunables: "server/src/knobs.rs".into(),
        },
    };
    assert_eq!(run, &expected);
}

#[test]
fn a_misspelt_key_is_named_with_its_place_and_the_likely_one() {
    let message = fault("[runs.default]\nworkload = { conections = 3 }\n");
    assert!(message.starts_with("runs.toml:2:14: unknown field `conections`"), "{message}");
    assert!(message.ends_with("did you mean `connections`?"), "{message}");
    assert!(fault("[runs.default]\nmeter = \"pref\"\n").contains("did you mean `perf`?"));
    assert!(fault("[run.default]\n").contains("did you mean `runs`?"));
}

#[test]
fn a_figure_without_its_unit_is_answered_with_the_line_to_write() {
    let message = fault("[runs.default]\n[runs.default.limits]\nbuild = \"5m\"\nstart = 30\n");
    assert_eq!(message, "runs.toml:4:9: a duration needs its unit: write \"30s\"");
    assert!(fault("[runs.a]\nthreshold.gain = 3\n").contains("write \"3%\""));
    assert!(fault("[runs.a]\nlimits.memory = \"2GB\"\n").starts_with("runs.toml:2:17: \"2GB\" has the unknown unit"));
    assert!(fault("[runs.a]\nbudget.time = \"8\"\n").contains("write \"8s\""));
}

#[test]
fn broken_toml_says_where_in_one_line() {
    let message = fault("[runs.default]\nseed = = 3\n");
    assert!(message.starts_with("runs.toml:2:") && !message.contains('\n'), "{message}");
    assert!(fault("[runs.default]\nseed = -1\n").starts_with("runs.toml:2:8:"));
}

#[test]
fn what_the_types_cannot_say_is_checked_at_the_runs_name() {
    for (text, part) in [
        ("threshold.gain = \"0%\"", "above 0%"),
        ("threshold.gain = \"200%\"", "at most 100%"),
        ("proposer = \"patches\"", "write patches ="),
        ("patches = \"x\"", "only for proposer"),
        ("candidate.path = \"../x\"", "inside the repository"),
        ("candidate.path = \"/x\"", "inside the repository"),
        ("candidate.path = \"x\"", "inside candidate.path"),
        ("workload.requests = 0", "workload.requests must be at least 1"),
    ] {
        let message = fault(&format!("[runs.one]\n\n[runs.two]\n{text}\n"));
        assert!(message.starts_with("runs.toml:3:7: run two: ") && message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_run_is_picked_by_name_by_default_or_because_it_is_the_only_one() {
    let two = parse("[runs.day]\n[runs.night]\n").unwrap();
    assert_eq!(two.pick(Some("day")).unwrap().0, "day");
    assert_eq!(
        two.pick(None).unwrap_err().to_string(),
        "which run? runs.toml defines day, night, and none is called default"
    );
    assert!(
        two.pick(Some("nihgt")).unwrap_err().to_string().contains("did you mean \"night\"? (there are: day, night)")
    );
    assert_eq!(parse("[runs.day]\n[runs.default]\n").unwrap().pick(None).unwrap().0, "default");
    assert!(fault("").contains("no run is defined"));
    assert!(fault("[runs.\"a/../b\"]\n").contains("names a branch"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = format!("{:#}", Runs::load(&folder.path().join("runs.toml")).unwrap_err());
    assert!(message.contains("runs.toml") && message.contains("repository's root"), "{message}");
}

#[test]
fn the_repositorys_own_runs_are_well_formed() {
    let runs = Runs::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../runs.toml")).unwrap();
    assert_eq!(runs.pick(None).unwrap().0, "default");
    assert_eq!(runs.pick(Some("patches")).unwrap().1.proposer, ProposerKind::Patches);
    assert_eq!(runs.sha256().len(), 64);
}

proptest::proptest! {
    #[test]
    fn every_text_is_a_definition_or_a_fault_with_its_place(text in "(\\[runs\\.[a-z]\\]\n|budget|time|limits|=|\\.|\"[0-9a-z%]{0,4}\"|[0-9]|\n| |ä){0,30}") {
        if let Err(error) = parse(&text) {
            let message = error.to_string();
            proptest::prop_assert!(message.starts_with("runs.toml:") && !message.contains('\n'), "{}", message);
        }
    }
}
