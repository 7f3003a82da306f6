//! The events of the ledger, and what they add up to: which number is next, what a crash left open, the records of a
//! run. Views only; the ledger stays the one truth.

use serde::{Deserialize, Serialize};

use crate::judge::decide::Rule;
use crate::judge::outcome::Outcome;
use crate::judge::record::{Changed, EndReason, Held, Record};
use crate::judge::statistics::Noise;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A run began.
    RunStarted(Box<Start>),
    /// A run was taken up again by another process.
    RunResumed {
        /// Its name.
        run: String,
        /// SHA-256 of the harness that goes on, hex.
        harness: String,
        /// What now counts, and on what.
        fingerprint: String,
    },
    /// A number was given out; written before anything else is done for it.
    Intent {
        /// The number.
        attempt: u32,
        /// The run's name.
        run: String,
        /// Commit of the champion it changes.
        parent: String,
        /// Why it might pay.
        hypothesis: String,
        /// What it changes.
        changed: Changed,
    },
    /// An attempt ended.
    Outcome {
        /// The run's name.
        run: String,
        /// `perf` or `vm`.
        meter: String,
        /// What counted, and on what.
        fingerprint: String,
        /// The attempt, whole.
        record: Box<Record>,
    },
    /// A branch was moved to an attempt's commit.
    Promoted {
        /// The number.
        attempt: u32,
        /// The run's name.
        run: String,
        /// The commit that the branch is at now.
        commit: String,
        /// The branch.
        branch: String,
    },
    /// A run ended of itself.
    RunEnded {
        /// Its name.
        run: String,
        /// Why.
        reason: EndReason,
        /// Commit of its champion.
        champion: String,
        /// Champion against baseline, where there was something to compare.
        held: Option<Box<Held>>,
    },
    /// A run was stopped, and will go on when it is started again.
    RunInterrupted {
        /// Its name.
        run: String,
    },
}

/// What a run begins with: all that its verdicts depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Its name in runs.toml.
    pub run: String,
    /// Commit it starts from.
    pub baseline: String,
    /// The branch that holds its champion.
    pub branch: String,
    /// SHA-256 of runs.toml, hex.
    pub definition: String,
    /// The text of runs.toml.
    pub definition_text: String,
    /// SHA-256 of the harness, hex.
    pub harness: String,
    /// `perf` or `vm`.
    pub meter: String,
    /// What counts, and on what.
    pub fingerprint: String,
    /// Seed of all seeds.
    pub seed: u64,
    /// The meter's spread.
    pub noise: Noise,
    /// The decision rule.
    pub rule: Rule,
}

impl Event {
    /// The run it belongs to.
    pub fn run(&self) -> &str {
        match self {
            Event::RunStarted(start) => &start.run,
            Event::RunResumed { run, .. }
            | Event::Intent { run, .. }
            | Event::Outcome { run, .. }
            | Event::Promoted { run, .. }
            | Event::RunEnded { run, .. }
            | Event::RunInterrupted { run } => run,
        }
    }

    /// The attempt it is about.
    pub fn attempt(&self) -> Option<u32> {
        match self {
            Event::Intent { attempt, .. } | Event::Promoted { attempt, .. } => Some(*attempt),
            Event::Outcome { record, .. } => Some(record.attempt),
            _ => None,
        }
    }
}

/// The next attempt's number: one above every number that was ever given out, whether or not it came to an outcome.
pub fn next_attempt<'a>(events: impl IntoIterator<Item = &'a Event>) -> u32 {
    events.into_iter().filter_map(Event::attempt).max().map_or(1, |highest| highest + 1)
}

/// The record of an attempt, with its run.
pub fn record<'a>(events: impl IntoIterator<Item = &'a Event>, number: u32) -> Option<(&'a str, &'a Record)> {
    events.into_iter().find_map(|event| match event {
        Event::Outcome { run, record, .. } if record.attempt == number => Some((run.as_str(), &**record)),
        _ => None,
    })
}

/// One run as far as it came: from its last start on.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView<'a> {
    /// How it began.
    pub start: &'a Start,
    /// Its attempts that ended, in order.
    pub records: Vec<&'a Record>,
    /// Attempts with an intent and no outcome: a crash came between.
    pub open: Vec<OpenIntent<'a>>,
    /// Attempts recorded as promoted whose branch was never recorded as moved.
    pub unmoved: Vec<&'a Record>,
    /// The commit its branch was last moved to; the baseline until then.
    pub champion: &'a str,
    /// What is banked on top of the champion, in order: each was proposed on the commit of the one before.
    pub bank: Vec<&'a Record>,
    /// Why it ended, if it did; being interrupted is no end.
    pub ended: Option<EndReason>,
}

/// An attempt that a crash left open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenIntent<'a> {
    /// Its number.
    pub attempt: u32,
    /// Commit of the champion it changes.
    pub parent: &'a str,
    /// Why it might have paid.
    pub hypothesis: &'a str,
    /// What it changes.
    pub changed: &'a Changed,
}

/// The latest run of this name; `None` if it never started.
pub fn run<'a>(events: impl IntoIterator<Item = &'a Event>, name: &str) -> Option<RunView<'a>> {
    let mut view: Option<RunView<'a>> = None;
    for event in events.into_iter().filter(|event| event.run() == name) {
        if let Event::RunStarted(start) = event {
            view = Some(RunView {
                start,
                records: Vec::new(),
                open: Vec::new(),
                unmoved: Vec::new(),
                champion: &start.baseline,
                bank: Vec::new(),
                ended: None,
            });
        }
        if let Some(view) = &mut view {
            view.take(event);
        }
    }
    view
}

impl<'a> RunView<'a> {
    /// The commit that the next attempt changes: the last banked one, or the champion.
    pub fn head(&self) -> &'a str {
        self.bank.last().and_then(|record| record.commit.as_deref()).unwrap_or(self.champion)
    }

    fn take(&mut self, event: &'a Event) {
        match event {
            Event::Intent { attempt, parent, hypothesis, changed, .. } => {
                self.open.push(OpenIntent { attempt: *attempt, parent, hypothesis, changed });
            }
            Event::Outcome { record, .. } => {
                self.open.retain(|open| open.attempt != record.attempt);
                self.records.push(record);
                match record.outcome {
                    Outcome::Promoted { .. } => self.unmoved.push(record),
                    // One that was proposed on something else (before there was a bank) is none of the stack.
                    Outcome::Banked { .. } if record.parent == self.head() => self.bank.push(record),
                    _ => {}
                }
            }
            Event::Promoted { attempt, commit, .. } => {
                self.unmoved.retain(|record| record.attempt != *attempt);
                self.champion = commit;
                self.bank.clear();
            }
            Event::RunEnded { reason, .. } => self.ended = Some(*reason),
            Event::RunResumed { .. } => self.ended = None,
            Event::RunStarted(_) | Event::RunInterrupted { .. } => {}
        }
    }
}

/// Names of all runs that ever started, in order of their first start.
pub fn names<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for event in events {
        if matches!(event, Event::RunStarted(_)) && !names.contains(&event.run()) {
            names.push(event.run());
        }
    }
    names
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::judge::decide::{Confirming, confirm};
    use crate::judge::outcome::{Decision, Phase};
    use crate::judge::sample::{Load, Pair, Sample, Side};

    /// A start of the run `name`.
    pub fn started(name: &str) -> Event {
        Event::RunStarted(Box::new(Start {
            run: name.to_owned(),
            baseline: "base".to_owned(),
            branch: format!("search/{name}"),
            definition: "d".repeat(64),
            definition_text: "[runs.default]\n".to_owned(),
            harness: "e".repeat(64),
            meter: "vm".to_owned(),
            fingerprint: "qemu 10".to_owned(),
            seed: 7,
            noise: Noise::new(0.0005, 0.001),
            rule: Rule::default(),
        }))
    }

    /// An intent of the run `name`.
    pub fn intent(name: &str, attempt: u32) -> Event {
        let changed = Changed::Patch { name: format!("{attempt}.patch") };
        Event::Intent {
            attempt,
            run: name.to_owned(),
            parent: "base".to_owned(),
            hypothesis: "it pays".to_owned(),
            changed,
        }
    }

    /// A record with pairs and a decision: a gain of about a third.
    pub fn promoted(attempt: u32) -> Record {
        let sample = |user| Sample {
            seed: 3,
            user,
            kernel: 10_000_000,
            load: Load { sent: 1_000, verified: 1_000, wrong: 0, lost: 0 },
            side: Side::default(),
        };
        let mut record =
            Record::opened(attempt, "base", "it pays", Changed::Patch { name: format!("{attempt}.patch") });
        record.commit = Some(format!("commit{attempt}"));
        record.confirm =
            (0..3).map(|i| Pair { champion: sample(20_000_000 + i), challenger: sample(10_000_000) }).collect();
        let Confirming::Done(decision) = confirm(&Rule::default(), &record.confirm, 0, &Noise::new(0.0005, 0.001))
        else {
            panic!("a third is certain")
        };
        record.outcome = Outcome::from(Decision { screen: Some(decision.estimate), ..decision });
        record
    }

    /// An attempt that was invalid.
    pub fn invalid(attempt: u32) -> Record {
        let mut record =
            Record::opened(attempt, "base", "it pays", Changed::Patch { name: format!("{attempt}.patch") });
        record.outcome = Outcome::Invalid { reason: "a wrong byte".to_owned() };
        record
    }

    /// An outcome of the run `name`.
    pub fn outcome(name: &str, record: Record) -> Event {
        Event::Outcome {
            run: name.to_owned(),
            meter: "vm".to_owned(),
            fingerprint: "qemu 10".to_owned(),
            record: Box::new(record),
        }
    }

    fn moved(name: &str, attempt: u32) -> Event {
        Event::Promoted {
            attempt,
            run: name.to_owned(),
            commit: format!("commit{attempt}"),
            branch: format!("search/{name}"),
        }
    }

    fn ended(name: &str) -> Event {
        Event::RunEnded { run: name.to_owned(), reason: EndReason::Plateau, champion: "base".to_owned(), held: None }
    }

    #[test]
    fn numbers_are_never_given_twice_not_even_after_a_crash_or_in_another_run() {
        assert_eq!(next_attempt(&[]), 1);
        assert_eq!(next_attempt(&[started("a"), intent("a", 1), outcome("a", invalid(1)), intent("a", 2)]), 3);
        assert_eq!(next_attempt(&[started("a"), intent("a", 9), started("b")]), 10);
    }

    #[test]
    fn what_a_crash_left_open_is_seen() {
        let events = [started("a"), intent("a", 1), outcome("a", promoted(1)), intent("a", 2)];
        let view = run(&events, "a").unwrap();
        assert_eq!(view.open.iter().map(|open| open.attempt).collect::<Vec<_>>(), [2]);
        assert_eq!(view.unmoved.iter().map(|record| record.attempt).collect::<Vec<_>>(), [1]);
        assert_eq!((view.champion, view.ended), ("base", None));

        let events = [started("a"), intent("a", 1), outcome("a", promoted(1)), moved("a", 1)];
        let view = run(&events, "a").unwrap();
        assert!(view.open.is_empty() && view.unmoved.is_empty());
        assert_eq!(view.champion, "commit1");
    }

    #[test]
    fn the_bank_is_what_was_banked_on_each_other_since_the_champion() {
        let banked = |attempt: u32, parent: &str| {
            let mut record = promoted(attempt);
            let decision = record.outcome.decision().unwrap().clone();
            record.outcome = Outcome::Banked { decision: Box::new(decision) };
            record.parent = parent.to_owned();
            outcome("a", record)
        };
        let bank = |events: &[Event]| -> Vec<u32> {
            run(events, "a").unwrap().bank.iter().map(|record| record.attempt).collect()
        };
        let mut events = vec![started("a"), banked(1, "base"), outcome("a", invalid(2)), banked(3, "commit1")];
        assert_eq!(bank(&events), [1, 3]);
        assert_eq!(run(&events, "a").unwrap().head(), "commit3");
        // As runs without a bank had it: measured against the champion again.
        events.push(banked(4, "base"));
        assert_eq!(bank(&events), [1, 3]);
        events.extend([outcome("a", promoted(5)), moved("a", 5)]);
        assert!(bank(&events).is_empty());
        assert_eq!(run(&events, "a").unwrap().head(), "commit5");
    }

    #[test]
    fn runs_are_kept_apart_and_a_new_start_begins_anew() {
        let events = [
            started("a"),
            intent("a", 1),
            started("b"),
            outcome("a", invalid(1)),
            ended("a"),
            started("a"),
            intent("a", 2),
        ];
        let view = run(&events, "a").unwrap();
        assert_eq!((view.records.len(), view.ended, view.open.len()), (0, None, 1));
        assert_eq!(run(&events[..5], "a").unwrap().ended, Some(EndReason::Plateau));
        assert_eq!(run(&events, "b").unwrap().records.len(), 0);
        assert_eq!(run(&events, "c"), None);
        assert_eq!(names(&events), ["a", "b"]);
        assert_eq!(record(&events, 1).unwrap().0, "a");
        assert_eq!(record(&events, 2), None);
    }

    #[test]
    fn a_run_that_is_resumed_has_not_ended_and_keeps_its_records() {
        let resumed = Event::RunResumed { run: "a".to_owned(), harness: String::new(), fingerprint: String::new() };
        let events = [started("a"), intent("a", 1), outcome("a", invalid(1)), ended("a"), resumed];
        let view = run(&events, "a").unwrap();
        assert_eq!((view.records.len(), view.ended), (1, None));
    }

    #[test]
    fn every_event_comes_back_from_json_as_it_was() {
        let interrupted = {
            let mut record = invalid(4);
            record.outcome = Outcome::Interrupted { phase: Phase::Build };
            record
        };
        for event in [
            started("a"),
            intent("a", 1),
            outcome("a", promoted(1)),
            outcome("a", interrupted),
            moved("a", 1),
            ended("a"),
            Event::RunInterrupted { run: "a".to_owned() },
        ] {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        }
    }
}
