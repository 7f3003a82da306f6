//! `harness verify`: does the chain hold, does every verdict follow from its raw pairs, and does this repository hold what
//! the ledger says of it? What contradicts the ledger is an objection; what is only missing here is a note.

mod kept;
mod refs;
mod verdicts;

use anyhow::Result;
use serde::Serialize;

use super::print_json;
use crate::data::attempts::Attempts;
use crate::data::history::{Event, Start};
use crate::data::knowledge::Knowledge;
use crate::data::ledger::{self, BadLine, Contents};
use crate::exit::Exit;
use crate::judge::record::Record;
use crate::os::git::Repo;

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Lines of the ledger.
    lines: usize,
    /// Hash of the last one.
    head: String,
    /// Verdicts that were computed again.
    verdicts: usize,
    /// Commits of attempts that are here under their names.
    attempts: usize,
    /// Promoted commits that are here, with the trailers that the ledger gives them.
    promoted: usize,
    /// samples.json that hold the ledger's pairs.
    samples: usize,
    /// Lessons that are there.
    lessons: usize,
    /// What contradicts the ledger.
    objections: Vec<String>,
    /// What could not be looked at because it is not here, or is here and says nothing against the ledger.
    notes: Vec<String>,
}

impl Report {
    fn object(&mut self, objection: String) {
        self.objections.push(objection);
    }

    /// Some of many are missing: one note, however many.
    fn missing(&mut self, what: &str, missing: &[u32], of: usize, remedy: &str) {
        if !missing.is_empty() {
            self.notes.push(format!("{} of {of} {what} are missing here ({}){remedy}", missing.len(), ranges(missing)));
        }
    }
}

pub fn run(repo: &Repo, json: bool) -> Result<Exit> {
    let report = match ledger::read(&repo.root().join("history")) {
        Ok(contents) => verify(repo, &contents)?,
        Err(error) if error.chain().any(|cause| cause.is::<BadLine>()) => {
            Report { objections: vec![format!("{error:#}")], ..Report::default() }
        }
        Err(error) => return Err(error),
    };
    if json {
        print_json(&report)?;
    } else {
        print!("{}", text(&report));
    }
    Ok(if report.objections.is_empty() { Exit::Done } else { Exit::NotReproduced })
}

fn verify(repo: &Repo, contents: &Contents) -> Result<Report> {
    let mut report = Report { lines: contents.lines.len(), head: contents.head(), ..Report::default() };
    let runs = runs(contents);
    verdicts::check(&runs, &mut report);
    refs::check(repo, contents, &runs, &mut report)?;
    kept::check(&runs, &Attempts::new(&repo.root().join("history")), &mut report)?;
    kept::lessons(&runs, &Knowledge::new(&repo.root().join("knowledge")), &mut report)?;
    if contents.torn > 0 {
        report.notes.push(format!(
            "{} bytes after the last line of the ledger: a crash tore a line that was never acknowledged, the next search cuts it off",
            contents.torn
        ));
    }
    Ok(report)
}

/// A start with all that followed under it. A name that was started several times has several of these.
struct Run<'a> {
    start: &'a Start,
    records: Vec<Recorded<'a>>,
    /// Attempt and commit of each promotion that reached the branch.
    promoted: Vec<(u32, &'a str)>,
    /// What the last of the run's ends names as its champion.
    champion_at_end: Option<&'a str>,
}

/// An outcome and what it was counted with.
struct Recorded<'a> {
    record: &'a Record,
    meter: &'a str,
    fingerprint: &'a str,
}

impl Run<'_> {
    fn champion(&self) -> &str {
        self.promoted.last().map_or(&self.start.baseline, |(_, commit)| commit)
    }

    fn record(&self, attempt: u32) -> Option<&Recorded<'_>> {
        self.records.iter().find(|recorded| recorded.record.attempt == attempt)
    }
}

fn runs(contents: &Contents) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for event in contents.events() {
        if let Event::RunStarted(start) = event {
            runs.push(Run { start, records: Vec::new(), promoted: Vec::new(), champion_at_end: None });
            continue;
        }
        let Some(run) = runs.iter_mut().rev().find(|run| run.start.run == event.run()) else { continue };
        match event {
            Event::Outcome { meter, fingerprint, record, .. } => {
                run.records.push(Recorded { record, meter, fingerprint });
            }
            Event::Promoted { attempt, commit, .. } => run.promoted.push((*attempt, commit)),
            Event::RunEnded { champion, .. } => run.champion_at_end = Some(champion),
            _ => {}
        }
    }
    runs
}

fn text(report: &Report) -> String {
    let mut out = format!(
        "Ledger: {} lines, chain head {}\n  verdicts    {} computed again from their pairs\n  attempts    {} commits under their names in refs/attempts\n  promotions  {} commits with the ledger's figures in their trailers\n  samples     {} files in history/attempts with the ledger's pairs\n  lessons     {}\n",
        report.lines, report.head, report.verdicts, report.attempts, report.promoted, report.samples, report.lessons
    );
    report.notes.iter().for_each(|note| out += &format!("note: {note}\n"));
    report.objections.iter().for_each(|objection| out += &format!("OBJECTION: {objection}\n"));
    out += match report.objections.len() {
        0 => "The ledger holds, and nothing here contradicts it.\n",
        _ => "The ledger and this repository contradict each other.\n",
    };
    out
}

/// `1-3, 7` for 1, 2, 3, 7.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let one = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
