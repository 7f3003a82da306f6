//! What git holds of the ledger: the attempts' refs, the promoted commits with their trailers, the run's branch. A clone
//! fetches no refs/attempts, and branches are merged and deleted: what is not here is a note.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::{Recorded, Report, Run};
use crate::data::history::Event;
use crate::data::ledger::Contents;
use crate::judge::outcome::Outcome;
use crate::os::git::{CommitId, Repo};
use crate::real::story;

pub(super) fn check(repo: &Repo, contents: &Contents, runs: &[Run<'_>], report: &mut Report) -> Result<()> {
    attempts(repo, contents, runs, report)?;
    let (mut missing, mut of) = (Vec::new(), 0);
    for run in runs {
        for (attempt, commit) in &run.promoted {
            of += 1;
            let Some(recorded) = run.record(*attempt) else {
                report.object(format!("attempt {attempt} was promoted, and has no outcome in the ledger"));
                continue;
            };
            let word = recorded.record.outcome.word();
            if word != "promoted" {
                report.object(format!("attempt {attempt} was promoted, and its outcome is {word}"));
                continue;
            }
            let Ok(promoted) = repo.resolve(commit) else {
                missing.push(*attempt);
                continue;
            };
            let objections = promotion(repo, contents, run, recorded, promoted)?;
            report.promoted += usize::from(objections.is_empty());
            objections.into_iter().for_each(|objection| report.object(objection));
        }
    }
    report.missing("promoted commits", &missing, of, ": fetch the branch they are on");
    // The branch is the last start's; earlier starts of the same name had it before.
    let last: BTreeMap<&str, &Run<'_>> = runs.iter().map(|run| (run.start.run.as_str(), run)).collect();
    for run in last.values() {
        branch(repo, run, report)?;
    }
    Ok(())
}

fn attempts(repo: &Repo, contents: &Contents, runs: &[Run<'_>], report: &mut Report) -> Result<()> {
    let (mut missing, mut of) = (Vec::new(), 0);
    for record in runs.iter().flat_map(|run| &run.records).map(|recorded| recorded.record) {
        let Some(commit) = &record.commit else { continue };
        of += 1;
        let number = record.attempt;
        match repo.attempt(u64::from(number))? {
            None => missing.push(number),
            Some(at) if at.as_str() == commit => report.attempts += 1,
            Some(at) => report.object(format!("refs/attempts/{number} is at {at}, the ledger has {commit}")),
        }
    }
    let remedy = ": a clone does not fetch them, `git fetch origin 'refs/attempts/*:refs/attempts/*'` does";
    report.missing("refs/attempts", &missing, of, remedy);
    let known: BTreeSet<u64> = contents.events().filter_map(Event::attempt).map(u64::from).collect();
    let strange: Vec<u32> = repo
        .attempts()?
        .into_iter()
        .filter(|number| !known.contains(number))
        .filter_map(|number| u32::try_from(number).ok())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if !strange.is_empty() {
        report.notes.push(format!(
            "refs/attempts {} are of no attempt of this ledger: they belong to the ledger of another branch, or lines were cut off the end of this one",
            super::ranges(&strange)
        ));
    }
    Ok(())
}

/// What is wrong with a promoted commit, and with those of the banked attempts that were promoted beneath it.
fn promotion(
    repo: &Repo,
    contents: &Contents,
    run: &Run<'_>,
    recorded: &Recorded<'_>,
    promoted: CommitId,
) -> Result<Vec<String>> {
    let record = recorded.record;
    let mut objections = story_and_files(repo, contents, recorded, &promoted)?;
    let mut above = promoted;
    for number in record.bank.iter().rev() {
        let below = repo.parent(&above)?;
        let (Some(below), Some(banked)) = (below, run.record(*number)) else {
            let short = above.short();
            objections.push(format!(
                "{short}: banked attempt {number} should be beneath it, and is not in the ledger or in git"
            ));
            break;
        };
        objections.extend(story_and_files(repo, contents, banked, &below)?);
        above = below;
    }
    Ok(objections)
}

/// Does a commit of the run's branch say what the ledger says, and hold the files that its attempt measured?
fn story_and_files(
    repo: &Repo,
    contents: &Contents,
    recorded: &Recorded<'_>,
    promoted: &CommitId,
) -> Result<Vec<String>> {
    let record = recorded.record;
    let number = record.attempt;
    let mut objections = Vec::new();
    let message = repo.message(promoted)?;
    let found = trailers(&message);
    let expected = story::promoted(record, &[], recorded.meter, recorded.fingerprint, "");
    for (name, expected) in trailers(&expected) {
        match found.get(name) {
            // The line that was the last one when it was promoted.
            Some(hash) if name == "Ledger" => {
                if !contents.lines.iter().any(|line| line.hash == *hash) {
                    objections.push(format!(
                        "{}: it was promoted on the ledger's line {hash}, which this ledger does not have",
                        promoted.short()
                    ));
                }
            }
            Some(found) if *found == expected => {}
            Some(found) => objections
                .push(format!("{}: its trailer {name} says {found:?}, the ledger {expected:?}", promoted.short())),
            None => objections.push(format!("{}: it has no trailer {name}", promoted.short())),
        }
    }
    let attempted = record.commit.as_deref().and_then(|commit| repo.resolve(commit).ok());
    if let Some(attempted) = attempted.filter(|attempted| attempted != promoted) {
        let differing = repo.changed_paths(&attempted, promoted)?;
        if let Some(path) = differing.first() {
            objections.push(format!("{}: {path} is not what attempt {number} measured", promoted.short()));
        }
    }
    Ok(objections)
}

/// The last paragraph of a message, line by line.
fn trailers(message: &str) -> BTreeMap<&str, &str> {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect()
}

fn branch(repo: &Repo, run: &Run<'_>, report: &mut Report) -> Result<()> {
    let (name, champion) = (&run.start.branch, run.champion());
    let here = repo.resolve(champion).ok();
    let merged = match &here {
        Some(commit) => repo.contains(&repo.head()?, commit)?,
        None => false,
    };
    let Some(tip) = repo.search_branch(&run.start.run)? else {
        report.notes.push(match (merged, here.is_some()) {
            (true, _) => format!("{name} is not here; the champion it held is part of the checked-out branch"),
            (false, true) => format!("{name} is not here (deleted, or not fetched); the champion it held is"),
            (false, false) => format!("{name} is not here, nor is the champion it held: fetch it"),
        });
        return Ok(());
    };
    if tip.as_str() == champion {
        return Ok(());
    }
    let waiting = run.records.iter().any(|recorded| {
        let promoted = |(attempt, _): &(u32, &str)| *attempt == recorded.record.attempt;
        matches!(recorded.record.outcome, Outcome::Promoted { .. }) && !run.promoted.iter().any(promoted)
    });
    let beyond = match &here {
        Some(commit) => repo.contains(&tip, commit)?,
        None => false,
    };
    let short = tip.short();
    if waiting {
        report.notes.push(format!(
            "{name} is at {short}: a promotion was recorded and its move was not; the next search finishes it"
        ));
    } else if beyond {
        report.notes.push(format!("{name} is at {short}: somebody moved it on from the last promotion, {champion}"));
    } else {
        report.object(format!("{name} is at {short}, which does not hold the run's last promotion, {champion}"));
    }
    Ok(())
}
