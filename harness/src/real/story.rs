//! What a promoted commit's message says, so that `git log` alone tells the night. Words of a proposer are cleaned
//! before they come here; trailers are ours alone.

use std::fmt::Write as _;

use crate::judge::hypothesis;
use crate::judge::outcome::Outcome;
use crate::judge::profile::FunctionShift;
use crate::judge::record::Record;
use crate::judge::sample::{Mode, Pair, Sample};
use crate::judge::statistics::{Estimate, score_gain};

/// Functions that a promoted commit's message names.
const FUNCTIONS: usize = 5;

/// Message of an attempt's own commit, before anything is known of it.
pub fn attempted(number: u32, change: &str, hypothesis: &str) -> String {
    format!("Attempt {number}: {}\n\n{hypothesis}\n", subject(change))
}

/// Message of a commit on the run's branch: gain and counts are those of this change over the commit before it; where a stack
/// was promoted, its topmost commit says what the whole gained.
pub fn promoted(record: &Record, shifts: &[FunctionShift], meter: &str, fingerprint: &str, ledger: &str) -> String {
    let mut text = format!("{}\n\n{}\n\n", subject(&record.changed.to_string()), record.hypothesis);
    if !shifts.is_empty() {
        text.push_str("Where the difference went, instructions per request:\n");
        for shift in shifts.iter().take(FUNCTIONS) {
            let kernel = if shift.mode == Mode::Kernel { " [kernel]" } else { "" };
            let _ = writeln!(text, "{:>+9.1}  {}{kernel}", shift.change(), hypothesis::clean(&shift.name));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Attempt: {}", record.attempt);
    if let Some(decision) = record.own_decision() {
        let _ = writeln!(text, "Gain: {}", effect(&decision.estimate));
    }
    if let (Some(_), Outcome::Promoted { decision }) = (&record.own, &record.outcome) {
        let beneath: Vec<String> = record.bank.iter().map(u32::to_string).collect();
        let whole = effect(&decision.estimate);
        let _ = writeln!(text, "Stack: {whole}, with attempts {} beneath", beneath.join(" "));
    }
    let pairs = if record.confirm.is_empty() { &record.screen } else { &record.confirm };
    let _ = writeln!(text, "Instructions-per-request-before: {}", mean(pairs, |pair| &pair.champion));
    let _ = writeln!(text, "Instructions-per-request-after: {}", mean(pairs, |pair| &pair.challenger));
    let seeds: Vec<String> = pairs.iter().map(|pair| pair.challenger.seed.to_string()).collect();
    let _ = writeln!(text, "Seeds: {}", seeds.join(" "));
    let _ = writeln!(text, "Meter: {meter} {fingerprint}");
    if let Some(binary) = &record.binary {
        let _ = writeln!(text, "Binary: sha256 {binary}");
    }
    let _ = writeln!(text, "Ledger: {ledger}");
    text
}

fn effect(e: &Estimate) -> String {
    let percent = |d: f64| format!("{:+.3}%", score_gain(d) * 100.0);
    format!("{} [{}, {}] score, {} pairs, alpha {}", percent(e.mean), percent(e.lcb), percent(e.ucb), e.pairs, e.alpha)
}

fn subject(change: &str) -> String {
    let line = change.lines().next().unwrap_or("");
    if line.chars().count() <= 72 { line.to_owned() } else { line.chars().take(69).chain("...".chars()).collect() }
}

fn mean(pairs: &[Pair], side: fn(&Pair) -> &Sample) -> String {
    let n = pairs.len() as f64;
    let of = |part: fn(&Sample) -> f64| pairs.iter().map(|pair| part(side(pair))).sum::<f64>() / n;
    let (user, kernel) = (of(Sample::user_per_request), of(Sample::kernel_per_request));
    format!("{:.1} (user {user:.1}, kernel {kernel:.1})", user + kernel)
}
