//! THE page: propose, attempt, record, promote, bank or reset, learn; until there is a reason to end.

use crate::attempt;
use crate::judge::budget::{Budget, Progress};
use crate::judge::outcome::Outcome;
use crate::judge::record::{EndReason, Held};
use crate::lab::{Lab, Stop};
use crate::out::Watch;
use crate::propose::Proposer;

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// Champion against baseline on a held-out seed, where a champion was found and the count was sound.
    pub held: Option<Held>,
}

/// Run the loop to its end.
///
/// # Errors
/// Only the harness's own failures. Everything recorded before the error stays recorded; the next start goes on.
pub fn search(
    lab: &mut dyn Lab,
    proposer: &mut dyn Proposer,
    budget: &Budget,
    watch: &mut dyn Watch,
) -> anyhow::Result<Ended> {
    for line in lab.recover()? {
        watch.note(&line);
    }
    let mut progress = Progress::of(&lab.context()?.past);
    let reason = loop {
        if let Some(reason) = lab.stopping().or_else(|| budget.spent(&progress, lab.elapsed())) {
            break reason;
        }
        let Some(proposal) = proposer.propose(&lab.context()?)? else {
            break EndReason::Exhausted;
        };

        let mut attempt = lab.open(proposal)?;
        watch.opened(attempt.number, &attempt.proposal.hypothesis, &progress);
        let record = attempt::evaluate(lab, &mut attempt, watch)?;

        lab.record(&record)?;
        match record.outcome {
            Outcome::Promoted { .. } => lab.promote(&record)?,
            Outcome::Banked { .. } => lab.bank(&record)?,
            _ => lab.reset()?,
        }
        lab.learn(&record)?;

        progress.add(&record.past());
        watch.ended(&record, &progress);
    };
    let held = match lab.held_out() {
        Ok(held) => held,
        Err(Stop::Ended(outcome)) => {
            watch.note(&format!("no held-out comparison of champion and baseline: {}", outcome.reason()));
            None
        }
        Err(Stop::Own(error)) => return Err(error),
    };
    lab.close(reason, held.as_ref())?;
    Ok(Ended { reason, held })
}
