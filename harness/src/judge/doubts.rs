//! Why a count cannot be trusted, each reason with its remedy; and why one must not be counted at all. Whoever measures
//! finds the facts; here they become words and rules. A doubtful count is never averaged away.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sample::{Pair, Sample};

/// A reason that makes a sample unsound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
    /// The meter miscounted a loop of known length.
    SelfTest {
        /// Instructions that the loop has.
        expected: u64,
        /// Instructions that the meter counted.
        counted: u64,
    },
    /// The counter did not run during the whole window.
    Multiplexed {
        /// Nanoseconds in which it should have counted.
        enabled: u64,
        /// Nanoseconds in which it did.
        running: u64,
    },
    /// The server's tasks ran on CPUs that were not counted.
    OffCore {
        /// Instructions of the server's tasks on any CPU.
        tasks: u64,
        /// Instructions on the counted CPUs.
        cores: u64,
    },
    /// A task that is not the server's ran on a counted CPU.
    ForeignTask {
        /// Instructions on the counted CPUs that belong to no task of the server.
        instructions: u64,
    },
    /// The mark that opens or closes the window was executed by the server.
    Marker,
    /// The load generator's books do not balance.
    Ledger {
        /// Requests written.
        sent: u64,
        /// Answers verified, wrong and lost together.
        accounted: u64,
    },
    /// No instruction was counted for work that was done.
    NothingCounted,
    /// Champion and challenger did not get the same requests.
    Unlike {
        /// Seed and verified requests of the champion.
        champion: (u64, u64),
        /// Seed and verified requests of the challenger.
        challenger: (u64, u64),
    },
    /// What the challenger saves turns up again where it is not counted.
    Moved {
        /// Where.
        to: Where,
        /// Instructions per request that the challenger saves.
        saved: f64,
        /// How many more per request there are in that place.
        grown: f64,
    },
}

/// A place beside the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// The load generator's CPU.
    LoadCpu,
    /// Iterations of string instructions.
    RepIterations,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::SelfTest { expected, counted } => {
                write!(f, "the counter's self-test failed: a loop of {expected} instructions was counted as {counted}")
            }
            Doubt::Multiplexed { enabled, running } => {
                write!(f, "the counter ran for {running} ns of {enabled} ns: it shared its hardware with another")
            }
            Doubt::OffCore { tasks, cores } => {
                write!(
                    f,
                    "work off the counted core: the server's tasks retired {tasks} instructions, the counted cores {cores}"
                )
            }
            Doubt::ForeignTask { instructions } => {
                write!(f, "a task that is not the server's retired {instructions} instructions on the counted core")
            }
            Doubt::Marker => f.write_str("the mark of the counted window was executed by the candidate"),
            Doubt::Ledger { sent, accounted } => {
                write!(f, "the load generator's books do not balance: {sent} requests sent, {accounted} accounted for")
            }
            Doubt::NothingCounted => f.write_str("requests were answered and no instruction was counted"),
            Doubt::Unlike { champion, challenger } => write!(
                f,
                "champion and challenger did not get the same requests: seed {} with {} answers, seed {} with {}",
                champion.0, champion.1, challenger.0, challenger.1
            ),
            Doubt::Moved { to, saved, grown } => {
                let place = match to {
                    Where::LoadCpu => "instructions on the load generator's CPU",
                    Where::RepIterations => "iterations of string instructions",
                };
                write!(
                    f,
                    "the work was moved, not saved: {saved:.1} fewer instructions a request, {grown:.1} more {place}"
                )
            }
        }
    }
}

impl Doubt {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Doubt::SelfTest { .. } => "run `harness doctor`; if it fails there too, use the meter `vm` in runs.toml",
            Doubt::Multiplexed { .. } => {
                "stop other profilers; if the NMI watchdog holds a counter, `sysctl kernel.nmi_watchdog=0`; or use the meter `vm`"
            }
            Doubt::OffCore { .. } => "the candidate must do its work in its own process on the CPU it was pinned to",
            Doubt::ForeignTask { .. } => {
                "free the core (boot with isolcpus, move other work away), or use the meter `vm`"
            }
            Doubt::Marker => "remove the marker instruction from the candidate; only the load generator may execute it",
            Doubt::Ledger { .. } => "a fault of the harness: keep the attempt's folder and report it",
            Doubt::NothingCounted => "run `harness doctor`: the server may not run on the counted CPU",
            Doubt::Unlike { .. } => "a fault of the harness, or a server that stopped early: see the attempt's log",
            Doubt::Moved { .. } => "do the work for less instead of doing it elsewhere",
        }
    }
}

/// Doubts in a sentence for people, each with its remedy: the reason of an unsound outcome.
pub fn sentence(doubts: &[Doubt]) -> String {
    let each: Vec<String> = doubts.iter().map(|doubt| format!("{doubt} ({})", doubt.remedy())).collect();
    each.join("; ")
}

/// Why a sample must not be counted at all: a wrong byte or a lost answer. Never a smaller sample, always an invalid one.
pub fn invalid(sample: &Sample) -> Option<String> {
    let load = &sample.load;
    match (load.wrong, load.lost) {
        (0, 0) => None,
        (wrong, 0) => Some(format!("{wrong} of {} answers were wrong (seed {})", load.sent, sample.seed)),
        (0, lost) => Some(format!("{lost} of {} requests got no answer (seed {})", load.sent, sample.seed)),
        (wrong, lost) => {
            Some(format!("{wrong} of {} answers were wrong and {lost} missing (seed {})", load.sent, sample.seed))
        }
    }
}

/// What is doubtful about a sample by itself.
pub fn check(sample: &Sample) -> Vec<Doubt> {
    let load = &sample.load;
    let mut doubts = Vec::new();
    // Saturating: books so far off that they overflow are off.
    let accounted = load.verified.saturating_add(load.wrong).saturating_add(load.lost);
    if load.sent != accounted {
        doubts.push(Doubt::Ledger { sent: load.sent, accounted });
    }
    if sample.user == 0 || sample.kernel == 0 || load.verified == 0 {
        doubts.push(Doubt::NothingCounted);
    }
    doubts
}

/// What is doubtful about a pair: each sample by itself, and the two beside each other.
pub fn check_pair(pair: &Pair) -> Vec<Doubt> {
    let (champion, challenger) = (&pair.champion, &pair.challenger);
    let mut doubts = check(champion);
    doubts.extend(check(challenger));
    let key = |sample: &Sample| (sample.seed, sample.load.verified);
    if key(champion) != key(challenger) {
        doubts.push(Doubt::Unlike { champion: key(champion), challenger: key(challenger) });
    }
    if doubts.is_empty() {
        let load_cpu = |sample: &Sample| sample.side.load_cpu.map(|(user, kernel)| user.saturating_add(kernel));
        doubts.extend(moved(pair, Where::LoadCpu, load_cpu));
        doubts.extend(moved(pair, Where::RepIterations, |sample| sample.side.rep_iterations));
    }
    doubts
}

/// Half of what is saved may turn up elsewhere by the way requests batch; more than half is a bill passed on. Savings
/// below 2% are left to the decision rule: they promote nothing, and the load generator's own batching moves its count
/// by as much between two honest servers.
fn moved(pair: &Pair, to: Where, beside: impl Fn(&Sample) -> Option<u64>) -> Option<Doubt> {
    let requests = pair.champion.load.verified as f64;
    let saved = pair.champion.per_request() - pair.challenger.per_request();
    let grown = (beside(&pair.challenger)? as f64 - beside(&pair.champion)? as f64) / requests;
    (saved > 0.02 * pair.champion.per_request() && grown > saved / 2.0).then_some(Doubt::Moved { to, saved, grown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::{Load, Side};

    fn sample(total: u64) -> Sample {
        let side = Side { load_cpu: Some((4_000_000, 6_000_000)), rep_iterations: Some(1_000_000), ..Side::default() };
        Sample {
            seed: 7,
            user: total / 2,
            kernel: total / 2,
            load: Load { sent: 1_000, verified: 1_000, wrong: 0, lost: 0 },
            side,
        }
    }

    fn pair(champion: Sample, challenger: Sample) -> Pair {
        Pair { champion, challenger }
    }

    #[test]
    fn a_sound_sample_and_an_honest_gain_raise_no_doubt() {
        assert_eq!(check(&sample(10_000_000)), []);
        assert_eq!(invalid(&sample(10_000_000)), None);
        assert_eq!(check_pair(&pair(sample(10_000_000), sample(7_000_000))), []);
    }

    #[test]
    fn a_wrong_or_lost_answer_is_invalid_and_says_how_many() {
        let with =
            |wrong, lost| Sample { load: Load { sent: 10, verified: 10 - wrong - lost, wrong, lost }, ..sample(100) };
        assert_eq!(invalid(&with(1, 0)).unwrap(), "1 of 10 answers were wrong (seed 7)");
        assert_eq!(invalid(&with(0, 2)).unwrap(), "2 of 10 requests got no answer (seed 7)");
        assert_eq!(invalid(&with(1, 2)).unwrap(), "1 of 10 answers were wrong and 2 missing (seed 7)");
    }

    #[test]
    fn books_that_do_not_balance_are_doubted() {
        let short = Sample { load: Load { sent: 1_001, verified: 1_000, wrong: 0, lost: 0 }, ..sample(100) };
        assert_eq!(check(&short), [Doubt::Ledger { sent: 1_001, accounted: 1_000 }]);
        let absurd = Sample { load: Load { sent: 3, verified: u64::MAX, wrong: u64::MAX, lost: 5 }, ..sample(100) };
        assert_eq!(check(&absurd).len(), 1);
    }

    #[test]
    fn a_window_with_no_instruction_in_user_or_kernel_mode_is_doubted() {
        assert_eq!(check(&Sample { user: 0, ..sample(100) }), [Doubt::NothingCounted]);
        assert_eq!(check(&Sample { kernel: 0, ..sample(100) }), [Doubt::NothingCounted]);
    }

    #[test]
    fn a_pair_must_have_had_the_same_requests() {
        let other = Sample { seed: 8, ..sample(100) };
        assert!(matches!(check_pair(&pair(sample(100), other))[..], [Doubt::Unlike { .. }]));
    }

    #[test]
    fn work_moved_to_the_load_generators_cpu_or_into_string_instructions_is_found() {
        let mut elsewhere = sample(7_000_000);
        elsewhere.side.load_cpu = Some((4_000_000, 9_000_000));
        assert!(matches!(
            check_pair(&pair(sample(10_000_000), elsewhere))[..],
            [Doubt::Moved { to: Where::LoadCpu, .. }]
        ));
        let mut stuffed = sample(7_000_000);
        stuffed.side.rep_iterations = Some(50_000_000);
        assert!(matches!(
            check_pair(&pair(sample(10_000_000), stuffed))[..],
            [Doubt::Moved { to: Where::RepIterations, .. }]
        ));
        let mut batched = sample(7_000_000);
        batched.side.load_cpu = Some((4_000_000, 7_000_000));
        assert_eq!(check_pair(&pair(sample(10_000_000), batched)), [], "a third of the saving is how requests batch");
    }

    #[test]
    fn a_figure_the_meter_cannot_see_is_not_taken_for_zero() {
        let mut blind = sample(7_000_000);
        blind.side.load_cpu = None;
        assert_eq!(check_pair(&pair(blind.clone(), sample(6_000_000))), []);
        assert_eq!(check_pair(&pair(sample(10_000_000), blind)), []);
    }

    #[test]
    fn every_doubt_names_its_figures_and_a_remedy() {
        for (doubt, figure) in [
            (Doubt::SelfTest { expected: 4_000_003, counted: 17 }, "17"),
            (Doubt::Multiplexed { enabled: 10, running: 4 }, "4 ns"),
            (Doubt::OffCore { tasks: 12, cores: 9 }, "12"),
            (Doubt::ForeignTask { instructions: 31 }, "31"),
            (Doubt::Marker, "mark"),
            (Doubt::Ledger { sent: 5, accounted: 4 }, "5"),
            (Doubt::NothingCounted, "no instruction"),
            (Doubt::Unlike { champion: (1, 2), challenger: (3, 4) }, "seed 3"),
            (Doubt::Moved { to: Where::LoadCpu, saved: 3.0, grown: 2.5 }, "2.5 more"),
        ] {
            assert!(doubt.to_string().contains(figure), "{doubt}");
            assert!(sentence(&[doubt.clone(), Doubt::Marker]).contains(&format!("({}); the mark", doubt.remedy())));
            let text = serde_json::to_string(&doubt).unwrap();
            assert_eq!(serde_json::from_str::<Doubt>(&text).unwrap(), doubt);
        }
    }
}
