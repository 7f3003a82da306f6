//! Which seeds a measurement uses and who goes first. Pure: everything follows from the run's seed, so a run can be
//! repeated; nothing here draws a random number.
//!
//! The screen's seeds are the run's, the same in every attempt. A confirm seed depends on the attempt, the look *and
//! the challenger's commit*: no change can contain knowledge of the data it will be confirmed on, since writing that
//! knowledge down makes it another commit.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Who is measured first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Champion, then challenger.
    ChampionFirst,
    /// Challenger, then champion.
    ChallengerFirst,
}

impl Order {
    fn reversed(self) -> Self {
        match self {
            Order::ChampionFirst => Order::ChallengerFirst,
            Order::ChallengerFirst => Order::ChampionFirst,
        }
    }
}

/// One pair to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Seed of the data set and the requests; below 2^53, so that every reader of JSON keeps it whole.
    pub seed: u64,
    /// Who goes first.
    pub order: Order,
}

/// The seeds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    seed: u64,
}

impl Schedule {
    /// From the run's seed.
    pub fn new(seed: u64) -> Self {
        Schedule { seed }
    }

    /// The screen's pairs: the same in every attempt of the run.
    pub fn screen(&self, pairs: usize) -> Vec<Turn> {
        self.turns("screen", &[], pairs)
    }

    /// The pairs that a look adds in an attempt whose change is `commit`: fresh, never used elsewhere.
    pub fn confirm(&self, attempt: u32, look: usize, commit: &str, pairs: usize) -> Vec<Turn> {
        self.turns("confirm", &[&attempt.to_string(), &look.to_string(), commit], pairs)
    }

    /// The pairs that a look adds when the whole stack up to `commit` is measured against the champion.
    pub fn stack(&self, attempt: u32, look: usize, commit: &str, pairs: usize) -> Vec<Turn> {
        self.turns("stack", &[&attempt.to_string(), &look.to_string(), commit], pairs)
    }

    /// The pairs that compare a run's baseline and its last champion.
    pub fn held_out(&self, champion: &str, pairs: usize) -> Vec<Turn> {
        self.turns("held-out", &[champion], pairs)
    }

    /// The pairs that calibrate the meter.
    pub fn calibration(&self, pairs: usize) -> Vec<Turn> {
        self.turns("calibration", &[], pairs)
    }

    fn turns(&self, purpose: &str, parts: &[&str], pairs: usize) -> Vec<Turn> {
        let mut first = Order::ChampionFirst;
        (0..pairs)
            .map(|index| {
                let bits = self.bits(purpose, parts, index);
                // Couples of pairs, ABBA or BAAB: a steady drift cancels within each couple.
                first = match index % 2 {
                    0 if bits >> 63 == 0 => Order::ChampionFirst,
                    0 => Order::ChallengerFirst,
                    _ => first.reversed(),
                };
                Turn { seed: bits & ((1 << 53) - 1), order: first }
            })
            .collect()
    }

    fn bits(&self, purpose: &str, parts: &[&str], index: usize) -> u64 {
        let mut hash = Sha256::new_with_prefix("harness schedule 1");
        hash.update(self.seed.to_le_bytes());
        for part in [purpose].iter().chain(parts) {
            // The length in front keeps ("1", "12") and ("11", "2") apart.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update((index as u64).to_le_bytes());
        let digest = hash.finalize();
        u64::from_le_bytes(digest[..8].try_into().expect("a SHA-256 has 32 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const COMMIT: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn screen_seeds_are_the_runs_and_confirm_seeds_are_never_used_twice() {
        let schedule = Schedule::new(7);
        assert_eq!(schedule.screen(3), Schedule::new(7).screen(3));
        assert_eq!(schedule.screen(3), schedule.screen(9)[..3]);
        let mut all: Vec<u64> = schedule.screen(3).iter().map(|turn| turn.seed).collect();
        all.extend(schedule.held_out(COMMIT, 3).iter().map(|turn| turn.seed));
        all.extend(schedule.calibration(8).iter().map(|turn| turn.seed));
        for attempt in 0..300 {
            for (look, pairs) in [(0, 3), (1, 3), (2, 6)] {
                all.extend(schedule.confirm(attempt, look, COMMIT, pairs).iter().map(|turn| turn.seed));
                all.extend(schedule.stack(attempt, look, COMMIT, pairs).iter().map(|turn| turn.seed));
            }
        }
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|seed| *seed < 1 << 53));
    }

    #[test]
    fn another_commit_or_run_gets_other_seeds() {
        let here = Schedule::new(7).confirm(1, 0, COMMIT, 3);
        assert_ne!(here, Schedule::new(8).confirm(1, 0, COMMIT, 3));
        assert_ne!(here, Schedule::new(7).confirm(1, 0, "another", 3));
        assert_ne!(Schedule::new(7).confirm(1, 11, COMMIT, 1), Schedule::new(7).confirm(11, 1, COMMIT, 1));
    }

    #[test]
    fn each_couple_of_pairs_is_measured_in_both_orders_and_neither_is_always_first() {
        let turns = Schedule::new(7).confirm(1, 2, COMMIT, 200);
        assert!(turns.chunks_exact(2).all(|two| two[0].order != two[1].order));
        let first = turns.iter().step_by(2).filter(|turn| turn.order == Order::ChampionFirst).count();
        assert!((30..70).contains(&first), "{first} of 100 couples start with the champion");
    }

    #[test]
    fn seeds_stay_what_they_are_across_versions() {
        // Replays of recorded runs depend on these figures; they were computed apart from this code.
        let first = Schedule::new(1).screen(2);
        assert_eq!((first[0].seed, first[1].seed), (1_581_996_237_665_992, 7_254_866_707_457_662));
    }
}
