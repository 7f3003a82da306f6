//! `harness show N`: one attempt whole.

use std::fmt::Write as _;

use super::format::{clip, count, duration, effect, gain, short};
use crate::judge::record::Record;
use crate::judge::sample::{FunctionCost, Mode, Pair};

/// Instructions per request of one function, before and after.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FunctionChange {
    /// Function name.
    pub name: String,
    /// User or kernel.
    pub mode: Mode,
    /// Instructions per request in the champion.
    pub before: f64,
    /// Instructions per request in the challenger.
    pub after: f64,
}

/// The functions whose cost per request changed most, largest change first.
pub fn changes(champion: &[FunctionCost], champion_requests: u64, challenger: &[FunctionCost], challenger_requests: u64) -> Vec<FunctionChange> {
    let mut by_name = std::collections::BTreeMap::<(Mode, &str), (f64, f64)>::new();
    for cost in champion {
        by_name.entry((cost.mode, &cost.name)).or_default().0 += cost.instructions as f64 / champion_requests as f64;
    }
    for cost in challenger {
        by_name.entry((cost.mode, &cost.name)).or_default().1 += cost.instructions as f64 / challenger_requests as f64;
    }
    let mut all: Vec<FunctionChange> = by_name
        .into_iter()
        .map(|((mode, name), (before, after))| FunctionChange { name: name.to_owned(), mode, before, after })
        .filter(|change| (change.after - change.before).abs() >= 0.05)
        .collect();
    all.sort_by(|a, b| (b.after - b.before).abs().total_cmp(&(a.after - a.before).abs()));
    all
}

/// Everything about one attempt, for people.
pub fn text(record: &Record, diff: &str, changes: &[FunctionChange]) -> String {
    let mut out = String::new();
    let (gain_text, interval) = effect(&record.outcome);
    let _ = writeln!(out, "Attempt {}: {}  {gain_text} {interval}", record.attempt, record.outcome.word());
    let _ = writeln!(out, "  hypothesis  {}", record.hypothesis);
    let _ = writeln!(out, "  change      {}", record.changed);
    let _ = writeln!(out, "  reason      {}", record.outcome.reason());
    let commit = record.commit.as_deref().map_or("none", short);
    let _ = writeln!(out, "  commit      {commit} on refs/attempts/{}, parent {}", record.attempt, short(&record.parent));
    if let Some(binary) = &record.binary {
        let _ = writeln!(out, "  binary      sha256 {binary}");
    }
    let phases: Vec<String> = record.phases.iter().map(|time| format!("{} {}", time.phase, duration(time.seconds))).collect();
    let _ = writeln!(out, "  phases      {} = {}", phases.join(", "), duration(record.seconds()));
    for (title, pairs) in [("screen", &record.screen), ("confirm", &record.confirm)] {
        if !pairs.is_empty() {
            out.push_str(&samples(title, pairs));
        }
    }
    if !changes.is_empty() {
        let _ = writeln!(out, "\nInstructions per request, the functions that changed most:\n  {:>9} {:>9} {:>9}  function", "before", "after", "change");
        for change in changes.iter().take(12) {
            let mode = if change.mode == Mode::Kernel { " [kernel]" } else { "" };
            let _ = writeln!(out, "  {:>9.1} {:>9.1} {:>+9.1}  {}{mode}", change.before, change.after, change.after - change.before, clip(&change.name, 80));
        }
    }
    if !diff.is_empty() {
        let _ = write!(out, "\n{diff}");
    }
    out
}

fn samples(title: &str, pairs: &[Pair]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\nPairs ({title}), instructions per request (user + kernel):\n  {:>20}  {:>26}  {:>26}  {:>8}", "seed", "champion", "challenger", "gain");
    for pair in pairs {
        let side = |sample: &crate::judge::sample::Sample| {
            format!("{} ({} + {})", count(sample.per_request()), count(sample.user_per_request()), count(sample.kernel_per_request()))
        };
        let _ = writeln!(out, "  {:>20}  {:>26}  {:>26}  {:>8}", pair.champion.seed, side(&pair.champion), side(&pair.challenger), gain(pair.d()));
    }
    out
}
