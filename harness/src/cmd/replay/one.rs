//! One replay: build it again, count it again on the recorded seeds, compare. On another machine, which counts otherwise,
//! what can be compared is the gain over the run's baseline, measured here too.

use anyhow::Result;

use super::recorded::{self, Recorded};
use crate::cmd::Workshop;
use crate::data::definition::{Run, Runs};
use crate::data::history::Start;
use crate::data::ledger::Contents;
use crate::judge::sample::Sample;
use crate::judge::statistics::Noise;
use crate::os::git::{CommitId, Repo};
use crate::out::replayed::{Against, Answer, Replayed, Report};
use crate::real::Interrupted;
use crate::real::build::Binary;
use crate::real::measure::Fault;
use crate::real::measure::pairs::Server;

/// Replays one after the other. What they share is made once: the workshop of a run, the build of its baseline.
pub struct Replayer<'a> {
    repo: &'a Repo,
    contents: &'a Contents,
    seeds: usize,
    shop: Option<(Start, Workshop)>,
    baseline: Option<Result<Binary, String>>,
}

/// Counts, or why there are none.
type Counted = Result<Vec<Sample>, String>;

impl<'a> Replayer<'a> {
    /// Replays on so many of the recorded seeds.
    pub fn new(repo: &'a Repo, contents: &'a Contents, seeds: usize) -> Self {
        Replayer { repo, contents, seeds: seeds.max(1), shop: None, baseline: None }
    }

    /// Build, count, compare.
    ///
    /// # Errors
    /// [`Interrupted`] when asked to stop; else only the harness's own failures.
    pub fn replay(&mut self, recorded: &Recorded) -> Result<Report> {
        let taken: Vec<&Sample> = recorded.samples.iter().take(self.seeds).collect();
        let report = |built: Option<String>, measured: Vec<Option<Sample>>, answer| Report {
            commit: recorded.commit.as_str().to_owned(),
            attempt: recorded.attempt,
            binaries: (recorded.binary.clone(), built),
            seeds: taken
                .iter()
                .zip(measured)
                .map(|(sample, measured)| Replayed { recorded: (*sample).clone(), measured })
                .collect(),
            against: None,
            answer,
        };
        let nothing = || taken.iter().map(|_| None).collect::<Vec<_>>();
        let Some((start, fingerprint)) = &recorded.terms else {
            let why = &recorded.why_none;
            let answer = Answer::NotComparable(format!("the ledger has no sample of this commit: {why}"));
            return Ok(report(None, Vec::new(), answer));
        };
        self.open(start, &recorded.commit)?;
        let shop = self.shop()?;
        let other = (shop.fingerprint != *fingerprint).then(|| {
            format!(
                "recorded by {} {fingerprint}, here it is {} {}: another meter, load generator, machine or compiler gives other numbers",
                start.meter,
                shop.meter.name(),
                shop.fingerprint
            )
        });
        match &recorded.patch {
            Some(diff) => shop.worktree.apply(&recorded.commit, diff)?,
            None => shop.worktree.restore(&recorded.commit)?,
        }
        let built = match shop.build_here(&format!("commit {}", recorded.commit.short()))? {
            Ok(built) => built,
            Err(reason) => return Ok(report(None, nothing(), Answer::NotReproduced(reason))),
        };
        let seeds: Vec<u64> = taken.iter().map(|sample| sample.seed).collect();
        let measured = match count(shop, &built, &seeds)? {
            Ok(measured) => measured,
            Err(reason) => return Ok(report(Some(built.sha256), nothing(), Answer::NotReproduced(reason))),
        };
        let exact = shop.meter.is_exact() && shop.meter.name() == start.meter;
        let same = answer(recorded, &built.sha256, &taken, &measured, (!exact).then_some(start.noise));
        let all = || measured.iter().cloned().map(Some).collect();
        let Some(other) = other else { return Ok(report(Some(built.sha256), all(), same)) };
        // An exact meter's same count to the instruction needs no other proof.
        if let (Answer::Reproduced(reason), true) = (&same, exact) {
            let reason = format!("{reason}, though the fingerprint is another");
            return Ok(report(Some(built.sha256), all(), Answer::Reproduced(reason)));
        }
        let (against, why) = match self.against(start, recorded, &measured, &seeds)? {
            Ok(against) => (Some(against), String::new()),
            Err(why) => (None, format!("; nor against the baseline measured here: {why}")),
        };
        let answer = Answer::NotComparable(format!("{other}{why}"));
        Ok(Report { against, ..report(Some(built.sha256), all(), answer) })
    }

    /// The workshop of this run, opened if it is not the one at hand.
    fn open(&mut self, start: &Start, commit: &CommitId) -> Result<()> {
        if self.shop.as_ref().is_none_or(|(open, _)| open != start) {
            let definition = Runs::parse("runs.toml as recorded in the ledger", &start.definition_text)?;
            let run: &Run = definition.pick(Some(&start.run))?.1;
            self.baseline = None;
            self.shop = None;
            self.shop = Some((start.clone(), Workshop::open(self.repo, run, commit)?));
        }
        Ok(())
    }

    fn shop(&self) -> Result<&Workshop> {
        self.shop.as_ref().map(|(_, shop)| shop).ok_or_else(|| anyhow::anyhow!("no workshop is open"))
    }

    /// The gain over the run's baseline, both counted here on the same seeds, and what the ledger claims of it; or why
    /// there is none.
    fn against(
        &mut self,
        start: &Start,
        recorded: &Recorded,
        measured: &[Sample],
        seeds: &[u64],
    ) -> Result<Result<Against, String>> {
        let claimed = recorded.attempt.and_then(|attempt| recorded::claimed(self.contents, start, attempt));
        let Some(claimed) = claimed else { return Ok(Err("the ledger claims no gain of it".to_owned())) };
        if self.baseline.is_none() {
            self.baseline = Some(self.build_baseline(start)?);
        }
        let built = match &self.baseline {
            Some(Ok(built)) => built,
            Some(Err(why)) => return Ok(Err(why.clone())),
            None => return Ok(Err("it was not built".to_owned())),
        };
        Ok(count(self.shop()?, built, seeds)?.map(|baseline| Against {
            baseline: start.baseline.clone(),
            measured: gain_over(&baseline, measured),
            recorded: claimed,
            samples: baseline,
        }))
    }

    fn build_baseline(&self, start: &Start) -> Result<Result<Binary, String>> {
        let Ok(commit) = self.repo.resolve(&start.baseline) else {
            return Ok(Err(format!("its commit {} is not in this repository", start.baseline)));
        };
        let shop = self.shop()?;
        shop.worktree.restore(&commit)?;
        shop.build_here(&format!("the run's baseline {}", commit.short()))
    }
}

/// Mean of `ln(I_baseline / I_measured)` over the seeds.
fn gain_over(baseline: &[Sample], measured: &[Sample]) -> f64 {
    let pairs = baseline.iter().zip(measured);
    pairs.map(|(old, new)| (old.per_request() / new.per_request()).ln()).sum::<f64>() / measured.len() as f64
}

fn count(shop: &Workshop, built: &Binary, seeds: &[u64]) -> Result<Counted> {
    eprintln!("counting {} seeds", seeds.len());
    match shop.bench().samples(Server { path: &built.path, sha256: &built.sha256 }, seeds) {
        Ok(counted) => Ok(Ok(counted.into_iter().map(|counted| counted.sample).collect())),
        Err(Fault::Own(error)) => Err(error),
        Err(Fault::Interrupted) => Err(Interrupted.into()),
        Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => Ok(Err(reason)),
    }
}

/// `noise` is none for an exact meter.
fn answer(recorded: &Recorded, built: &str, taken: &[&Sample], measured: &[Sample], noise: Option<Noise>) -> Answer {
    if let Some(known) = recorded.binary.as_deref().filter(|known| *known != built) {
        return Answer::NotReproduced(format!("the build gives another program (sha256 {built}, recorded {known})"));
    }
    let close = |old: &Sample, new: &Sample| match noise {
        None => (old.user, old.kernel, old.load) == (new.user, new.kernel, new.load),
        // Five deviations: a hardware counter's sample is never the same number twice.
        Some(noise) => (old.per_request() / new.per_request()).ln().abs() <= 5.0 * noise.sigma_aa,
    };
    let differing = taken.iter().zip(measured).filter(|(old, new)| !close(old, new)).count();
    let n = taken.len();
    match (differing, noise) {
        (0, None) => Answer::Reproduced(format!("the same count to the instruction on {n} of {n} seeds")),
        (0, Some(_)) => Answer::Reproduced(format!("within the meter's spread on {n} of {n} seeds")),
        (differing, _) => Answer::NotReproduced(format!("the count differs on {differing} of {n} seeds")),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::judge::sample::{Load, Side};

    fn sample(user: u64) -> Sample {
        Sample {
            seed: 1,
            user,
            kernel: 5_000,
            load: Load { sent: 10, verified: 10, wrong: 0, lost: 0 },
            side: Side::default(),
        }
    }

    fn recorded(repo: &Repo, binary: &str) -> Recorded {
        Recorded {
            commit: repo.head().unwrap(),
            patch: None,
            attempt: Some(1),
            binary: Some(binary.into()),
            samples: vec![],
            terms: None,
            why_none: String::new(),
        }
    }

    #[test]
    fn an_exact_meter_reproduces_to_the_instruction_and_a_noisy_one_within_its_spread() {
        let repo = Repo::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR")))
            .context("the tests run in a checkout")
            .unwrap();
        let known = recorded(&repo, "a");
        let old = sample(1_000_000);
        let say = |new: u64, noise| answer(&known, "a", &[&old], &[sample(new)], noise);
        assert!(matches!(say(1_000_000, None), Answer::Reproduced(_)));
        assert!(matches!(say(1_000_001, None), Answer::NotReproduced(_)));
        assert!(matches!(say(1_000_001, Some(Noise::new(0.001, 0.0))), Answer::Reproduced(_)));
        assert!(matches!(say(1_100_000, Some(Noise::new(0.001, 0.0))), Answer::NotReproduced(_)));
        let other = answer(&known, "b", &[&old], &[sample(1_000_000)], None);
        assert!(matches!(other, Answer::NotReproduced(reason) if reason.contains("another program")));
    }
}
