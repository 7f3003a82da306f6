//! `harness replay COMMIT|N`: build it again, count it again on the recorded seeds, and say whether the numbers come out;
//! `--all-promoted` replays the night. What the ledger holds of a commit is looked up in `recorded.rs`.

mod one;
pub(super) mod recorded;

use anyhow::Result;

use self::one::Replayer;
use super::{Interrupted, print_json};
use crate::cli;
use crate::data::history;
use crate::data::ledger::{self, Contents};
use crate::exit::{Exit, UsageError};
use crate::os::git::Repo;
use crate::out::replayed::{self, Answer, Night, Report};

pub fn run(repo: &Repo, args: &cli::Replay, json: bool) -> Result<Exit> {
    let contents = ledger::read(&repo.root().join("history"))?;
    let Some(target) = &args.target else { return all(repo, &contents, args, json) };
    let recorded = recorded::find(repo, &contents, target)?;
    let report = Replayer::new(repo, &contents, args.seeds).replay(&recorded)?;
    if json {
        print_json(&report)?;
    } else {
        print!("{}", replayed::text(&report));
    }
    Ok(exit(&report.answer))
}

/// Every promoted attempt in order, each row as soon as it is there.
fn all(repo: &Repo, contents: &Contents, args: &cli::Replay, json: bool) -> Result<Exit> {
    let attempts = wanted(contents, args.run.as_deref())?;
    let mut replayer = Replayer::new(repo, contents, args.seeds);
    let (mut night, mut interrupted) = (Night::default(), false);
    if !json {
        print!("{}", replayed::header());
    }
    for (index, (attempt, change)) in attempts.iter().enumerate() {
        eprintln!("attempt {attempt} ({} of {})", index + 1, attempts.len());
        let report = match recorded::find(repo, contents, &attempt.to_string()) {
            Ok(recorded) => replayer.replay(&recorded),
            Err(error) => Ok(Report::without(*attempt, Answer::NotComparable(format!("{error:#}")))),
        };
        match report {
            Err(error) if error.is::<Interrupted>() => {
                interrupted = true;
                break;
            }
            report => night.replays.push(report?),
        }
        if let Some(report) = night.replays.last().filter(|_| !json) {
            print!("{}", replayed::row(report, change));
        }
    }
    night.of = attempts.len();
    if json {
        print_json(&night)?;
    } else {
        print!("{}", replayed::summary(&night));
    }
    let worst = night.replays.iter().map(|report| exit(&report.answer)).max_by_key(|exit| severity(*exit));
    Ok(if interrupted { Exit::Interrupted } else { worst.unwrap_or(Exit::Done) })
}

/// The promoted attempts with what they changed.
fn wanted(contents: &Contents, run: Option<&str>) -> Result<Vec<(u32, String)>> {
    let names = history::names(contents.events());
    if let Some(run) = run.filter(|run| !names.contains(run)) {
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(UsageError(format!("no run named {run} in the ledger (there are: {there})")).into());
    }
    Ok(recorded::promoted(contents)
        .filter_map(|(attempt, _)| {
            let (of, record) = history::record(contents.events(), attempt)?;
            run.is_none_or(|run| run == of).then(|| (attempt, record.changed.to_string()))
        })
        .collect())
}

fn exit(answer: &Answer) -> Exit {
    match answer {
        Answer::Reproduced(_) => Exit::Done,
        Answer::NotReproduced(_) => Exit::NotReproduced,
        Answer::NotComparable(_) => Exit::NotComparable,
    }
}

/// A count that came out otherwise is worse than one that says nothing.
fn severity(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::NotComparable => 1,
        _ => 2,
    }
}
