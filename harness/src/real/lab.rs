//! `Lab` on this machine: each method is a few lines over the layer that does the work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use loadgen::workload::Workload;

use super::bank::Stack;
use super::build::{Binary as Built, Build, Builder};
use super::frozen::Frozen;
use super::measure::pairs::{Bench, Server, without_profiles};
use super::measure::samples::Samples;
use super::measure::vm::VmMeter;
use super::measure::{Fault, Meter};
use super::place::Place;
use super::story;
use super::validate::{Report, Validator};
use crate::data::attempts::{Attempts, Part, Profiles};
use crate::data::definition::Run;
use crate::data::history::{self, Event, RunView};
use crate::data::knowledge::Knowledge;
use crate::data::ledger::Ledger;
use crate::judge::budget::Progress;
use crate::judge::decide::Rule;
use crate::judge::hypothesis;
use crate::judge::outcome::{Outcome, Phase};
use crate::judge::profile::{FunctionShift, shifts};
use crate::judge::record::{EndReason, Held, Record};
use crate::judge::sample::{Counted, Pair};
use crate::judge::schedule::Schedule;
use crate::judge::statistics::{Noise, bears_out, estimate};
use crate::lab::{Attempt, Binary, Lab, Phased, Stage, Stop};
use crate::os::git::{CommitId, Repo, Worktree};
use crate::os::signals;
use crate::propose::{Context, Proposal};

/// Seeds of the comparison that ends a run.
const HELD_OUT_SEEDS: usize = 3;

/// The real lab. Opened by `open.rs`.
pub struct RealLab {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) run: Run,
    pub(super) branch: String,
    pub(super) baseline: CommitId,
    pub(super) champion: CommitId,
    pub(super) repo: Repo,
    pub(super) worktree: Worktree,
    pub(super) ledger: Ledger,
    pub(super) attempts: Attempts,
    pub(super) knowledge: Knowledge,
    pub(super) builder: Builder,
    pub(super) meter: Box<dyn Meter>,
    /// The emulated machine for the cases that need it, whatever counts; or why there is none.
    pub(super) machine: Result<VmMeter, String>,
    /// Meter and toolchain: all that a count depends on beside commit and seed.
    pub(super) fingerprint: String,
    pub(super) workload: Workload,
    pub(super) samples: Samples,
    pub(super) schedule: Schedule,
    pub(super) noise: Noise,
    pub(super) rule: Rule,
    pub(super) frozen: Frozen,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) started: Instant,
    /// Told what takes long outside an attempt.
    pub(super) say: Box<dyn FnMut(&str)>,
    pub(super) champion_built: Option<Built>,
    /// What is banked on top of the champion; empty until something is.
    pub(super) stack: Stack,
    pub(super) challenger_built: Option<Built>,
    /// What the first half of validation found.
    pub(super) checks: Option<Report>,
    /// Why the proposal could not even be applied.
    pub(super) refusal: Option<String>,
    /// What the functions of the attempt under way cost, against the champion's.
    pub(super) shifts: Vec<FunctionShift>,
}

impl RealLab {
    pub(super) fn view(&self) -> Result<RunView<'_>> {
        history::run(self.ledger.contents().events(), &self.name)
            .with_context(|| format!("the ledger has no start of run {}", self.name))
    }

    /// The same binary was judged before: there is nothing new to learn.
    fn seen(&self, built: &Built) -> Result<Option<Outcome>> {
        if self.head_server()?.sha256 == built.sha256 {
            let whose = if self.stack.is_empty() { "the champion's" } else { "that of the head of the bank" };
            return Ok(Some(Outcome::NoOp { reason: format!("the build is bit for bit {whose}") }));
        }
        let view = self.view()?;
        let judged = |record: &&&Record| {
            record.binary.as_deref() == Some(built.sha256.as_str())
                && (record.outcome.decision().is_some() || matches!(record.outcome, Outcome::Invalid { .. }))
        };
        Ok(view.records.iter().find(judged).map(|record| Outcome::ScreenedOut {
            reason: format!(
                "the build is bit for bit that of attempt {}, which was {}",
                record.attempt,
                record.outcome.word()
            ),
        }))
    }

    pub(super) fn champion_server(&self) -> Result<Server<'_>> {
        self.champion_built.as_ref().map(server).ok_or_else(|| anyhow!("the champion is not built yet"))
    }

    pub(super) fn validator(&self) -> Validator<'_> {
        let machine = self.machine.as_ref().map_err(String::as_str);
        Validator { limits: &self.run.limits, machine, stop: &self.stop }
    }

    fn bench(&self) -> Bench<'_> {
        Bench { meter: &*self.meter, workload: &self.workload, samples: Some(&self.samples), stop: &self.stop }
    }

    /// Build what the worktree holds; the inner error is the candidate's.
    pub(super) fn compile(&self, log: &Path) -> Phased<Result<Built, String>> {
        let build = self.builder.build(self.worktree.path(), &self.run.candidate.package, log, &self.stop);
        match build.map_err(anyhow::Error::from)? {
            Build::Built(built) => Ok(Ok(built)),
            Build::Failed(reason) => Ok(Err(reason)),
            Build::TimedOut(after) => {
                Ok(Err(format!("the build took longer than {:.0} s (limits.build)", after.as_secs_f64())))
            }
            Build::Interrupted => Err(Stop::Ended(Outcome::Interrupted { phase: Phase::Build })),
        }
    }

    fn note_profiles(&mut self, attempt: u32, counted: &[(Counted, Counted)]) -> Result<()> {
        let Some((champion, challenger)) = counted.first().filter(|(_, challenger)| !challenger.profile.is_empty())
        else {
            return Ok(());
        };
        let side = |counted: &'_ Counted| (counted.profile.clone(), counted.sample.load.verified);
        let ((champion, champion_requests), (challenger, challenger_requests)) = (side(champion), side(challenger));
        self.shifts = shifts((&champion, champion_requests), (&challenger, challenger_requests));
        self.attempts.keep_profiles(attempt, &Profiles { champion, champion_requests, challenger, challenger_requests })
    }
}

impl Lab for RealLab {
    fn recover(&mut self) -> Result<Vec<String>> {
        self.finish_what_was_left()
    }

    fn context(&mut self) -> Result<Context> {
        let path = self.run.candidate.tunables.to_string_lossy().into_owned();
        let text = |commit: &CommitId| -> Result<String> {
            let bytes = self.repo.read_file(commit, &path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Context {
            tunables_path: self.run.candidate.tunables.clone(),
            tunables: text(self.head())?,
            baseline_tunables: text(&self.baseline)?,
            past: self.view()?.records.iter().map(|record| record.past()).collect(),
        })
    }

    fn open(&mut self, proposal: Proposal) -> Result<Attempt> {
        self.frozen.check()?;
        let proposal = Proposal { hypothesis: hypothesis::clean(&proposal.hypothesis), ..proposal };
        let number = history::next_attempt(self.ledger.contents().events());
        let parent = self.head().as_str().to_owned();
        self.ledger.append(Event::Intent {
            attempt: number,
            run: self.name.clone(),
            parent: parent.clone(),
            hypothesis: proposal.hypothesis.clone(),
            changed: proposal.changed.clone(),
        })?;
        self.shifts.clear();
        self.challenger_built = None;
        self.refusal = self.apply(&proposal.edit).err();
        Ok(Attempt { number, parent, bank: self.stack.attempts(), commit: None, proposal })
    }

    fn screen(&mut self, attempt: &mut Attempt) -> Phased<()> {
        let refused = |reason| Stop::Ended(Outcome::ScreenedOut { reason });
        if let Some(reason) = self.refusal.take() {
            return Err(refused(reason));
        }
        self.fence()?.map_err(refused)?;
        let message =
            story::attempted(attempt.number, &attempt.proposal.changed.to_string(), &attempt.proposal.hypothesis);
        let commit = self.worktree.commit(self.head(), &message).map_err(anyhow::Error::from)?;
        self.repo.keep_attempt(u64::from(attempt.number), &commit).map_err(anyhow::Error::from)?;
        let diff = self.repo.diff(self.head(), &commit).map_err(anyhow::Error::from)?;
        self.attempts.keep_text(attempt.number, Part::Proposal, &diff)?;
        attempt.commit = Some(commit.as_str().to_owned());
        Ok(())
    }

    fn build(&mut self, attempt: &Attempt) -> Phased<Binary> {
        let log = self.attempts.path(attempt.number, Part::BuildLog);
        let compiled = self.compile(&log);
        // The log is kept with the project: it has no use for this machine's paths.
        if let Some(text) = self.attempts.text(attempt.number, Part::BuildLog)? {
            let here = self.worktree.path().to_string_lossy().into_owned();
            self.attempts.keep_text(attempt.number, Part::BuildLog, &text.replace(&here, "<worktree>"))?;
        }
        let built = compiled?.map_err(|reason| Stop::Ended(Outcome::BuildFailed { reason }))?;
        if let Some(outcome) = self.seen(&built)? {
            return Err(Stop::Ended(outcome));
        }
        let binary = Binary { sha256: built.sha256.clone() };
        self.challenger_built = Some(built);
        Ok(binary)
    }

    fn validate(&mut self, attempt: &Attempt, _binary: &Binary) -> Phased<()> {
        let built = self.challenger_built.as_ref().context("validation comes after the build")?;
        let (report, verdict) = self.validator().natively(&built.path, u64::from(attempt.number));
        if let Some(report) = &report {
            self.attempts.keep(attempt.number, Part::Validate, report)?;
        }
        self.checks = report;
        verdict
    }

    fn validate_rest(&mut self, attempt: &Attempt, _binary: &Binary) -> Phased<Option<String>> {
        let built = self.challenger_built.as_ref().context("validation comes after the build")?;
        let mut report = self.checks.take().context("the second half of validation comes after the first")?;
        let verdict = self.validator().in_machine(&built.path, &mut report);
        self.attempts.keep(attempt.number, Part::Validate, &report)?;
        verdict.map(|()| report.unchecked)
    }

    fn measure(&mut self, attempt: &Attempt, _binary: &Binary, stage: Stage) -> Phased<Vec<Pair>> {
        let commit = attempt.commit.as_deref().context("an attempt is measured after it is committed")?;
        let (against, turns) = match stage {
            Stage::Screen { pairs } => (self.head_server()?, self.schedule.screen(pairs)),
            Stage::Confirm { look, pairs } => {
                (self.head_server()?, self.schedule.confirm(attempt.number, look, commit, pairs))
            }
            Stage::Stack { look, pairs } => {
                (self.champion_server()?, self.schedule.stack(attempt.number, look, commit, pairs))
            }
        };
        let challenger = self.challenger_built.as_ref().context("measuring comes after the build")?;
        let challenger = server(challenger);
        let counted =
            self.bench().pairs(against, challenger, &turns).map_err(|fault| stop_of(fault, Phase::Measure))?;
        if self.shifts.is_empty() {
            self.note_profiles(attempt.number, &counted)?;
        }
        Ok(without_profiles(&counted))
    }

    fn noise(&self) -> Noise {
        self.noise
    }

    fn rule(&self) -> Rule {
        self.rule.clone()
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        if !record.screen.is_empty() {
            let samples =
                crate::data::attempts::Samples { screen: record.screen.clone(), confirm: record.confirm.clone() };
            self.attempts.keep(record.attempt, Part::Samples, &samples)?;
        }
        self.ledger.append(Event::Outcome {
            run: self.name.clone(),
            meter: self.meter.name().to_owned(),
            fingerprint: self.fingerprint.clone(),
            record: Box::new(record.clone()),
        })?;
        Ok(())
    }

    fn promote(&mut self, record: &Record) -> Result<()> {
        self.move_branch(record)?;
        // The same source at another commit: the build is the challenger's.
        self.champion_built = self.challenger_built.take();
        self.reset()
    }

    fn bank(&mut self, record: &Record) -> Result<()> {
        let built = self.challenger_built.take();
        self.put_in_bank(record, built)?;
        self.reset()
    }

    fn reset(&mut self) -> Result<()> {
        Ok(self.worktree.restore(self.head())?)
    }

    fn learn(&mut self, record: &Record) -> Result<()> {
        self.knowledge.learn(&self.name, record, &self.shifts)?;
        Ok(())
    }

    fn held_out(&mut self) -> Phased<Option<Held>> {
        if self.champion == self.baseline {
            return Ok(None);
        }
        if signals::stopped(&self.stop) {
            return Err(Stop::Ended(Outcome::Interrupted { phase: Phase::Measure }));
        }
        let baseline = self.baseline.clone();
        let built = self.build_known(&baseline, "baseline")?;
        self.reset()?;
        (self.say)("counting champion and baseline on held-out seeds");
        let turns = self.schedule.held_out(self.champion.as_str(), HELD_OUT_SEEDS);
        let counted = self
            .bench()
            .pairs(server(&built), self.champion_server()?, &turns)
            .map_err(|fault| stop_of(fault, Phase::Measure))?;
        let pairs = without_profiles(&counted);
        let ds: Vec<f64> = pairs.iter().map(Pair::d).collect();
        let estimate = estimate(&ds, &self.noise.with_windows_of(&pairs), 0.01);
        let view = self.view()?;
        let past: Vec<_> = view.records.iter().map(|record| record.past()).collect();
        let claimed = Progress::of(&past).gain;
        let promoted = |record: &&Record| matches!(record.outcome, Outcome::Promoted { .. });
        let claims = view
            .records
            .iter()
            .copied()
            .filter(promoted)
            .filter_map(|record| Some(record.outcome.decision()?.estimate));
        let agrees = bears_out(&estimate, &claims.collect::<Vec<_>>());
        Ok(pairs.into_iter().next().map(|pair| Held {
            baseline: pair.champion,
            champion: pair.challenger,
            estimate,
            claimed,
            agrees,
        }))
    }

    fn close(&mut self, reason: EndReason, held: Option<&Held>) -> Result<()> {
        let run = self.name.clone();
        let event = match reason {
            EndReason::Interrupted => Event::RunInterrupted { run },
            reason => Event::RunEnded {
                run,
                reason,
                champion: self.champion.as_str().to_owned(),
                held: held.cloned().map(Box::new),
            },
        };
        self.ledger.append(event)?;
        Ok(())
    }

    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn stopping(&self) -> Option<EndReason> {
        signals::stopped(&self.stop).then_some(EndReason::Interrupted)
    }
}

pub(super) fn server(built: &Built) -> Server<'_> {
    Server { path: &built.path, sha256: &built.sha256 }
}

fn stop_of(fault: Fault, phase: Phase) -> Stop {
    match fault {
        Fault::Invalid(reason) => Stop::Ended(Outcome::Invalid { reason }),
        Fault::Unsound(reason) => Stop::Ended(Outcome::Unsound { reason }),
        Fault::Interrupted => Stop::Ended(Outcome::Interrupted { phase }),
        Fault::Own(error) => Stop::Own(error),
    }
}
