//! What is kept of an attempt, and of the end of a run. Values only: `data/` writes them, `out/` prints them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcome::{Decision, Outcome, Phase};
use super::sample::{Pair, Sample};
use super::statistics::Estimate;

/// What a proposal changes, in the words of its proposer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Changed {
    /// Tunables: those set, and the whole assignment that results (two proposals with one assignment are one tree).
    Tunables {
        /// Knob to new value, only those that differ from the champion.
        set: BTreeMap<String, String>,
        /// Every declared knob to its value.
        assignment: BTreeMap<String, String>,
    },
    /// A file of the patch queue.
    Patch {
        /// Its file name.
        name: String,
    },
}

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Changed::Tunables { set, .. } => {
                let parts: Vec<String> = set.iter().map(|(knob, value)| format!("{knob} = {value}")).collect();
                f.write_str(&parts.join(", "))
            }
            Changed::Patch { name } => f.write_str(name),
        }
    }
}

/// Seconds that a phase took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Which.
    pub phase: Phase,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// One attempt, whole: enough to compute its verdict again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Global number.
    pub attempt: u32,
    /// Commit it was proposed against.
    pub parent: String,
    /// Its own commit, reachable at `refs/attempts/<attempt>`; none when the fence refused it.
    pub commit: Option<String>,
    /// SHA-256 of the server that was built, hex.
    pub binary: Option<String>,
    /// Why its proposer thought it would pay.
    pub hypothesis: String,
    /// What was changed.
    pub changed: Changed,
    /// How it ended.
    pub outcome: Outcome,
    /// Pairs on the run's screen seeds: shown, never part of a verdict to promote.
    pub screen: Vec<Pair>,
    /// Pairs on fresh seeds.
    pub confirm: Vec<Pair>,
    /// Attempts in the bank that this one was proposed on top of, in order; its parent is the commit of the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bank: Vec<u32>,
    /// The decision on its own gain over the head of the bank, where the whole stack was measured after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<Decision>>,
    /// Pairs of the whole stack: the champion, and this attempt with all that is banked beneath it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Pair>,
    /// What these pairs say of the whole stack, whatever became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Estimate>,
    /// What validation could not try, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// Phases in order with their seconds.
    pub phases: Vec<PhaseTime>,
    /// Clock of the phase under way: seconds since the run began.
    #[serde(skip)]
    since: f64,
}

impl Record {
    /// An attempt that has begun and not ended.
    pub fn opened(attempt: u32, parent: &str, hypothesis: &str, changed: Changed) -> Self {
        Record {
            attempt,
            parent: parent.to_owned(),
            commit: None,
            binary: None,
            hypothesis: hypothesis.to_owned(),
            changed,
            outcome: Outcome::Interrupted { phase: Phase::Screen },
            screen: Vec::new(),
            confirm: Vec::new(),
            bank: Vec::new(),
            own: None,
            stack: Vec::new(),
            whole: None,
            unchecked: None,
            phases: Vec::new(),
            since: 0.0,
        }
    }

    /// A phase begins at `now` (seconds since the run began); the one before it ends.
    pub fn enter(&mut self, phase: Phase, now: f64) {
        self.stop_clock(now);
        self.phases.push(PhaseTime { phase, seconds: 0.0 });
    }

    /// The attempt is over.
    pub fn end(&mut self, outcome: Outcome, now: f64) {
        self.stop_clock(now);
        self.outcome = outcome;
    }

    fn stop_clock(&mut self, now: f64) {
        if let Some(last) = self.phases.last_mut() {
            last.seconds = now - self.since;
        }
        self.since = now;
    }

    /// Seconds from change to verdict.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|time| time.seconds).sum()
    }

    /// The pairs that the outcome's figures rest on: those of the stack when it was promoted as a whole, else the confirm
    /// pairs, or the screen's when it ended there.
    pub fn deciding_pairs(&self) -> &[Pair] {
        match &self.outcome {
            Outcome::Promoted { .. } if !self.stack.is_empty() => &self.stack,
            _ if self.confirm.is_empty() => &self.screen,
            _ => &self.confirm,
        }
    }

    /// The decision on what this change alone is worth, on top of what it was proposed on.
    pub fn own_decision(&self) -> Option<&Decision> {
        self.own.as_deref().or_else(|| self.outcome.decision())
    }

    /// What a proposer needs to remember of it.
    pub fn past(&self) -> Past {
        Past {
            attempt: self.attempt,
            parent: self.parent.clone(),
            changed: self.changed.clone(),
            outcome: self.outcome.clone(),
            effect: self.own_decision().map(|decision| decision.estimate.mean),
        }
    }
}

/// An attempt as later proposals see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// Its number.
    pub attempt: u32,
    /// The commit it was measured against: the champion, or the head of the bank.
    pub parent: String,
    /// What it changed.
    pub changed: Changed,
    /// How it ended.
    pub outcome: Outcome,
    /// `ln` of what the change alone gained, where it was measured soundly.
    pub effect: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// So many attempts in a row without a promotion.
    Plateau,
    /// The budget of attempts is used up.
    Attempts,
    /// The time is up.
    Time,
    /// The proposer has nothing left.
    Exhausted,
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            EndReason::Plateau => "plateau: no promotion for as many attempts as the budget allows",
            EndReason::Attempts => "the budget of attempts is used up",
            EndReason::Time => "the time is up",
            EndReason::Exhausted => "the proposer has nothing left to propose",
            EndReason::Interrupted => "interrupted; the same command goes on from here",
        })
    }
}

/// Champion against the run's baseline on a seed that no attempt has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The baseline's sample on the first of these seeds.
    pub baseline: Sample,
    /// The champion's sample on the same seed.
    pub champion: Sample,
    /// `ln(I_baseline / I_champion)` over all held-out seeds.
    pub estimate: Estimate,
    /// Sum of the promoted attempts' own estimates, on the same scale.
    pub claimed: f64,
    /// Is the claim within the interval, widened by the claims' own intervals?
    pub agrees: bool,
}
