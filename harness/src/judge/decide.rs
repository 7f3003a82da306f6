//! The decision rule: pairs in, verdict out. The statistics are in `statistics.rs`; docs/method.md says why this rule
//! and not a fixed threshold on a stored score.
//!
//! Two stages. The *screen* stops what certainly is not worth more pairs; its figures are then thrown away. The
//! *confirm* stage looks at fresh pairs up to `looks.len()` times and is the only one that can promote or bank.

use serde::{Deserialize, Serialize};

use super::outcome::{Decision, Verdict};
use super::sample::Pair;
use super::statistics::{Estimate, Noise, estimate, fewer_instructions, from_score_gain, half_width, score_gain};

/// By what a gain must clear the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The lower bound of the interval: proven.
    #[default]
    Interval,
    /// The mean of the first look, however wide the interval.
    Point,
}

/// A run's decision rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// By what a gain must clear the threshold.
    pub by: By,
    /// Score gain that promotes, as a fraction: `0.03` is 3%.
    pub gain: f64,
    /// Pairs of the screen stage.
    pub screen_pairs: usize,
    /// Pairs of the confirm stage by which each look is taken (cumulative, increasing).
    pub looks: Vec<usize>,
    /// One-sided error of the screen.
    pub screen_alpha: f64,
    /// One-sided error of the whole confirm stage.
    pub confirm_alpha: f64,
    /// How `confirm_alpha` is divided among the looks; sums to 1, as long as `looks`.
    pub split: Vec<f64>,
}

impl Default for Rule {
    fn default() -> Self {
        Rule {
            by: By::Interval,
            gain: 0.03,
            screen_pairs: 3,
            looks: vec![3, 6, 12],
            screen_alpha: 0.05,
            confirm_alpha: 0.001,
            split: vec![0.2, 0.3, 0.5],
        }
    }
}

impl Rule {
    /// The rule with looks for a meter whose counts vary from window to window (`perf`).
    #[must_use]
    pub fn for_noisy_meter(self) -> Self {
        Rule { looks: vec![6, 12, 24], ..self }
    }

    /// The threshold on the scale of `d`.
    pub fn tau(&self) -> f64 {
        from_score_gain(self.gain)
    }

    /// One-sided error of a look.
    pub fn alpha(&self, look: usize) -> f64 {
        self.confirm_alpha * self.split.get(look).copied().unwrap_or(0.0)
    }

    fn is_last(&self, look: usize) -> bool {
        look + 1 >= self.looks.len() || self.by == By::Point
    }
}

/// What the screen says.
#[derive(Clone, Debug, PartialEq)]
pub enum Screening {
    /// Worth fresh pairs. The estimate is kept for show only.
    Confirm(Estimate),
    /// Not worth more; the verdict is never to promote or to bank.
    Stop(Decision),
}

/// What a look at the confirm pairs says.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirming {
    /// Not yet: add this many fresh pairs and look again.
    More(usize),
    /// Decided.
    Done(Decision),
}

/// Judge the screen pairs.
pub fn screen(rule: &Rule, pairs: &[Pair], noise: &Noise) -> Screening {
    let estimate = of(pairs, noise, rule.screen_alpha);
    if let Some(decision) = no_number(&estimate) {
        return Screening::Stop(decision);
    }
    if estimate.ucb < rule.tau() && estimate.lcb <= estimate.floor {
        let note = format!("stopped at the screen: {}", below(rule, &estimate));
        return Screening::Stop(Decision { verdict: Verdict::Reject, estimate, screen: None, note });
    }
    Screening::Confirm(estimate)
}

/// Judge all confirm pairs so far. `look` counts from 0; `pairs` are those of this look and the earlier ones.
pub fn confirm(rule: &Rule, pairs: &[Pair], look: usize, noise: &Noise) -> Confirming {
    let estimate = of(pairs, noise, rule.alpha(look));
    if let Some(decision) = no_number(&estimate) {
        return Confirming::Done(decision);
    }
    let Some((verdict, note)) = (match rule.by {
        By::Interval => by_interval(rule, &estimate, look),
        By::Point => Some(by_point(rule, &estimate)),
    }) else {
        return Confirming::More(rule.looks[look + 1].saturating_sub(pairs.len()));
    };
    Confirming::Done(Decision { verdict, estimate, screen: None, note })
}

/// What becomes of a change that was a real gain over the head of the bank (`own`), once the whole stack of `changes` up to
/// it was measured against the champion (`stack`). Only the stack's own measurement promotes it; gains are never added
/// up. A stack that does not pass stays banked, with this change on top, whatever the change would have been alone.
pub fn stacked(own: &Decision, stack: Decision, changes: usize) -> Decision {
    let whole = format!("the stack of {changes} banked changes against the champion");
    match stack.verdict {
        Verdict::Promote => Decision { note: format!("{whole}: {}", stack.note), ..stack },
        _ => Decision {
            verdict: Verdict::Bank,
            note: format!("{}; {whole} is {}", own.note, interval(&stack.estimate)),
            ..own.clone()
        },
    }
}

fn interval(e: &Estimate) -> String {
    let gain = |d: f64| format!("{:+.2}%", score_gain(d) * 100.0);
    format!("{} [{}, {}] on {} pairs", gain(e.mean), gain(e.lcb), gain(e.ucb), e.pairs)
}

fn of(pairs: &[Pair], noise: &Noise, alpha: f64) -> Estimate {
    let ds: Vec<f64> = pairs.iter().map(Pair::d).collect();
    estimate(&ds, &noise.with_windows_of(pairs), alpha)
}

fn no_number(estimate: &Estimate) -> Option<Decision> {
    (!estimate.mean.is_finite()).then(|| Decision {
        verdict: Verdict::Undecided,
        estimate: *estimate,
        screen: None,
        note: "a pair has no finite ratio: one of its windows counted no instruction or verified no request".to_owned(),
    })
}

fn by_interval(rule: &Rule, e: &Estimate, look: usize) -> Option<(Verdict, String)> {
    let tau = rule.tau();
    if e.lcb >= tau {
        return Some((
            Verdict::Promote,
            format!(
                "{}, and at least {} is certain: the threshold is {}",
                saves(e.mean),
                percent(e.lcb),
                threshold(rule)
            ),
        ));
    }
    // An early look's interval is wide (t with 2 degrees of freedom at 0.0002 is 50): a gain above the floor that holds at
    // the screen's own error may yet be worth banking, so it gets its other looks before it is rejected.
    let settled = rule.is_last(look) || e.mean - half_width(e.pairs, e.s_eff, rule.screen_alpha) <= e.floor;
    if e.ucb < tau && e.lcb <= e.floor && settled {
        return Some((Verdict::Reject, below(rule, e)));
    }
    let real = e.lcb > e.floor;
    if real && (e.ucb < tau || rule.is_last(look)) {
        return Some((
            Verdict::Bank,
            format!("{}: a real gain, but not for certain {}", saves(e.mean), threshold(rule)),
        ));
    }
    rule.is_last(look).then(|| (Verdict::Undecided, undecided(rule, e)))
}

fn by_point(rule: &Rule, e: &Estimate) -> (Verdict, String) {
    if e.mean > rule.tau() {
        return (
            Verdict::Promote,
            format!("{}: the mean is above {} (by = \"point\": not proven)", saves(e.mean), threshold(rule)),
        );
    }
    let verdict = if e.lcb > e.floor { Verdict::Bank } else { Verdict::Reject };
    (verdict, format!("{}: the mean is not above {}", saves(e.mean), threshold(rule)))
}

fn below(rule: &Rule, e: &Estimate) -> String {
    format!("{}; at most {}, the threshold is {}", saves(e.mean), percent(e.ucb), threshold(rule))
}

fn undecided(rule: &Rule, e: &Estimate) -> String {
    let range = format!("undecided after {} pairs: between {} and {}", e.pairs, percent(e.lcb), percent(e.ucb));
    match pairs_needed(rule, e) {
        Some(n) => format!("{range}; at this spread it would take about {} more", n.saturating_sub(e.pairs)),
        None => format!("{range}; the mean is too near a bound for any number of pairs to tell"),
    }
}

/// How many pairs would settle it, were the mean and the spread to stay as they are: the smallest number whose interval
/// leaves one answer. `None` beyond a million.
pub fn pairs_needed(rule: &Rule, e: &Estimate) -> Option<usize> {
    let tau = rule.tau();
    let distance = if e.mean >= tau {
        e.mean - tau
    } else if e.mean > e.floor {
        (e.mean - e.floor).max(tau - e.mean)
    } else {
        tau - e.mean
    };
    let enough = |n: &usize| half_width(*n, e.s_eff, e.alpha) <= distance;
    let (mut low, mut high) = (1usize, 1_000_000usize);
    if !enough(&high) {
        return None;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if enough(&middle) { high = middle } else { low = middle }
    }
    Some(high)
}

fn saves(d: f64) -> String {
    let fewer = fewer_instructions(d) * 100.0;
    if fewer < 0.0 {
        format!("{}% more instructions", figure(-fewer))
    } else {
        format!("{fewer:.2}% fewer instructions")
    }
}

fn percent(d: f64) -> String {
    let gain = score_gain(d) * 100.0;
    let sign = if gain < 0.0 { "-" } else { "+" };
    format!("{sign}{}% score", figure(gain.abs()))
}

/// Two decimals; in powers of ten where those would be a line of digits.
fn figure(value: f64) -> String {
    if value < 1e9 { format!("{value:.2}") } else { format!("{value:.2e}") }
}

fn threshold(rule: &Rule) -> String {
    format!("+{:.2}%", rule.gain * 100.0)
}

#[cfg(test)]
pub(super) mod tests;
