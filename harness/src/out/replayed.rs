//! `harness replay`: recorded and new numbers side by side, and the answer.

use std::fmt::Write as _;

use serde::Serialize;

use super::format::{count, gain, short};
use crate::judge::sample::Sample;

/// The answer of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer", content = "reason")]
pub enum Answer {
    /// The numbers came out the same (exact meter) or within its spread (hardware meter).
    Reproduced(String),
    /// They did not.
    NotReproduced(String),
    /// There is nothing to compare, or it was another machine.
    NotComparable(String),
}

/// One seed of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// What the ledger holds.
    pub recorded: Sample,
    /// What was measured now; `None` when it could not be.
    pub measured: Option<Sample>,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The commit.
    pub commit: String,
    /// The attempt whose commit it is, where it is one.
    pub attempt: Option<u32>,
    /// SHA-256 of the recorded binary and of the one built now.
    pub binaries: (Option<String>, Option<String>),
    /// Seed by seed.
    pub seeds: Vec<Replayed>,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The report for people.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let attempt = report.attempt.map_or(String::new(), |number| format!(" (attempt {number})"));
    let _ = writeln!(out, "Replay of {}{attempt}", short(&report.commit));
    let hash = |hash: &Option<String>| hash.as_deref().map_or("-".to_owned(), |hash| short(hash).to_owned());
    let _ = writeln!(out, "  binary   recorded {}, built now {}", hash(&report.binaries.0), hash(&report.binaries.1));
    if !report.seeds.is_empty() {
        let _ = writeln!(out, "  {:>20}  {:>28}  {:>28}", "seed", "recorded instr (user+kernel)", "measured now");
    }
    for seed in &report.seeds {
        let side = |sample: &Sample| format!("{} + {}", count(sample.user as f64), count(sample.kernel as f64));
        let measured = seed.measured.as_ref().map_or("-".to_owned(), side);
        let note = match &seed.measured {
            Some(sample) if (sample.user, sample.kernel) == (seed.recorded.user, seed.recorded.kernel) => {
                "same".to_owned()
            }
            Some(sample) => gain((sample.per_request() / seed.recorded.per_request()).ln()),
            None => String::new(),
        };
        let _ = writeln!(out, "  {:>20}  {:>28}  {measured:>28}  {note}", seed.recorded.seed, side(&seed.recorded));
    }
    let (word, reason) = match &report.answer {
        Answer::Reproduced(reason) => ("reproduced", reason),
        Answer::NotReproduced(reason) => ("not reproduced", reason),
        Answer::NotComparable(reason) => ("not comparable", reason),
    };
    let _ = writeln!(out, "  {word}: {reason}");
    out
}
