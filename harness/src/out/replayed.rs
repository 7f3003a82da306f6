//! `harness replay`: recorded and new numbers side by side, and the answer.

use std::fmt::Write as _;

use serde::Serialize;

use super::format::{clip, count, gain, short};
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
    /// Where the counts cannot be compared: the gain over the run's baseline, measured here.
    pub against: Option<Against>,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// A gain over the run's baseline, on the scale of `d`.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The baseline's commit.
    pub baseline: String,
    /// Mean of `ln(I_baseline / I)`, both counted here on the same seeds.
    pub measured: f64,
    /// What the ledger claims: the promotions before it and its own gain.
    pub recorded: f64,
    /// The baseline's samples here, seed by seed.
    pub samples: Vec<Sample>,
}

/// All promoted attempts replayed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Night {
    /// How many there are to replay.
    pub of: usize,
    /// Those that were, in order.
    pub replays: Vec<Report>,
}

impl Report {
    /// An attempt that could not even be looked up.
    pub fn without(attempt: u32, answer: Answer) -> Self {
        let commit = String::new();
        Report { commit, attempt: Some(attempt), binaries: (None, None), seeds: Vec::new(), against: None, answer }
    }

    /// Mean instructions per request, recorded and measured now, over the seeds that were measured.
    fn per_request(&self) -> (Option<f64>, Option<f64>) {
        let mean = |samples: Vec<&Sample>| {
            let n = samples.len() as f64;
            (n > 0.0).then(|| samples.iter().map(|sample| sample.per_request()).sum::<f64>() / n)
        };
        let recorded = mean(self.seeds.iter().map(|seed| &seed.recorded).collect());
        (recorded, mean(self.seeds.iter().filter_map(|seed| seed.measured.as_ref()).collect()))
    }
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
    let (word, reason) = words(&report.answer);
    let _ = writeln!(out, "  {word}: {reason}");
    if let Some(against) = &report.against {
        let baseline = short(&against.baseline);
        let _ = writeln!(
            out,
            "  against the baseline {baseline} measured here: {} score, recorded {}",
            gain(against.measured),
            gain(against.recorded)
        );
    }
    out
}

fn words(answer: &Answer) -> (&'static str, &str) {
    match answer {
        Answer::Reproduced(reason) => ("reproduced", reason),
        Answer::NotReproduced(reason) => ("not reproduced", reason),
        Answer::NotComparable(reason) => ("not comparable", reason),
    }
}

/// The columns of [`row`].
pub fn header() -> String {
    format!(
        "{:>4}  {:<8}  {:>9}  {:>9}  {:<14}  {:>9}  {:>9}  change\n{:>16}  {:>9}  {:>9}  {:<14}  {:>9}  {:>9}\n",
        "#",
        "commit",
        "recorded",
        "now",
        "answer",
        "recorded",
        "now",
        "",
        "instr/req",
        "instr/req",
        "",
        "over base",
        "over base"
    )
}

/// A replay in a line; its reason in a second one where it did not come out.
pub fn row(report: &Report, change: &str) -> String {
    let (recorded, measured) = report.per_request();
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), count);
    let over = |of: fn(&Against) -> f64| report.against.as_ref().map_or("-".to_owned(), |against| gain(of(against)));
    let (word, reason) = words(&report.answer);
    let mut out = format!(
        "{:>4}  {:<8}  {:>9}  {:>9}  {word:<14}  {:>9}  {:>9}  {}\n",
        report.attempt.map_or("-".to_owned(), |number| number.to_string()),
        short(&report.commit),
        figure(recorded),
        figure(measured),
        over(|against| against.recorded),
        over(|against| against.measured),
        clip(change, 48)
    );
    if !matches!(report.answer, Answer::Reproduced(_)) && report.against.is_none() {
        let _ = writeln!(out, "      {}", clip(reason, 150));
    }
    out
}

/// The night in figures.
pub fn summary(night: &Night) -> String {
    let of = |word: &str| night.replays.iter().filter(|report| words(&report.answer).0 == word).count();
    let mut out = format!(
        "{} of {} promoted attempts replayed: {} reproduced, {} not reproduced, {} not comparable to the instruction\n",
        night.replays.len(),
        night.of,
        of("reproduced"),
        of("not reproduced"),
        of("not comparable")
    );
    if let Some((report, against)) =
        night.replays.iter().rev().find_map(|report| Some((report, report.against.as_ref()?)))
    {
        let _ = writeln!(
            out,
            "the last of these, {}, against its baseline {} measured here: {} score, recorded {} ({})",
            short(&report.commit),
            short(&against.baseline),
            gain(against.measured),
            gain(against.recorded),
            words(&report.answer).1
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::{Load, Side};

    fn report(answer: Answer, against: Option<(f64, f64)>) -> Report {
        let load = Load { sent: 10, verified: 10, wrong: 0, lost: 0 };
        let sample = |user| Sample { seed: 1, user, kernel: 0, load, side: Side::default() };
        let against = against.map(|(measured, recorded)| Against {
            baseline: "ba5eba5eba5e".into(),
            measured,
            recorded,
            samples: vec![sample(60_000)],
        });
        let seeds = vec![Replayed { recorded: sample(50_000), measured: Some(sample(40_000)) }];
        Report { seeds, against, ..Report { commit: "c0ffee00c0".into(), ..Report::without(7, answer) } }
    }

    #[test]
    fn what_another_machine_cannot_compare_is_told_against_the_baseline_measured_there() {
        let other = report(Answer::NotComparable("another fingerprint".into()), Some((1.5_f64.ln(), 1.4_f64.ln())));
        let text = text(&other);
        assert!(text.contains("not comparable: another fingerprint\n"), "{text}");
        assert!(
            text.contains("against the baseline ba5eba5e measured here: +50.00% score, recorded +40.00%"),
            "{text}"
        );
        let row = row(&other, "KNOB = 1");
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = ["7", "c0ffee00", "5,000", "4,000", "not", "comparable", "+40.00%", "+50.00%", "KNOB", "=", "1"];
        assert_eq!(words, expected);
    }

    #[test]
    fn the_summary_of_a_night_counts_its_answers_and_what_was_not_reached() {
        let replays = vec![
            report(Answer::Reproduced("same".into()), None),
            report(Answer::NotReproduced("it differs".into()), None),
        ];
        assert!(row(&replays[1], "").contains("\n      it differs\n"));
        let text = summary(&Night { of: 3, replays });
        assert!(text.starts_with("2 of 3 promoted attempts replayed: 1 reproduced, 1 not reproduced, 0 not"), "{text}");
    }
}
