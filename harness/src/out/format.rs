//! Numbers as people read them: thousands, gains, intervals, durations.

use crate::judge::outcome::Outcome;
use crate::judge::sample::{Pair, Sample};
use crate::judge::statistics::Estimate;

/// `12345.6` as `12,346`; not finite as `-`.
pub fn count(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{out}") } else { out }
}

/// A `ln` gain as score gain in percent: `0.0296` is `+3.00%`.
pub fn gain(d: f64) -> String {
    format!("{:+.2}%", d.exp_m1() * 100.0)
}

/// The interval of an estimate, in score gain.
pub fn interval(estimate: &Estimate) -> String {
    format!("[{}, {}]", gain(estimate.lcb), gain(estimate.ucb))
}

/// Seconds as `42s`, `3m05s`, `2h10m`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3600 => format!("{}m{:02}s", whole / 60, whole % 60),
        _ => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
    }
}

/// Eight digits of a commit or a hash.
pub fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// Cut to `width` characters, the cut shown.
pub fn clip(text: &str, width: usize) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Mean instructions per request of one side of some pairs: (user, kernel).
pub fn mean_per_request(pairs: &[Pair], side: fn(&Pair) -> &Sample) -> Option<(f64, f64)> {
    if pairs.is_empty() {
        return None;
    }
    let n = pairs.len() as f64;
    let sum = |part: fn(&Sample) -> f64| pairs.iter().map(|pair| part(side(pair))).sum::<f64>() / n;
    Some((sum(Sample::user_per_request), sum(Sample::kernel_per_request)))
}

/// Gain and interval of an outcome, or dashes where nothing was measured.
pub fn effect(outcome: &Outcome) -> (String, String) {
    match outcome.decision() {
        Some(decision) => (gain(decision.estimate.mean), interval(&decision.estimate)),
        None => ("-".to_owned(), "-".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_and_no_negative_zero() {
        assert_eq!((count(0.0), count(999.4), count(1000.0)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!((count(1234567.0), count(-1234.0), count(-0.2)), ("1,234,567".into(), "-1,234".into(), "0".into()));
        assert_eq!(count(f64::INFINITY), "-");
    }

    #[test]
    fn gains_and_durations_read_as_people_say_them() {
        assert_eq!((gain(1.03f64.ln()), gain(0.0), gain(-0.01)), ("+3.00%".into(), "+0.00%".into(), "-1.00%".into()));
        assert_eq!((duration(59.4), duration(61.0), duration(7800.0)), ("59s".into(), "1m01s".into(), "2h10m".into()));
        assert_eq!((clip("abcdef", 4), clip("abc\ndef", 9)), ("abc…".into(), "abc".into()));
    }
}
