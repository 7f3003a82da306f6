//! `harness search`: check what can be refused, open the lab, run the loop, print the summary.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use jiff::ZonedDateTime;

use super::{pick, print_json, runs};
use crate::cli;
use crate::data::definition::{CalibrationKind, ProposerKind, Run};
use crate::data::{history, ledger};
use crate::exit::{Exit, UsageError};
use crate::judge::budget::{Budget, Progress};
use crate::judge::outcome::Phase;
use crate::judge::record::{EndReason, Record};
use crate::os::git::Repo;
use crate::os::signals;
use crate::out::Watch;
use crate::out::console::Console;
use crate::out::summary::{Frame, Summary};
use crate::propose::Proposer;
use crate::propose::patches::{Patch, Patches};
use crate::propose::tunables::Tunables;
use crate::real::open::{self, Opening};
use crate::search;

pub fn run(repo: Repo, args: &cli::Search, json: bool) -> Result<Exit> {
    let runs = runs(&repo)?;
    let (name, run) = pick(&runs, args.run.as_deref())?;
    clean(&repo, run)?;
    let mut proposer = proposer(&repo, run)?;
    let budget = budget(run, args)?;
    open::workload(&run.workload).map_err(|error| UsageError(format!("{error:#}")))?;
    let stop = signals::install().context("watching for Ctrl-C")?;
    let root = repo.root().to_owned();

    // Both the lab (what takes long before the first attempt) and the loop write to the one console.
    let console = Rc::new(RefCell::new(Console::new(budget)));
    let teller = Rc::clone(&console);
    let say: Box<dyn FnMut(&str)> = Box::new(move |line| teller.borrow().stage(line));
    let calibrate = !args.no_calibration && run.calibration == CalibrationKind::Auto;
    let mut lab = match open::open(Opening { repo, runs: &runs, name, run, fresh: args.fresh, calibrate, stop, say }) {
        Ok(lab) => lab,
        Err(error) => {
            console.borrow().finish();
            return Err(error);
        }
    };
    let ended = search::search(&mut lab, &mut *proposer, &budget, &mut Shared(Rc::clone(&console)));
    console.borrow().finish();
    let ended = ended?;
    drop(lab);

    let contents = ledger::read(&root.join("history"))?;
    let view = history::run(contents.events(), name).context("the run's start is in the ledger")?;
    let frame = Frame {
        run: name.to_owned(),
        branch: view.start.branch.clone(),
        baseline: view.start.baseline.clone(),
        champion: view.champion.to_owned(),
        meter: format!("{} ({})", view.start.meter, view.start.fingerprint),
        noise: view.start.noise,
    };
    let records: Vec<Record> = view.records.iter().map(|record| (*record).clone()).collect();
    let summary = Summary::of(frame, ended.reason, ended.held, &records);
    if json {
        print_json(&summary)?
    } else {
        print!("{}", summary.text())
    }
    Ok(if ended.reason == EndReason::Interrupted { Exit::Interrupted } else { Exit::Done })
}

/// A candidate with changes that are in no commit would be measured without them: refuse.
fn clean(repo: &Repo, run: &Run) -> Result<()> {
    let folder = run.candidate.path.to_string_lossy().into_owned();
    let dirt = repo.dirt(&folder)?;
    if dirt.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = dirt.iter().take(5).map(|dirt| dirt.path.clone()).collect();
    let more = if dirt.len() > 5 { format!(" and {} more", dirt.len() - 5) } else { String::new() };
    bail!(UsageError(format!(
        "{folder}/ has changes that are in no commit: {}{more}. The search starts from a commit: commit them, or put them away with `git stash -u -- {folder}`",
        paths.join(", ")
    )))
}

fn proposer(repo: &Repo, run: &Run) -> Result<Box<dyn Proposer>> {
    Ok(match (run.proposer, &run.patches) {
        (ProposerKind::Patches, Some(folder)) => {
            Box::new(Patches::new(queue(repo, folder)?).map_err(|error| UsageError(format!("{error:#}")))?)
        }
        _ => Box::new(Tunables),
    })
}

fn queue(repo: &Repo, folder: &std::path::Path) -> Result<Vec<Patch>> {
    let folder = repo.root().join(folder);
    let entries = std::fs::read_dir(&folder).map_err(|error| {
        UsageError(format!(
            "reading the patch folder {}: {error}. Make it, or set `patches` in runs.toml",
            folder.display()
        ))
    })?;
    let mut queue = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "patch") {
            let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            queue.push(Patch { name, text: String::from_utf8_lossy(&text).into_owned() });
        }
    }
    Ok(queue)
}

fn budget(run: &Run, args: &cli::Search) -> Result<Budget> {
    let mut budget = run.budget();
    budget.attempts = args.attempts.or(budget.attempts);
    budget.plateau = args.plateau.or(budget.plateau);
    if let Some(until) = &args.until {
        budget.seconds = Some(seconds_until(until, &ZonedDateTime::now())?);
    }
    Ok(budget)
}

/// Seconds from `now` to the next time the clock shows `until` (HH:MM).
fn seconds_until(until: &str, now: &ZonedDateTime) -> Result<f64> {
    let wrong = || UsageError(format!("--until {until}: write a time of day as HH:MM, such as 07:00"));
    let (hour, minute) = until.split_once(':').ok_or_else(wrong)?;
    let (hour, minute): (i8, i8) = (hour.parse().map_err(|_| wrong())?, minute.parse().map_err(|_| wrong())?);
    let time = jiff::civil::Time::new(hour, minute, 0, 0).map_err(|_| wrong())?;
    let mut then = now.with().time(time).build().context("the time of --until")?;
    if then <= *now {
        then = then.tomorrow().and_then(|day| day.with().time(time).build()).context("the time of --until")?;
    }
    Ok((then.timestamp().as_second() - now.timestamp().as_second()) as f64)
}

struct Shared(Rc<RefCell<Console>>);

impl Watch for Shared {
    fn note(&mut self, line: &str) {
        self.0.borrow_mut().note(line);
    }

    fn opened(&mut self, number: u32, hypothesis: &str, progress: &Progress) {
        self.0.borrow_mut().opened(number, hypothesis, progress);
    }

    fn phase(&mut self, number: u32, phase: Phase) {
        self.0.borrow_mut().phase(number, phase);
    }

    fn ended(&mut self, record: &Record, progress: &Progress) {
        self.0.borrow_mut().ended(record, progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_is_the_next_time_the_clock_shows_it() {
        let now: ZonedDateTime = "2026-03-01T22:30:00[UTC]".parse().unwrap();
        assert_eq!(seconds_until("23:00", &now).unwrap(), 1800.0);
        assert_eq!(seconds_until("07:00", &now).unwrap(), 8.5 * 3600.0);
        assert_eq!(seconds_until("22:30", &now).unwrap(), 24.0 * 3600.0);
        for wrong in ["7", "25:00", "07:60", "seven", "07:00:00", ""] {
            assert!(seconds_until(wrong, &now).unwrap_err().is::<UsageError>(), "{wrong}");
        }
    }
}
