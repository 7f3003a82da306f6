//! Judging a drive of [`Plan::attack`]: what refusing costs beside answering, how long the answered wait, and memory.
//! All three compare rounds of one run, so that a slow or busy machine cancels out.

use crate::drive::Trace;
use crate::plan::{Phase, Plan};
use crate::report::{Latency, Report};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The p99 of answered requests under attack may be this many times that in quiet.
const P99_AT_MOST: f64 = 2.0;
/// A refused request may cost this many times an answered one.
const COST_AT_MOST: f64 = 1.0;
/// Memory may grow by this many KiB, or by this share of what there was, whichever is more.
const GROWTH_KIB: u64 = 1024;
const GROWTH_SHARE: f64 = 0.01;

/// One kind of rounds, all of them taken together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Requests, answered or refused, all verified.
    pub requests: u64,
    /// Those of them that are refused.
    pub refused: u64,
    /// CPU time of the server a request, in microseconds.
    pub server_us_per_request: f64,
    /// Latencies of the requests that are answered.
    pub answered_us: Latency,
}

/// A ratio found in each pair of neighbouring rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The one in the middle.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// What the median may be.
    pub allowed: f64,
}

impl Ratio {
    /// Whether the median is within what is allowed.
    pub fn holds(&self) -> bool {
        self.median <= self.allowed
    }

    fn of(mut found: Vec<f64>, allowed: f64) -> Option<Ratio> {
        found.sort_by(f64::total_cmp);
        let (least, most) = (*found.first()?, *found.last()?);
        let (low, high) = (found[(found.len() - 1) / 2], found[found.len() / 2]);
        Some(Ratio { median: (low + high) / 2.0, least, most, allowed })
    }
}

/// The server's memory before the window and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// After the warm-up, one round of each kind, in KiB.
    pub before_kib: u64,
    /// After the last round, in KiB.
    pub after_kib: u64,
    /// By how much it may grow, in KiB.
    pub allowed_kib: u64,
}

impl Memory {
    /// Whether it grew by no more than is allowed.
    pub fn flat(&self) -> bool {
        self.after_kib <= self.before_kib + self.allowed_kib
    }
}

/// What an attack did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttackReport {
    /// The drive as a whole.
    pub drive: Report,
    /// The quiet rounds.
    pub quiet: Side,
    /// The rounds under attack.
    pub attack: Side,
    /// CPU time of a refused request, in those of an answered one.
    pub cost: Ratio,
    /// The p99 of answered requests under attack, in those of quiet rounds.
    pub p99: Ratio,
    /// The server's memory.
    pub memory: Memory,
}

impl AttackReport {
    /// Compares the rounds of a drive; an error says why they cannot be.
    pub fn of(plan: &Plan, drive: Report, trace: &Trace) -> anyhow::Result<AttackReport> {
        anyhow::ensure!(
            trace.rounds.len() == plan.rounds.len(),
            "only {} of {} rounds were sent and measured: {}",
            trace.rounds.len(),
            plan.rounds.len(),
            drive.summary()
        );
        let rounds =
            |phase| (plan.warmup_rounds..plan.rounds.len()).filter(move |round| Phase::of(plan, *round) == Some(phase));
        let (quiet, attack): (Vec<usize>, Vec<usize>) =
            (rounds(Phase::Quiet).collect(), rounds(Phase::Attack).collect());
        let side = |rounds: &[usize]| side(plan, trace, rounds);
        let pairs: Vec<(Side, Side)> =
            quiet.iter().zip(&attack).map(|(quiet, attack)| (side(&[*quiet]), side(&[*attack]))).collect();
        let ratio = |of: fn(&Side, &Side) -> f64, allowed| {
            let found: Vec<f64> = pairs.iter().map(|(quiet, attack)| of(quiet, attack)).collect();
            anyhow::ensure!(
                found.iter().all(|ratio| ratio.is_finite()),
                "a round has no verified requests, or too few to cost the server any time that is counted: {}",
                drive.summary()
            );
            Ratio::of(found, allowed).ok_or_else(|| anyhow::anyhow!("the plan has no rounds to compare"))
        };
        let cost = ratio(cost_of_refusal, COST_AT_MOST)?;
        let p99 = ratio(|quiet, attack| attack.answered_us.p99 as f64 / quiet.answered_us.p99 as f64, P99_AT_MOST)?;
        let (before_kib, after_kib) =
            (trace.rounds[plan.warmup_rounds - 1].rss_kib, trace.rounds[plan.rounds.len() - 1].rss_kib);
        let allowed_kib = GROWTH_KIB.max((before_kib as f64 * GROWTH_SHARE) as u64);
        let memory = Memory { before_kib, after_kib, allowed_kib };
        Ok(AttackReport { quiet: side(&quiet), attack: side(&attack), cost, p99, memory, drive })
    }
}

/// A round under attack is made of answered requests, which cost what they cost in quiet, and refused ones.
fn cost_of_refusal(quiet: &Side, attack: &Side) -> f64 {
    let refused = attack.refused as f64 / attack.requests as f64;
    let each = (attack.server_us_per_request - (1.0 - refused) * quiet.server_us_per_request) / refused;
    each / quiet.server_us_per_request
}

fn side(plan: &Plan, trace: &Trace, rounds: &[usize]) -> Side {
    let last = plan.connections - 1;
    let requests = || rounds.iter().flat_map(|round| plan.cell(*round, 0).start..plan.cell(*round, last).end);
    let answered = |request: &usize| plan.answers()[plan.answer(*request)].starts_with(b"HTTP/1.1 200 ");
    let verified = || requests().filter(|request| trace.taken[*request].is_some());
    let count = verified().count();
    let times = verified().filter(answered).filter_map(|request| trace.taken[request].map(u64::from));
    let cpu: f64 = rounds.iter().map(|round| trace.rounds[*round].server_cpu.as_secs_f64()).sum();
    Side {
        requests: count as u64,
        refused: verified().filter(|request| !answered(request)).count() as u64,
        server_us_per_request: cpu * 1e6 / count as f64,
        answered_us: Latency::of(times),
    }
}

impl fmt::Display for AttackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = |holds| if holds { "holds" } else { "DOES NOT HOLD" };
        writeln!(f, "{}", self.drive.summary())?;
        for (name, side) in [("quiet", &self.quiet), ("attack", &self.attack)] {
            writeln!(
                f,
                "{name:<11} {} requests, {} refused; server {:.2} us of CPU time a request; answered: p50 {} us, p99 {} us",
                side.requests, side.refused, side.server_us_per_request, side.answered_us.p50, side.answered_us.p99
            )?;
        }
        let ratio = |ratio: &Ratio| {
            format!("{:.2} (pairs {:.2} to {:.2}, at most {})", ratio.median, ratio.least, ratio.most, ratio.allowed)
        };
        writeln!(f, "cost        refused / answered {}: {}", ratio(&self.cost), verdict(self.cost.holds()))?;
        writeln!(f, "p99         attack / quiet {}: {}", ratio(&self.p99), verdict(self.p99.holds()))?;
        let Memory { before_kib, after_kib, allowed_kib } = self.memory;
        write!(
            f,
            "memory      {before_kib} KiB before, {after_kib} KiB after (growth of {allowed_kib} KiB allowed): {}",
            verdict(self.memory.flat())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(refused: u64, cost: f64, p99: u64) -> Side {
        Side { requests: 100, refused, server_us_per_request: cost, answered_us: Latency { p99, ..Latency::default() } }
    }

    #[test]
    fn the_cost_of_a_refusal_is_what_answered_requests_leave() {
        // Ten answered at 8 and ninety refused at 4 make 4.4 on average.
        assert!((cost_of_refusal(&side(0, 8.0, 1), &side(90, 4.4, 1)) - 0.5).abs() < 1e-9);
        assert!((cost_of_refusal(&side(0, 8.0, 1), &side(90, 8.0, 1)) - 1.0).abs() < 1e-9);
        assert!(cost_of_refusal(&side(0, 8.0, 1), &side(90, 8.1, 1)) > 1.0);
    }

    #[test]
    fn one_wild_pair_does_not_move_the_median_and_is_still_shown() {
        let ratio = Ratio::of(vec![1.1, 9.0, 1.0, 1.2], 2.0).unwrap();
        assert!((ratio.median - 1.15).abs() < 1e-9);
        assert_eq!((ratio.least, ratio.most), (1.0, 9.0));
        assert!(ratio.holds());
        assert!(!Ratio::of(vec![2.1], 2.0).unwrap().holds());
        assert_eq!(Ratio::of(vec![], 2.0), None);
    }

    #[test]
    fn memory_may_grow_within_its_bound_only() {
        let memory = |after_kib| Memory { before_kib: 10_000, after_kib, allowed_kib: 1024 };
        assert!(memory(9_000).flat() && memory(11_024).flat());
        assert!(!memory(11_025).flat());
    }
}
