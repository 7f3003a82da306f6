//! Why a count cannot be trusted, each reason with its remedy; and why one must not be counted at all. Whoever measures
//! finds the facts; here they become words and rules. A doubtful count is never averaged away.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sample::{Pair, Sample};

/// A reason that makes a sample unsound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
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
    /// What the challenger saves turns up again as iterations of string instructions, which are counted apart.
    Moved {
        /// Instructions per request that the challenger saves.
        saved: f64,
        /// How many more iterations per request there are.
        grown: f64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Ledger { sent, accounted } => {
                write!(f, "the load generator's books do not balance: {sent} requests sent, {accounted} accounted for")
            }
            Doubt::NothingCounted => f.write_str("requests were answered and no instruction was counted"),
            Doubt::Unlike { champion, challenger } => write!(
                f,
                "champion and challenger did not get the same requests: seed {} with {} answers, seed {} with {}",
                champion.0, champion.1, challenger.0, challenger.1
            ),
            Doubt::Moved { saved, grown } => write!(
                f,
                "the work was moved, not saved: {saved:.1} fewer instructions a request, {grown:.1} more iterations of string instructions"
            ),
        }
    }
}

impl Doubt {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Doubt::Ledger { .. } => "a fault of the harness: keep the attempt's folder and report it",
            Doubt::NothingCounted => "the server may not run on the counted CPU: see the attempt's log",
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
        doubts.extend(moved(pair));
    }
    doubts
}

/// Half of what is saved may turn up as iterations by chance; more than half is a bill passed on. Savings below 2% are
/// left to the decision rule: they promote nothing. The load generator's CPU is no witness: its idle time and wake-ups
/// follow the server's speed, and where the server may run is the meter's to enforce.
fn moved(pair: &Pair) -> Option<Doubt> {
    let requests = pair.champion.load.verified as f64;
    let saved = pair.champion.per_request() - pair.challenger.per_request();
    let (before, after) = (pair.champion.side.rep_iterations?, pair.challenger.side.rep_iterations?);
    let grown = (after as f64 - before as f64) / requests;
    (saved > 0.02 * pair.champion.per_request() && grown > saved / 2.0).then_some(Doubt::Moved { saved, grown })
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
    fn work_moved_into_string_instructions_is_found() {
        let mut stuffed = sample(7_000_000);
        stuffed.side.rep_iterations = Some(50_000_000);
        assert!(matches!(check_pair(&pair(sample(10_000_000), stuffed))[..], [Doubt::Moved { .. }]));
    }

    #[test]
    fn a_load_generator_that_idles_otherwise_is_no_doubt() {
        let mut quicker = sample(7_000_000);
        quicker.side.load_cpu = Some((4_000_000, 9_000_000));
        assert_eq!(check_pair(&pair(sample(10_000_000), quicker)), []);
    }

    #[test]
    fn a_figure_the_meter_cannot_see_is_not_taken_for_zero() {
        let mut blind = sample(7_000_000);
        blind.side.rep_iterations = None;
        assert_eq!(check_pair(&pair(blind.clone(), sample(6_000_000))), []);
        assert_eq!(check_pair(&pair(sample(10_000_000), blind)), []);
    }

    #[test]
    fn every_doubt_names_its_figures_and_a_remedy() {
        for (doubt, figure) in [
            (Doubt::Ledger { sent: 5, accounted: 4 }, "5"),
            (Doubt::NothingCounted, "no instruction"),
            (Doubt::Unlike { champion: (1, 2), challenger: (3, 4) }, "seed 3"),
            (Doubt::Moved { saved: 3.0, grown: 2.5 }, "2.5 more"),
        ] {
            assert!(doubt.to_string().contains(figure), "{doubt}");
            assert!(
                sentence(&[doubt.clone(), Doubt::NothingCounted]).contains(&format!("({}); requests", doubt.remedy()))
            );
            let text = serde_json::to_string(&doubt).unwrap();
            assert_eq!(serde_json::from_str::<Doubt>(&text).unwrap(), doubt);
        }
    }
}
