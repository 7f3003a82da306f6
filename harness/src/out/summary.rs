//! The end of a run: attempts by outcome, baseline and champion, what was promoted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::format::{count, duration, gain, interval, mean_per_request, short};
use crate::judge::outcome::Outcome;
use crate::judge::record::{EndReason, Held, Record};
use crate::judge::statistics::{Estimate, Noise};

/// The run in figures; `--json` prints it as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Name in runs.toml.
    pub run: String,
    /// Why it ended.
    pub reason: EndReason,
    /// Attempts of the whole run by outcome.
    pub outcomes: BTreeMap<String, u32>,
    /// Branch that holds the champion.
    pub branch: String,
    /// Baseline commit.
    pub baseline: String,
    /// Champion commit.
    pub champion: String,
    /// What counted, and its fingerprint.
    pub meter: String,
    /// Its spread as the verdicts took it.
    pub noise: Noise,
    /// Whether that was measured; else it was assumed.
    pub calibrated: bool,
    /// Promoted attempts, in order.
    pub promoted: Vec<Promoted>,
    /// Provable gains below the threshold that are not in the champion.
    pub bank: Bank,
    /// Attempts that could not be tried in full, and what the last of them went without.
    pub unchecked: Option<Unchecked>,
    /// Champion against baseline on held-out seeds.
    pub held: Option<Held>,
    /// Median seconds of the attempts that reached a verdict.
    pub median_seconds: Option<f64>,
}

/// What validation left out.
#[derive(Clone, Debug, Serialize)]
pub struct Unchecked {
    /// In how many attempts.
    pub attempts: usize,
    /// What, and why.
    pub what: String,
}

/// A row of the summary.
#[derive(Clone, Debug, Serialize)]
pub struct Promoted {
    /// Attempt number.
    pub attempt: u32,
    /// Commit.
    pub commit: String,
    /// What it changed.
    pub change: String,
    /// `ln` gain: mean, lower and upper bound.
    pub gain: (f64, f64, f64),
    /// Instructions per request before and after (user + kernel).
    pub per_request: (f64, f64),
    #[serde(skip)]
    line: String,
}

/// What remains in the bank.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bank {
    /// Each with its own gain, in order.
    pub changes: Vec<Promoted>,
    /// The last measurement of the whole stack against the champion, where it has more than one change.
    pub whole: Option<Estimate>,
}

/// What the summary needs beside the records.
pub struct Frame {
    /// See [`Summary::run`].
    pub run: String,
    /// See [`Summary::branch`].
    pub branch: String,
    /// See [`Summary::baseline`].
    pub baseline: String,
    /// See [`Summary::champion`].
    pub champion: String,
    /// See [`Summary::meter`].
    pub meter: String,
    /// See [`Summary::noise`].
    pub noise: Noise,
}

impl Summary {
    /// Sum up a run's records.
    pub fn of(frame: Frame, reason: EndReason, held: Option<Held>, records: &[Record]) -> Self {
        let mut outcomes = BTreeMap::new();
        for record in records {
            *outcomes.entry(record.outcome.word().to_owned()).or_insert(0) += 1;
        }
        let rows = |wanted: fn(&Outcome) -> bool| {
            records.iter().filter(|record| wanted(&record.outcome)).filter_map(row).collect()
        };
        let mut seconds: Vec<f64> =
            records.iter().filter(|record| record.outcome.decision().is_some()).map(Record::seconds).collect();
        seconds.sort_by(f64::total_cmp);
        Summary {
            run: frame.run,
            reason,
            outcomes,
            branch: frame.branch,
            baseline: frame.baseline,
            champion: frame.champion,
            meter: frame.meter,
            noise: frame.noise,
            calibrated: frame.noise != Noise::UNCALIBRATED,
            promoted: rows(|outcome| matches!(outcome, Outcome::Promoted { .. })),
            bank: left_in_bank(records),
            unchecked: unchecked(records),
            held,
            median_seconds: seconds.get(seconds.len() / 2).copied(),
        }
    }

    /// The summary for people, one screen.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "Run {}: ended, {}", self.run, self.reason);
        let counts: Vec<String> = self.outcomes.iter().map(|(word, n)| format!("{n} {word}")).collect();
        let total: u32 = self.outcomes.values().sum();
        let _ = writeln!(
            out,
            "  attempts   {total}: {}",
            if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
        );
        if let Some(seconds) = self.median_seconds {
            let _ = writeln!(out, "  an attempt {} (median, change to verdict)", duration(seconds));
        }
        let _ = writeln!(out, "  meter      {}", self.meter);
        let _ = writeln!(out, "  noise      {}", self.noise.words());
        if let Some(Unchecked { attempts, what }) = &self.unchecked {
            let _ = writeln!(out, "  UNCHECKED  in {attempts} attempts {what}");
        }
        for (title, rows) in [("promoted", &self.promoted), ("in the bank, below the threshold", &self.bank.changes)] {
            if !rows.is_empty() {
                let _ = writeln!(out, "  {title}:");
            }
            for row in rows {
                let _ = writeln!(out, "    #{:<4} {}  {}", row.attempt, short(&row.commit), row.line);
            }
        }
        if let Some(whole) = &self.bank.whole {
            let (gain, bounds, branch) = (gain(whole.mean), interval(whole), format!("bank/{}", self.run));
            let _ = writeln!(out, "    together {gain} {bounds} over the champion, on {branch}");
        }
        match &self.held {
            None if self.promoted.is_empty() => {
                let _ = writeln!(out, "  champion   {} is still the baseline", short(&self.champion));
            }
            None => {
                let _ = writeln!(out, "  champion   {}, not yet compared with the baseline", short(&self.champion));
                let _ = writeln!(out, "  branch     {}", self.branch);
            }
            Some(held) => {
                let side = |name: &str, commit: &str, sample: &crate::judge::sample::Sample| {
                    format!(
                        "  {name:<10} {}  {:>8} instructions/request ({} user + {} kernel), score {}\n",
                        short(commit),
                        count(sample.per_request()),
                        count(sample.user_per_request()),
                        count(sample.kernel_per_request()),
                        count(1e9 / sample.per_request()),
                    )
                };
                out.push_str(&side("baseline", &self.baseline, &held.baseline));
                out.push_str(&side("champion", &self.champion, &held.champion));
                let _ = writeln!(out, "  branch     {}", self.branch);
                let _ = writeln!(
                    out,
                    "  held out   {} {} on {} seeds no attempt saw; the promotions claimed {}: {}",
                    gain(held.estimate.mean),
                    interval(&held.estimate),
                    held.estimate.pairs,
                    gain(held.claimed),
                    if held.agrees { "they agree" } else { "THEY DO NOT AGREE" },
                );
            }
        }
        out
    }
}

fn unchecked(records: &[Record]) -> Option<Unchecked> {
    let all: Vec<&String> = records.iter().filter_map(|record| record.unchecked.as_ref()).collect();
    let what = all.last()?.lines().next().unwrap_or_default().to_owned();
    Some(Unchecked { attempts: all.len(), what })
}

/// The banked attempts that no promotion took along.
fn left_in_bank(records: &[Record]) -> Bank {
    let last = records.iter().rposition(|record| matches!(record.outcome, Outcome::Promoted { .. }));
    let since = &records[last.map_or(0, |at| at + 1)..];
    let banked: Vec<&Record> = since.iter().filter(|record| matches!(record.outcome, Outcome::Banked { .. })).collect();
    Bank {
        changes: banked.iter().filter_map(|record| row(record)).collect(),
        whole: banked.last().and_then(|record| record.whole),
    }
}

fn row(record: &Record) -> Option<Promoted> {
    let estimate = &record.outcome.decision()?.estimate;
    let side = |side| mean_per_request(record.deciding_pairs(), side).map_or(f64::NAN, |(user, kernel)| user + kernel);
    let per_request = (side(|pair| &pair.champion), side(|pair| &pair.challenger));
    Some(Promoted {
        attempt: record.attempt,
        commit: record.commit.clone()?,
        change: record.changed.to_string(),
        gain: (estimate.mean, estimate.lcb, estimate.ucb),
        per_request,
        line: format!(
            "{:>8}  {:>8} -> {:>8}  {}",
            gain(estimate.mean),
            count(per_request.0),
            count(per_request.1),
            record.changed
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stopped_before_its_comparison_calls_a_promoted_champion_no_baseline() {
        let mut summary = Summary {
            run: "default".into(),
            reason: EndReason::Interrupted,
            outcomes: BTreeMap::new(),
            branch: "search/default".into(),
            baseline: "aaaaaaaaaa".into(),
            champion: "aaaaaaaaaa".into(),
            meter: "vm".into(),
            noise: Noise::UNCALIBRATED,
            calibrated: false,
            promoted: Vec::new(),
            bank: Bank::default(),
            unchecked: None,
            held: None,
            median_seconds: None,
        };
        assert!(summary.text().contains("noise      NOT CALIBRATED, assumed: "), "{}", summary.text());
        assert!(summary.text().contains("champion   aaaaaaaa is still the baseline"), "{}", summary.text());
        summary.champion = "bbbbbbbbbb".into();
        summary.promoted.push(Promoted {
            attempt: 1,
            commit: "bbbbbbbbbb".into(),
            change: "A = B".into(),
            gain: (0.1, 0.09, 0.11),
            per_request: (2.0, 1.0),
            line: "A = B".into(),
        });
        let text = summary.text();
        assert!(text.contains("champion   bbbbbbbb, not yet compared with the baseline"), "{text}");
        assert!(text.contains("branch     search/default") && !text.contains("is still the baseline"), "{text}");
    }
}
