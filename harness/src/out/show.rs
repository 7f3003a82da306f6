//! `harness show N`: one attempt whole.

use std::fmt::Write as _;

use super::format::{clip, count, duration, effect, gain, interval, short};
use crate::judge::profile::FunctionShift;
use crate::judge::record::Record;
use crate::judge::sample::{Mode, Pair, Sample, Side};

/// Everything about one attempt, for people.
pub fn text(record: &Record, diff: &str, checks: Option<&serde_json::Value>, shifts: &[FunctionShift]) -> String {
    let mut out = String::new();
    let (gain_text, bounds) = effect(&record.outcome);
    let _ = writeln!(out, "Attempt {}: {}  {gain_text} {bounds}", record.attempt, record.outcome.word());
    let _ = writeln!(out, "  hypothesis  {}", record.hypothesis);
    let _ = writeln!(out, "  change      {}", record.changed);
    let _ = writeln!(out, "  reason      {}", record.outcome.reason());
    let commit = record.commit.as_deref().map_or("none", short);
    let _ =
        writeln!(out, "  commit      {commit} on refs/attempts/{}, parent {}", record.attempt, short(&record.parent));
    if !record.bank.is_empty() {
        let beneath: Vec<String> = record.bank.iter().map(|attempt| format!("#{attempt}")).collect();
        let _ = writeln!(out, "  on top of   {} (banked)", beneath.join(", "));
    }
    if let Some(own) = &record.own {
        let e = &own.estimate;
        let _ = writeln!(out, "  by itself   {} {}: {}", gain(e.mean), interval(e), own.note);
    }
    if let Some(e) = &record.whole {
        let _ = writeln!(out, "  the stack   {} {} over the champion", gain(e.mean), interval(e));
    }
    if let Some(binary) = &record.binary {
        let _ = writeln!(out, "  binary      sha256 {binary}");
    }
    for (title, stage) in [
        ("checks", checks),
        ("  distance", checks.and_then(|checks| checks.get("distance"))),
        ("  clocks", checks.and_then(|checks| checks.get("clocks"))),
    ] {
        let Some(passed) = stage.and_then(|stage| stage.get("passed")) else { continue };
        let failed = stage.and_then(|stage| stage.get("failed")?.as_array().map(Vec::len)).unwrap_or(0);
        let _ = writeln!(out, "  {title:<10}  {passed} cases passed, {failed} failed");
    }
    if let Some(unchecked) = &record.unchecked {
        let _ = writeln!(out, "  UNCHECKED   {unchecked}");
    }
    let phases: Vec<String> =
        record.phases.iter().map(|time| format!("{} {}", time.phase, duration(time.seconds))).collect();
    let _ = writeln!(out, "  phases      {} = {}", phases.join(", "), duration(record.seconds()));
    for (title, pairs) in [("screen", &record.screen), ("confirm", &record.confirm), ("whole stack", &record.stack)] {
        if !pairs.is_empty() {
            out.push_str(&samples(title, pairs));
        }
    }
    if let Some(pair) = record.deciding_pairs().first() {
        out.push_str(&side_metrics(pair));
    }
    if !shifts.is_empty() {
        let _ = writeln!(
            out,
            "\nInstructions per request, the functions that changed most:\n  {:>9} {:>9} {:>9}  function",
            "before", "after", "change"
        );
        for shift in shifts.iter().take(12) {
            let mode = if shift.mode == Mode::Kernel { " [kernel]" } else { "" };
            let _ = writeln!(
                out,
                "  {:>9.1} {:>9.1} {:>+9.1}  {}{mode}",
                shift.before,
                shift.after,
                shift.after - shift.before,
                clip(&shift.name, 80)
            );
        }
    }
    if !diff.is_empty() {
        let _ = write!(out, "\n{diff}");
    }
    out
}

/// What was seen beside the count, on the first of the deciding pairs; what the meter cannot see is left out.
fn side_metrics(pair: &Pair) -> String {
    let per_request = |of: fn(&Side) -> Option<u64>| {
        let side = |sample: &Sample| Some(of(&sample.side)? as f64 / sample.load.verified as f64);
        Some((side(&pair.champion)?, side(&pair.challenger)?))
    };
    let calls = |side: &Side| Some(side.system_calls.as_ref()?.values().sum());
    let batch = |sample: &Sample| {
        sample.side.wakeups.filter(|wakeups| *wakeups > 0).map(|wakeups| sample.load.verified as f64 / wakeups as f64)
    };
    let peak = |sample: &Sample| sample.side.peak_rss_kib.map(|kib| kib as f64 / 1024.0);
    let rows = [
        ("requests per wake-up", batch(&pair.champion).zip(batch(&pair.challenger))),
        ("system calls per request", per_request(calls)),
        ("context switches per request", per_request(|side| side.context_switches)),
        ("page faults per request", per_request(|side| side.page_faults)),
        ("string iterations per request", per_request(|side| side.rep_iterations)),
        ("peak memory, MiB", peak(&pair.champion).zip(peak(&pair.challenger))),
    ];
    let mut out = String::new();
    for (name, row) in rows {
        let Some((champion, challenger)) = row else { continue };
        if out.is_empty() {
            let _ = writeln!(
                out,
                "\nBeside the count (seed {}):\n  {:>10} {:>10}",
                pair.champion.seed, "champion", "challenger"
            );
        }
        let _ = writeln!(out, "  {champion:>10.3} {challenger:>10.3}  {name}");
    }
    out
}

fn samples(title: &str, pairs: &[Pair]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\nPairs ({title}), instructions per request (user + kernel):\n  {:>20}  {:>26}  {:>26}  {:>8}",
        "seed", "champion", "challenger", "gain"
    );
    for pair in pairs {
        let side = |sample: &Sample| {
            format!(
                "{} ({} + {})",
                count(sample.per_request()),
                count(sample.user_per_request()),
                count(sample.kernel_per_request())
            )
        };
        let _ = writeln!(
            out,
            "  {:>20}  {:>26}  {:>26}  {:>8}",
            pair.champion.seed,
            side(&pair.champion),
            side(&pair.challenger),
            gain(pair.d())
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::record::Changed;
    use serde_json::json;

    #[test]
    fn each_stage_of_validation_has_its_line_and_what_was_not_tried_is_said() {
        let mut record = Record::opened(7, "parent", "it pays", Changed::Patch { name: "a.patch".into() });
        record.unchecked = Some("clocks were not tried".into());
        let stage = |passed: u32, failed: serde_json::Value| json!({ "passed": passed, "failed": failed });
        let mut checks = stage(551, json!([]));
        checks["distance"] = stage(22, json!([{ "number": 210 }]));
        let shown = text(&record, "", Some(&checks), &[]);
        let lines: Vec<&str> = shown.lines().filter(|line| line.contains("passed") || line.contains("tried")).collect();
        assert_eq!(
            lines,
            [
                "  checks      551 cases passed, 0 failed",
                "    distance  22 cases passed, 1 failed",
                "  UNCHECKED   clocks were not tried"
            ]
        );
    }
}
