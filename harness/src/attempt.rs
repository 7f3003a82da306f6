//! The other page: one attempt from proposal to outcome. Screen, build, validate, measure, decide; the first failure
//! ends it. A candidate's failure is a value; an error here means the harness itself broke.

use crate::judge::decide::{self, Confirming, Screening};
use crate::judge::outcome::{Decision, Outcome, Phase, Verdict};
use crate::judge::record::Record;
use crate::judge::sample::Pair;
use crate::lab::{Attempt, Binary, Lab, Phased, Stage, Stop};
use crate::out::Watch;

/// Take one opened attempt through all phases.
///
/// # Errors
/// Only the harness's own failures; whatever the candidate did is in the record's outcome.
pub fn evaluate(lab: &mut dyn Lab, attempt: &mut Attempt, watch: &mut dyn Watch) -> anyhow::Result<Record> {
    let mut record =
        Record::opened(attempt.number, &attempt.parent, &attempt.proposal.hypothesis, attempt.proposal.changed.clone());
    record.bank.clone_from(&attempt.bank);
    let outcome = match phases(lab, attempt, &mut record, watch) {
        Ok(decision) => Outcome::from(decision),
        Err(Stop::Ended(outcome)) => outcome,
        Err(Stop::Own(error)) => return Err(error),
    };
    record.end(outcome, lab.elapsed());
    Ok(record)
}

fn phases(lab: &mut dyn Lab, attempt: &mut Attempt, record: &mut Record, watch: &mut dyn Watch) -> Phased<Decision> {
    enter(lab, record, watch, Phase::Screen);
    lab.screen(attempt)?;
    record.commit.clone_from(&attempt.commit);

    enter(lab, record, watch, Phase::Build);
    let binary = lab.build(attempt)?;
    record.binary = Some(binary.sha256.clone());

    enter(lab, record, watch, Phase::Validate);
    lab.validate(attempt, &binary)?;

    enter(lab, record, watch, Phase::Measure);
    let (rule, noise) = (lab.rule(), lab.noise());
    record.screen = lab.measure(attempt, &binary, Stage::Screen { pairs: rule.screen_pairs })?;
    let screened = match decide::screen(&rule, &record.screen, &noise) {
        Screening::Stop(decision) => return Ok(decision),
        Screening::Confirm(estimate) => estimate,
    };

    // Only what may pay is worth the cases that take long.
    enter(lab, record, watch, Phase::Validate);
    record.unchecked = lab.validate_rest(attempt, &binary)?;

    enter(lab, record, watch, Phase::Measure);
    // The screen's estimate is biased upwards by having been selected: only fresh pairs count from here on.
    let confirm = |look, pairs| Stage::Confirm { look, pairs };
    let own = looks(lab, attempt, &binary, confirm, &mut record.confirm)?.after_screen(screened);
    if record.bank.is_empty() || !matches!(own.verdict, Verdict::Promote | Verdict::Bank) {
        enter(lab, record, watch, Phase::Decide);
        return Ok(own);
    }

    // A real gain on top of banked ones: only the whole stack's own measurement promotes it.
    let whole = |look, pairs| Stage::Stack { look, pairs };
    let stack = looks(lab, attempt, &binary, whole, &mut record.stack)?;
    record.whole = Some(stack.estimate);
    enter(lab, record, watch, Phase::Decide);
    let decision = decide::stacked(&own, stack, record.bank.len() + 1);
    record.own = Some(Box::new(own));
    Ok(decision)
}

/// Fresh pairs, a look at a time, until they decide.
fn looks(
    lab: &mut dyn Lab,
    attempt: &Attempt,
    binary: &Binary,
    stage: fn(usize, usize) -> Stage,
    measured: &mut Vec<Pair>,
) -> Phased<Decision> {
    let (rule, noise) = (lab.rule(), lab.noise());
    let mut look = 0;
    loop {
        let wanted = rule.looks[look] - measured.len();
        measured.extend(lab.measure(attempt, binary, stage(look, wanted))?);
        match decide::confirm(&rule, measured, look, &noise) {
            Confirming::More(_) => look += 1,
            Confirming::Done(decision) => return Ok(decision),
        }
    }
}

fn enter(lab: &dyn Lab, record: &mut Record, watch: &mut dyn Watch, phase: Phase) {
    record.enter(phase, lab.elapsed());
    watch.phase(record.attempt, phase);
}
