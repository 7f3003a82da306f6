//! When a run has had enough: attempts, plateau, time. Pure; the clock is the caller's.

use super::outcome::Outcome;
use super::record::{EndReason, Past};

/// Limits of a run; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Attempts of the run, over all its restarts.
    pub attempts: Option<u32>,
    /// Attempts in a row without a promotion.
    pub plateau: Option<u32>,
    /// Seconds of this process.
    pub seconds: Option<f64>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Attempts that ended with a verdict or a failure of the candidate (interrupted ones are not counted).
    pub attempts: u32,
    /// Of these, promoted.
    pub promoted: u32,
    /// Attempts since the last promotion.
    pub since_promotion: u32,
    /// Sum of the promotions' `ln` gains, each champion over the one before.
    pub gain: f64,
}

impl Progress {
    /// Progress after these attempts, in order.
    pub fn of(past: &[Past]) -> Self {
        let mut progress = Progress::default();
        past.iter().for_each(|past| progress.add(past));
        progress
    }

    /// One more attempt has ended.
    pub fn add(&mut self, past: &Past) {
        match past.outcome {
            Outcome::Interrupted { .. } => {}
            Outcome::Promoted { .. } => {
                self.attempts += 1;
                self.promoted += 1;
                self.since_promotion = 0;
                self.gain += past.outcome.decision().map_or(0.0, |decision| decision.estimate.mean);
            }
            _ => {
                self.attempts += 1;
                self.since_promotion += 1;
            }
        }
    }
}

impl Budget {
    /// Which limit is reached, if one is.
    pub fn spent(&self, progress: &Progress, elapsed: f64) -> Option<EndReason> {
        if self.attempts.is_some_and(|limit| progress.attempts >= limit) {
            return Some(EndReason::Attempts);
        }
        if self.plateau.is_some_and(|limit| progress.since_promotion >= limit) {
            return Some(EndReason::Plateau);
        }
        self.seconds.filter(|limit| elapsed >= *limit).map(|_| EndReason::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_ends_a_run_with_its_own_reason() {
        let progress = Progress { attempts: 10, promoted: 1, since_promotion: 4, gain: 0.1 };
        let none = Budget::default();
        assert_eq!(none.spent(&progress, 1e9), None);
        assert_eq!(Budget { attempts: Some(10), ..none }.spent(&progress, 0.0), Some(EndReason::Attempts));
        assert_eq!(Budget { attempts: Some(11), ..none }.spent(&progress, 0.0), None);
        assert_eq!(Budget { plateau: Some(4), ..none }.spent(&progress, 0.0), Some(EndReason::Plateau));
        assert_eq!(Budget { plateau: Some(5), ..none }.spent(&progress, 0.0), None);
        assert_eq!(Budget { seconds: Some(3.0), ..none }.spent(&progress, 3.0), Some(EndReason::Time));
        assert_eq!(Budget { seconds: Some(3.0), ..none }.spent(&progress, 2.9), None);
    }
}
