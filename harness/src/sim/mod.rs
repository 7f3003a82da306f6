//! A simulated lab: a world of tunables with known costs, noise from a seed, faults and crashes on demand. The real
//! pages run on it in milliseconds; nothing of it is in the shipped program.

mod tests;

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::judge::decide::Rule;
use crate::judge::outcome::Outcome;
use crate::judge::record::{Changed, EndReason, Held, Past, Record};
use crate::judge::sample::{Load, Pair, Sample, Side};
use crate::judge::statistics::{Noise, estimate};
use crate::lab::{Attempt, Binary, Lab, Phased, Stage, Stop};
use crate::propose::{Context, Edit, Proposal, knobs};

/// What outlives a crash: the "disk".
pub struct World {
    /// Text of the champion's tunables.
    pub champion: String,
    /// What is banked on it: attempts in order.
    pub bank: Vec<u32>,
    /// Text of the baseline's.
    pub baseline: String,
    /// The ledger.
    pub records: Vec<Record>,
    /// Intents: numbers given out.
    pub numbers: u32,
    /// Attempts whose lesson is written.
    pub lessons: Vec<u32>,
    /// Runs closed, with why.
    pub closed: Vec<EndReason>,
    /// Text of each attempted tree by attempt, as `refs/attempts/N` would hold it.
    pub trees: BTreeMap<u32, String>,
}

impl World {
    /// Text of the tunables at the head of the bank.
    pub fn head(&self) -> &String {
        self.bank.last().map_or(&self.champion, |top| &self.trees[top])
    }

    /// A world whose baseline declares these tunables.
    pub fn new(text: &str) -> Self {
        World {
            champion: text.to_owned(),
            bank: Vec::new(),
            baseline: text.to_owned(),
            records: Vec::new(),
            numbers: 0,
            lessons: Vec::new(),
            closed: Vec::new(),
            trees: BTreeMap::new(),
        }
    }
}

/// How the simulated candidate behaves.
pub struct Nature {
    /// Instructions per request of an assignment.
    pub cost: fn(&knobs::Assignment) -> f64,
    /// A setting that ends its attempt before it is measured.
    pub fault: fn(&knobs::Assignment) -> Option<Outcome>,
    /// Standard deviation of `ln` counts.
    pub noise: f64,
    /// Calls of the lab after which it fails, as if the process had been killed.
    pub crash_after: Option<u32>,
    /// Attempt number at which the person presses Ctrl-C while it is being measured.
    pub interrupt_at: Option<u32>,
}

/// One process's view of the world.
pub struct SimLab<'a> {
    /// The disk.
    pub world: &'a mut World,
    nature: Nature,
    rng: SmallRng,
    calls: u32,
    clock: f64,
    worktree: String,
    interrupted: bool,
}

impl<'a> SimLab<'a> {
    /// A process started on this world.
    pub fn new(world: &'a mut World, nature: Nature, seed: u64) -> Self {
        let worktree = world.head().clone();
        SimLab { world, nature, rng: SmallRng::seed_from_u64(seed), calls: 0, clock: 0.0, worktree, interrupted: false }
    }

    fn step(&mut self) -> anyhow::Result<()> {
        self.calls += 1;
        self.clock += 1.0;
        match self.nature.crash_after {
            Some(limit) if self.calls > limit => anyhow::bail!("killed by the simulation"),
            _ => Ok(()),
        }
    }

    fn assignment(text: &str) -> knobs::Assignment {
        knobs::assignment(&knobs::parse(text).expect("the simulated tunables are well-formed"))
    }

    fn sample(&mut self, text: &str, seed: u64) -> Sample {
        // Irwin-Hall: close enough to a normal deviate, and no table of it is needed.
        let normal: f64 = (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0;
        let requests = 5_000;
        let total = (self.nature.cost)(&Self::assignment(text)) * (normal * self.nature.noise).exp() * requests as f64;
        let user = total / 3.0;
        let load = Load { sent: requests, verified: requests, wrong: 0, lost: 0 };
        Sample { seed, user: user as u64, kernel: (total - user) as u64, load, side: Side::default() }
    }

    fn pairs(&mut self, champion: &str, challenger: &str, n: usize) -> Vec<Pair> {
        (0..n)
            .map(|_| {
                let seed = self.rng.random();
                Pair { champion: self.sample(champion, seed), challenger: self.sample(challenger, seed) }
            })
            .collect()
    }
}

impl Lab for SimLab<'_> {
    fn recover(&mut self) -> anyhow::Result<Vec<String>> {
        self.step()?;
        let mut notes = Vec::new();
        // A recorded promotion that never reached the branch, and a lesson that was never written.
        if let Some(last) = self.world.records.last().cloned() {
            let there = |head: &String| self.world.trees.get(&last.attempt) == Some(head);
            match last.outcome {
                Outcome::Promoted { .. } if !there(&self.world.champion) => {
                    self.promote(&last)?;
                    notes.push(format!("attempt {} is now on the branch", last.attempt));
                }
                Outcome::Banked { .. } if !there(self.world.head()) => self.bank(&last)?,
                _ => {}
            }
            if !self.world.lessons.contains(&last.attempt) {
                self.learn(&last)?;
            }
        }
        self.worktree.clone_from(self.world.head());
        Ok(notes)
    }

    fn context(&mut self) -> anyhow::Result<Context> {
        self.step()?;
        Ok(Context {
            tunables_path: "candidate/src/tunables.rs".into(),
            tunables: self.world.head().clone(),
            baseline_tunables: self.world.baseline.clone(),
            past: self.world.records.iter().map(Record::past).collect(),
        })
    }

    fn open(&mut self, proposal: Proposal) -> anyhow::Result<Attempt> {
        self.step()?;
        self.world.numbers += 1;
        if let Edit::Write { contents, .. } = &proposal.edit {
            self.worktree.clone_from(contents);
        }
        Ok(Attempt {
            number: self.world.numbers,
            parent: "head".to_owned(),
            bank: self.world.bank.clone(),
            commit: None,
            proposal,
        })
    }

    fn screen(&mut self, attempt: &mut Attempt) -> Phased<()> {
        self.step()?;
        attempt.commit = Some(format!("commit-{}", attempt.number));
        self.world.trees.insert(attempt.number, self.worktree.clone());
        Ok(())
    }

    fn build(&mut self, _attempt: &Attempt) -> Phased<Binary> {
        self.step()?;
        let assignment = Self::assignment(&self.worktree);
        match (self.nature.fault)(&assignment) {
            Some(outcome) => Err(Stop::Ended(outcome)),
            None => Ok(Binary { sha256: format!("{assignment:?}") }),
        }
    }

    fn validate(&mut self, _attempt: &Attempt, _binary: &Binary) -> Phased<()> {
        Ok(self.step()?)
    }

    fn validate_rest(&mut self, _attempt: &Attempt, _binary: &Binary) -> Phased<Option<String>> {
        self.step()?;
        Ok(None)
    }

    fn measure(&mut self, attempt: &Attempt, _binary: &Binary, stage: Stage) -> Phased<Vec<Pair>> {
        self.step()?;
        if self.nature.interrupt_at == Some(attempt.number) {
            self.interrupted = true;
            return Err(Stop::Ended(Outcome::Interrupted { phase: crate::judge::outcome::Phase::Measure }));
        }
        let challenger = self.worktree.clone();
        let (against, pairs) = match stage {
            Stage::Screen { pairs } | Stage::Confirm { pairs, .. } => (self.world.head().clone(), pairs),
            Stage::Stack { pairs, .. } => (self.world.champion.clone(), pairs),
        };
        Ok(self.pairs(&against, &challenger, pairs))
    }

    fn noise(&self) -> Noise {
        Noise::new(self.nature.noise, self.nature.noise)
    }

    fn rule(&self) -> Rule {
        Rule::default()
    }

    fn record(&mut self, record: &Record) -> anyhow::Result<()> {
        self.step()?;
        self.world.records.push(record.clone());
        Ok(())
    }

    fn promote(&mut self, record: &Record) -> anyhow::Result<()> {
        self.step()?;
        self.world.champion.clone_from(&self.world.trees[&record.attempt]);
        self.world.bank.clear();
        Ok(())
    }

    fn bank(&mut self, record: &Record) -> anyhow::Result<()> {
        self.step()?;
        self.world.bank.push(record.attempt);
        Ok(())
    }

    fn reset(&mut self) -> anyhow::Result<()> {
        self.step()?;
        self.worktree.clone_from(self.world.head());
        Ok(())
    }

    fn learn(&mut self, record: &Record) -> anyhow::Result<()> {
        self.step()?;
        self.world.lessons.push(record.attempt);
        Ok(())
    }

    fn held_out(&mut self) -> Phased<Option<Held>> {
        self.step()?;
        if self.world.champion == self.world.baseline {
            return Ok(None);
        }
        let (baseline, champion) = (self.world.baseline.clone(), self.world.champion.clone());
        let pair = Pair { champion: self.sample(&baseline, 0), challenger: self.sample(&champion, 0) };
        let past: Vec<Past> = self.world.records.iter().map(Record::past).collect();
        let estimate = estimate(&[pair.d(), pair.d()], &self.noise(), 0.05);
        let claimed = crate::judge::budget::Progress::of(&past).gain;
        let agrees = (estimate.mean - claimed).abs() < 0.02;
        Ok(Some(Held { baseline: pair.champion, champion: pair.challenger, estimate, claimed, agrees }))
    }

    fn close(&mut self, reason: EndReason, _held: Option<&Held>) -> anyhow::Result<()> {
        self.step()?;
        self.world.closed.push(reason);
        Ok(())
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }

    fn stopping(&self) -> Option<EndReason> {
        self.interrupted.then_some(EndReason::Interrupted)
    }
}

/// The label of a record's change, for assertions.
pub fn set_of(changed: &Changed) -> Vec<(&str, &str)> {
    match changed {
        Changed::Tunables { set, .. } => set.iter().map(|(knob, value)| (knob.as_str(), value.as_str())).collect(),
        Changed::Patch { .. } => Vec::new(),
    }
}
