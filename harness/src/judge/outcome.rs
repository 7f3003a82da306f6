//! How an attempt ends: its phases, the decision on a sound measurement, and the outcome that is recorded. What leads
//! to a decision is in `decide.rs`; what makes a measurement unsound is in `doubts.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::statistics::Estimate;

/// The steps of an attempt, in order; the first failure ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Only allowed paths were touched, within the limits.
    Screen,
    /// It compiles, offline and locked.
    Build,
    /// It answers every case of the contract.
    Validate,
    /// Champion and challenger are counted.
    Measure,
    /// The counts become a verdict.
    Decide,
}

impl Phase {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Screen => "screen",
            Phase::Build => "build",
            Phase::Validate => "validate",
            Phase::Measure => "measure",
            Phase::Decide => "decide",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a sound measurement means for the challenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The new champion.
    Promote,
    /// A real gain, but below the threshold.
    Bank,
    /// Certainly below the threshold, and no gain that could be told from a lucky layout.
    Reject,
    /// The looks are used up and the interval still allows more than one answer.
    Undecided,
}

impl Verdict {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Promote => "promote",
            Verdict::Bank => "bank",
            Verdict::Reject => "reject",
            Verdict::Undecided => "undecided",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A verdict with the figures it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What it means.
    pub verdict: Verdict,
    /// The estimate that decided: that of the confirm pairs, unless the screen ended the attempt.
    pub estimate: Estimate,
    /// The screen's estimate, when confirm pairs followed. Selected for being large, so never the result.
    pub screen: Option<Estimate>,
    /// Why, in a sentence for people.
    pub note: String,
}

impl Decision {
    /// The same decision, with the estimate of the screen that came before it kept beside.
    #[must_use]
    pub fn after_screen(mut self, screen: Estimate) -> Self {
        self.screen = Some(screen);
        self
    }
}

/// How an attempt ended. The words are those of the glossary; `reason` is a sentence for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The fence refused the change; nothing was built.
    ScreenedOut {
        /// Which path or limit.
        reason: String,
    },
    /// It does not compile.
    BuildFailed {
        /// The compiler's first error, or the limit that was hit.
        reason: String,
    },
    /// A wrong byte, a lost answer, a crash, a server that never listened.
    Invalid {
        /// Which.
        reason: String,
    },
    /// The count cannot be trusted.
    Unsound {
        /// The doubts that were left after the retries.
        reason: String,
    },
    /// The binary is the champion's, bit for bit.
    NoOp {
        /// Whose binary it is.
        reason: String,
    },
    /// Measured, and not better by enough.
    Rejected {
        /// The figures.
        decision: Box<Decision>,
    },
    /// Measured, better for certain, but below the threshold.
    Banked {
        /// The figures.
        decision: Box<Decision>,
    },
    /// The new champion.
    Promoted {
        /// The figures.
        decision: Box<Decision>,
    },
    /// The harness was stopped before there was an answer.
    Interrupted {
        /// What was under way.
        phase: Phase,
    },
}

impl Outcome {
    /// The word for people.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::ScreenedOut { .. } => "screened out",
            Outcome::BuildFailed { .. } => "build failed",
            Outcome::Invalid { .. } => "invalid",
            Outcome::Unsound { .. } => "unsound",
            Outcome::NoOp { .. } => "no-op",
            Outcome::Rejected { .. } => "rejected",
            Outcome::Banked { .. } => "banked",
            Outcome::Promoted { .. } => "promoted",
            Outcome::Interrupted { .. } => "interrupted",
        }
    }

    /// The decision, where a sound measurement led to one.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Outcome::Rejected { decision } | Outcome::Banked { decision } | Outcome::Promoted { decision } => {
                Some(decision)
            }
            _ => None,
        }
    }

    /// Why, in a sentence for people.
    pub fn reason(&self) -> String {
        match self {
            Outcome::ScreenedOut { reason }
            | Outcome::BuildFailed { reason }
            | Outcome::Invalid { reason }
            | Outcome::Unsound { reason }
            | Outcome::NoOp { reason } => reason.clone(),
            Outcome::Rejected { decision } | Outcome::Banked { decision } | Outcome::Promoted { decision } => {
                decision.note.clone()
            }
            Outcome::Interrupted { phase } => format!("stopped during {phase}"),
        }
    }
}

impl From<Decision> for Outcome {
    fn from(decision: Decision) -> Self {
        // A ratio that is no number (nothing counted, nothing verified) is no measurement: it must not look like one.
        if !decision.estimate.mean.is_finite() {
            return Outcome::Unsound { reason: decision.note };
        }
        let decision = Box::new(decision);
        match decision.verdict {
            Verdict::Promote => Outcome::Promoted { decision },
            Verdict::Bank => Outcome::Banked { decision },
            Verdict::Reject | Verdict::Undecided => Outcome::Rejected { decision },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::{Noise, estimate};

    fn decision(verdict: Verdict, ds: &[f64]) -> Decision {
        Decision {
            verdict,
            estimate: estimate(ds, &Noise::new(0.0005, 0.001), 0.05),
            screen: None,
            note: "so it is".to_owned(),
        }
    }

    #[test]
    fn outcomes_are_tagged_with_the_words_of_the_glossary_and_come_back_as_they_were() {
        let reason = || "why".to_owned();
        let sound = |verdict| {
            decision(verdict, &[0.01, 0.02, 0.03]).after_screen(estimate(&[0.1], &Noise::new(0.0005, 0.0), 0.05))
        };
        for (outcome, tag) in [
            (Outcome::ScreenedOut { reason: reason() }, "screened-out"),
            (Outcome::BuildFailed { reason: reason() }, "build-failed"),
            (Outcome::Invalid { reason: reason() }, "invalid"),
            (Outcome::Unsound { reason: reason() }, "unsound"),
            (Outcome::NoOp { reason: reason() }, "no-op"),
            (Outcome::from(sound(Verdict::Undecided)), "rejected"),
            (Outcome::from(sound(Verdict::Reject)), "rejected"),
            (Outcome::from(sound(Verdict::Bank)), "banked"),
            (Outcome::from(sound(Verdict::Promote)), "promoted"),
            (Outcome::Interrupted { phase: Phase::Measure }, "interrupted"),
        ] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert!(text.contains(&format!("\"outcome\":\"{tag}\"")), "{text}");
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
            assert_eq!(outcome.word().replace(' ', "-"), tag);
        }
    }

    #[test]
    fn a_ratio_that_is_no_number_ends_unsound_whatever_the_verdict_says() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let outcome = Outcome::from(decision(Verdict::Promote, &[bad, 0.1, 0.1]));
            assert_eq!(outcome, Outcome::Unsound { reason: "so it is".to_owned() });
        }
    }
}
