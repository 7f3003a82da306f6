//! `harness simulate`: what was claimed of the rule beside what its simulation gave, a table a question.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::format::{count, gain};
use crate::judge::simulate::{Climb, MIX, Naive, Night, Tally};

/// A meter and a rule that were simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Terms {
    /// Standard deviation of `ln` of one count.
    pub noise: f64,
    /// Confirm pairs by each look of the rule; empty where the rule has none.
    pub looks: Vec<usize>,
}

/// A row: the terms, what was claimed, what was found over all runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row<T> {
    /// On what.
    #[serde(flatten)]
    pub terms: Terms,
    /// What the design claims of it, where it claims anything.
    pub claim: Option<&'static str>,
    /// What came out.
    pub found: T,
}

/// A naive rule, per run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Climbed {
    /// Which.
    pub rule: Naive,
    /// False promotions in a run, on average.
    pub promoted: f64,
    /// Sum of the claimed gains in a run (scale of `d`), on average.
    pub claimed: f64,
}

impl Climbed {
    /// The average of some runs.
    pub fn of(rule: Naive, climbs: &[Climb]) -> Self {
        let mean = |part: fn(&Climb) -> f64| climbs.iter().map(part).sum::<f64>() / climbs.len() as f64;
        Climbed { rule, promoted: mean(|climb| climb.promoted as f64), claimed: mean(|climb| climb.claimed) }
    }
}

/// Both ways with small gains, on the same changes: averages on the scale of `d`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mixed {
    /// The champion's gain where small gains are dropped.
    pub dropped: f64,
    /// The champion's gain where they are stacked.
    pub stacked: f64,
    /// What is left in that stack.
    pub left: f64,
    /// All there is to gain.
    pub there: f64,
}

impl Mixed {
    /// The average of some runs, each without and with a stack.
    pub fn of(nights: &[(Night, Night)]) -> Self {
        let mean = |part: fn(&(Night, Night)) -> f64| nights.iter().map(part).sum::<f64>() / nights.len() as f64;
        Mixed {
            dropped: mean(|night| night.0.champion),
            stacked: mean(|night| night.1.champion),
            left: mean(|night| night.1.left),
            there: mean(|night| night.0.there),
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Simulated runs of each row.
    pub runs: usize,
    /// Attempts in each.
    pub attempts: usize,
    /// Where all draws come from.
    pub seed: u64,
    /// Threshold of the rule, as a fraction of score.
    pub threshold: f64,
    /// Changes that do nothing.
    pub null: Vec<Row<Tally>>,
    /// Changes with the true gain `gain`, one a run.
    pub real: Vec<Row<Tally>>,
    /// That gain, as a fraction of score.
    pub gain: f64,
    /// Changes that do nothing, judged without intervals.
    pub naive: Vec<Row<Climbed>>,
    /// A mix of changes.
    pub mix: Vec<Row<Mixed>>,
    /// What the mix is.
    pub mixed_of: &'static str,
}

impl Report {
    /// A report without rows.
    pub fn new(runs: usize, attempts: usize, seed: u64, threshold: f64, gain: f64) -> Self {
        let (null, real, naive, mix) = Default::default();
        Report { runs, attempts, seed, threshold, null, real, gain, naive, mix, mixed_of: MIX }
    }

    /// Whether any change that does nothing was promoted.
    pub fn promoted_luck(&self) -> bool {
        self.null.iter().any(|row| row.found.promoted > 0)
    }
}

/// The report for people.
pub fn text(report: &Report) -> String {
    let Report { runs, attempts, seed, .. } = report;
    let mut out = format!(
        "Simulated with the rule that judges a search: {runs} runs of {attempts} attempts a row, seed {seed}.\nNoise is one standard deviation of a single count; \"pairs\" are those of an attempt, its screen included.\n"
    );
    out += "\nChanges that do nothing\n";
    out += &tallies(&report.null);
    out += &format!("\nA change that truly gains {:.0}%, once a run\n", 100.0 * report.gain);
    out += &tallies(&report.real);
    out += &format!(
        "\nChanges that do nothing, one draw held against +{:.0}% without an interval; promotions and gain of a run\n",
        100.0 * report.threshold
    );
    let rows = report.naive.iter().map(|row| {
        let found = &row.found;
        let rule = match found.rule {
            Naive::Stored => "against the stored best",
            Naive::OnePair => "against a fresh draw of the champion",
        };
        let promoted = format!("{:.1}", found.promoted);
        let added = format!("{:+.0}%", 100.0 * found.claimed);
        [noise(&row.terms), rule.to_owned(), claim(row), promoted, added, gain(found.claimed)]
    });
    out += &table(["noise", "one draw", "claimed", "promoted", "gains added up", "compounded"], rows);
    out += &format!("\nA mix: {}\n", report.mixed_of);
    let rows = report.mix.iter().map(|row| {
        let Mixed { dropped, stacked, left, there } = row.found;
        let [dropped, stacked, left, there] = [dropped, stacked, left, there].map(gain);
        [noise(&row.terms), looks(&row.terms), claim(row), dropped, stacked, left, there]
    });
    out += &table(
        ["noise", "looks", "claimed", "small gains dropped", "stacked", "left in the stack", "all there is"],
        rows,
    );
    out
}

fn tallies(rows: &[Row<Tally>]) -> String {
    let rows = rows.iter().map(|row| {
        let found = &row.found;
        let share = |part: usize| match part {
            0 => "0".to_owned(),
            part => format!("{} ({:.1}%)", count(part as f64), 100.0 * part as f64 / found.attempts as f64),
        };
        let pairs = format!("{:.1}", found.pairs as f64 / found.attempts as f64);
        let of = count(found.attempts as f64);
        [noise(&row.terms), looks(&row.terms), claim(row), share(found.promoted), share(found.banked), of, pairs]
    });
    table(["noise", "looks", "claimed", "promoted", "banked", "of", "pairs"], rows)
}

fn noise(terms: &Terms) -> String {
    format!("{}%", (1e6 * terms.noise).round() / 1e4)
}

fn looks(terms: &Terms) -> String {
    terms.looks.iter().map(usize::to_string).collect::<Vec<_>>().join("/")
}

fn claim<T>(row: &Row<T>) -> String {
    row.claim.unwrap_or("-").to_owned()
}

fn table<const N: usize>(header: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header);
    rows.for_each(|row| {
        table.add_row(row);
    });
    // All but the words are figures.
    for (index, name) in header.iter().enumerate() {
        if let Some(column) = table.column_mut(index).filter(|_| !["looks", "one draw", "claimed"].contains(name)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!(" {}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_stands_beside_what_was_found() {
        let terms = || Terms { noise: 0.001, looks: vec![3, 6, 12] };
        let mut report = Report::new(2, 300, 1, 0.03, 0.05);
        let found = Tally { attempts: 600, promoted: 3, banked: 0, pairs: 1_800 };
        report.null.push(Row { terms: terms(), claim: Some("none promoted"), found });
        let climbs = [Climb { promoted: 4, claimed: 0.2 }, Climb { promoted: 2, claimed: 0.1 }];
        let found = Climbed::of(Naive::OnePair, &climbs);
        report.naive.push(Row { terms: terms(), claim: None, found });
        let night = |champion, left| Night { champion, left, there: 0.5 };
        let found = Mixed::of(&[(night(0.2, 0.0), night(0.4, 0.1)), (night(0.2, 0.0), night(0.4, 0.0))]);
        report.mix.push(Row { terms: terms(), claim: None, found });
        assert!(report.promoted_luck());
        let text = text(&report);
        let words: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "0.1% 3/6/12 none promoted 3 (0.5%) 0 600 3.0",
            "0.1% against a fresh draw of the champion - 3.0 +15% +16.18%",
            "0.1% 3/6/12 - +22.14% +49.18% +5.13% +64.87%",
        ] {
            assert!(words.contains(&line.to_owned()), "{line} in {text}");
        }
    }
}
