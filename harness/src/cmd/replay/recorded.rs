//! What the ledger holds of a commit or an attempt, and where its tree can be had: the first half of a replay.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};

use crate::data::attempts::{Attempts, Part};
use crate::data::history::{self, Event, Start};
use crate::data::ledger::Contents;
use crate::exit::UsageError;
use crate::judge::outcome::Outcome;
use crate::judge::record::Record;
use crate::judge::sample::{Pair, Sample};
use crate::os::git::{CommitId, Repo};

/// What is to be built, and what was counted of it.
pub struct Recorded {
    /// The commit to build.
    pub commit: CommitId,
    /// The attempt's own diff, to be applied to `commit`, where its commit is not in this repository.
    pub patch: Option<String>,
    /// The attempt it is, where it is one.
    pub attempt: Option<u32>,
    /// SHA-256 of the program that was counted, where that is known.
    pub binary: Option<String>,
    /// What was counted, the samples of a verdict first, each seed once.
    pub samples: Vec<Sample>,
    /// Start of the run and fingerprint that the samples were taken under; none if there are no samples.
    pub terms: Option<(Start, String)>,
    /// Why there are no samples.
    pub why_none: String,
}

/// Look up an attempt's number or a git revision.
///
/// # Errors
/// A [`UsageError`] when it names nothing, or an attempt that never became a commit.
pub fn find(repo: &Repo, contents: &Contents, target: &str) -> Result<Recorded> {
    let number = target.parse::<u32>().ok();
    let record = number.and_then(|number| history::record(contents.events(), number)).map(|(_, record)| record);
    let Some(record) = record else {
        let commit = repo.resolve(target).map_err(|error| {
            UsageError(format!(
                "{error}. A number is an attempt (`harness log` lists them), anything else a git revision"
            ))
        })?;
        let of = promoted(contents).find(|(_, promoted)| *promoted == commit.as_str()).map(|(attempt, _)| attempt);
        return Ok(gather(contents, commit, None, of));
    };
    if record.commit.is_none() {
        let (number, word, reason) = (record.attempt, record.outcome.word(), record.outcome.reason());
        return Err(UsageError(format!("attempt {number} has no commit to replay: it was {word} ({reason})")).into());
    }
    let (commit, patch) = tree(repo, contents, record)?;
    Ok(gather(contents, commit, patch, Some(record.attempt)))
}

/// Promoted attempts with the commits they were promoted as.
pub fn promoted(contents: &Contents) -> impl Iterator<Item = (u32, &str)> {
    contents.events().filter_map(|event| match event {
        Event::Promoted { attempt, commit, .. } => Some((*attempt, commit.as_str())),
        _ => None,
    })
}

/// An attempt's tree: its own commit; or, in a clone that has not fetched refs/attempts, the commit it was promoted as; or
/// its parent with the kept diff.
fn tree(repo: &Repo, contents: &Contents, record: &Record) -> Result<(CommitId, Option<String>)> {
    let as_promoted = promoted(contents).find(|(attempt, _)| *attempt == record.attempt).map(|(_, commit)| commit);
    let known = [record.commit.as_deref(), as_promoted];
    if let Some(commit) = known.into_iter().flatten().find_map(|commit| repo.resolve(commit).ok()) {
        return Ok((commit, None));
    }
    let number = record.attempt;
    let parent = repo.resolve(&record.parent).with_context(|| {
        format!(
            "neither attempt {number}'s commit nor its parent is in this repository: fetch the branch it was made on"
        )
    })?;
    let attempts = Attempts::new(&repo.root().join("history"));
    let diff = attempts.text(number, Part::Proposal)?.with_context(|| {
        let path = attempts.path(number, Part::Proposal);
        format!("attempt {number}'s commit is not in this repository, nor is its diff at {}", path.display())
    })?;
    Ok((parent, Some(diff)))
}

/// All samples of a commit: as the challenger of its attempt, and as the champion of later ones.
fn gather(contents: &Contents, commit: CommitId, patch: Option<String>, attempt: Option<u32>) -> Recorded {
    let id = commit.as_str().to_owned();
    let why_none = "it is no attempt, no champion and no baseline of a run".to_owned();
    let mut found = Recorded { commit, patch, attempt, binary: None, samples: Vec::new(), terms: None, why_none };
    let mut starts: BTreeMap<&str, &Start> = BTreeMap::new();
    for event in contents.events() {
        if let Event::RunStarted(started) = event {
            starts.insert(&started.run, started);
        }
        let Event::Outcome { fingerprint, record, .. } = event else { continue };
        let is_attempt = attempt == Some(record.attempt) || record.commit.as_deref() == Some(&id);
        let samples = if is_attempt {
            found.attempt = Some(record.attempt);
            found.binary.clone_from(&record.binary);
            let word = record.outcome.word();
            found.why_none = format!("attempt {} was {word} before anything was counted", record.attempt);
            sides(record, |pair| &pair.challenger)
        } else if record.parent == id && found.patch.is_none() {
            sides(record, |pair| &pair.champion)
        } else {
            continue;
        };
        // Samples of one set of terms only: those taken first.
        let same = found.terms.as_ref().is_none_or(|(_, known)| known == fingerprint);
        if let (Some(start), true, false) = (starts.get(event.run()), same, samples.is_empty()) {
            found.samples.extend(samples);
            found.terms.get_or_insert_with(|| ((*start).clone(), fingerprint.clone()));
        }
    }
    let mut seen = BTreeSet::new();
    found.samples.retain(|sample| seen.insert(sample.seed));
    found
}

/// The gain over the run's baseline that the ledger claims of an attempt: the promotions of its run before it, and its own.
/// `None` where it came to no verdict.
pub fn claimed(contents: &Contents, start: &Start, attempt: u32) -> Option<f64> {
    let (mut sum, mut under_way) = (0.0, false);
    for event in contents.events().filter(|event| event.run() == start.run) {
        match event {
            Event::RunStarted(started) => (sum, under_way) = (0.0, **started == *start),
            Event::Outcome { record, .. } if under_way => {
                let own = record.outcome.decision().map(|decision| decision.estimate.mean);
                if record.attempt == attempt {
                    return Some(sum + own?);
                }
                if matches!(record.outcome, Outcome::Promoted { .. }) {
                    sum += own.unwrap_or(0.0);
                }
            }
            _ => {}
        }
    }
    None
}

fn sides(record: &Record, side: fn(&Pair) -> &Sample) -> Vec<Sample> {
    record.confirm.iter().chain(&record.screen).map(|pair| side(pair).clone()).collect()
}
