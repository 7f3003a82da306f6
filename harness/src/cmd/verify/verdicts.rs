//! Every verdict again, by the pure judge from the recorded pairs; and whether these are the pairs that the run's seed asks
//! for.

use super::{Report, Run};
use crate::data::history::Start;
use crate::judge::decide::{Confirming, Screening, confirm, screen, stacked};
use crate::judge::outcome::{Decision, Outcome, Verdict};
use crate::judge::record::Record;
use crate::judge::sample::Pair;
use crate::judge::schedule::{Schedule, Turn};
use crate::judge::statistics::Estimate;

pub(super) fn check(runs: &[Run<'_>], report: &mut Report) {
    for run in runs {
        for recorded in &run.records {
            report.verdicts += usize::from(recorded.record.outcome.decision().is_some());
            for objection in
                [verdict(run.start, recorded.record), seeds(run.start, recorded.record)].into_iter().flatten()
            {
                report.object(format!("attempt {}: {objection}", recorded.record.attempt));
            }
        }
        if let Some(champion) = run.champion_at_end.filter(|champion| *champion != run.champion()) {
            let (name, last) = (&run.start.run, run.champion());
            report.object(format!("run {name}: its end names the champion {champion}, its last promotion is {last}"));
        }
    }
}

/// What is wrong with a record's verdict, if anything.
fn verdict(start: &Start, record: &Record) -> Option<String> {
    let recorded = record.outcome.decision()?;
    let Some(computed) = again(start, record) else {
        return Some(format!("the ledger says {}, its pairs give no verdict", recorded.verdict));
    };
    if computed.verdict != recorded.verdict {
        return Some(format!("the ledger says {}, its pairs give {}", recorded.verdict, computed.verdict));
    }
    if record.own.is_none() && !record.bank.is_empty() && matches!(recorded.verdict, Verdict::Promote | Verdict::Bank) {
        return Some("it was proposed on banked changes, and the stack was not measured".to_owned());
    }
    let outcome = Outcome::from(computed.clone());
    if outcome.word() != record.outcome.word() {
        return Some(format!("it is recorded as {}, its verdict makes it {}", record.outcome.word(), outcome.word()));
    }
    (!same(&computed.estimate, &recorded.estimate))
        .then(|| format!("the ledger's gain is {}, its pairs give {}", recorded.estimate.mean, computed.estimate.mean))
}

fn again(start: &Start, record: &Record) -> Option<Decision> {
    if let Screening::Stop(decision) = screen(&start.rule, &record.screen, &start.noise) {
        return Some(decision);
    }
    let own = looks(start, &record.confirm)?;
    if record.own.is_none() {
        return Some(own);
    }
    Some(stacked(&own, looks(start, &record.stack)?, record.bank.len() + 1))
}

/// What these pairs decide, a look at a time.
fn looks(start: &Start, pairs: &[Pair]) -> Option<Decision> {
    let due = start.rule.looks.iter().enumerate().take_while(|(_, wanted)| **wanted <= pairs.len());
    due.map(|(look, wanted)| confirm(&start.rule, &pairs[..*wanted], look, &start.noise)).find_map(
        |looked| match looked {
            Confirming::Done(decision) => Some(decision),
            Confirming::More(_) => None,
        },
    )
}

/// To a part in a billion: another version of the distribution's library may round otherwise.
fn same(one: &Estimate, other: &Estimate) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e-3) || a == b;
    one.pairs == other.pairs && close(one.mean, other.mean) && close(one.lcb, other.lcb) && close(one.ucb, other.ucb)
}

/// The pairs must be on the seeds that follow from the run's seed, the attempt and its commit: no other data may be chosen.
fn seeds(start: &Start, record: &Record) -> Option<String> {
    let schedule = Schedule::new(start.seed);
    let differs = |pairs: &[Pair], turns: &[Turn]| {
        pairs.len() != turns.len()
            || pairs.iter().zip(turns).any(|(pair, turn)| [pair.champion.seed, pair.challenger.seed] != [turn.seed; 2])
    };
    if !record.screen.is_empty() && differs(&record.screen, &schedule.screen(record.screen.len())) {
        return Some("its screen pairs are not on the run's screen seeds".to_owned());
    }
    let commit = record.commit.as_deref().unwrap_or_default();
    type Turns = fn(&Schedule, u32, usize, &str, usize) -> Vec<Turn>;
    let asked = |turns: Turns, pairs: &[Pair]| {
        let (mut all, mut before) = (Vec::new(), 0);
        for (look, wanted) in start.rule.looks.iter().enumerate().take_while(|(_, wanted)| **wanted <= pairs.len()) {
            all.extend(turns(&schedule, record.attempt, look, commit, wanted - before));
            before = *wanted;
        }
        all
    };
    let parts: [(&str, &[Pair], Turns); 2] =
        [("confirm", &record.confirm, Schedule::confirm), ("stack", &record.stack, Schedule::stack)];
    parts
        .into_iter()
        .find(|(_, pairs, turns)| differs(pairs, &asked(*turns, pairs)))
        .map(|(what, ..)| format!("its {what} pairs are not on the seeds of this attempt and commit"))
}
