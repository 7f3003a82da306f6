//! `harness verify`: does the chain hold, and does every verdict follow from its raw pairs?

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::print_json;
use crate::data::history::{Event, Start};
use crate::data::ledger::{self, BadLine};
use crate::exit::Exit;
use crate::judge::decide::{Confirming, Screening, confirm, screen};
use crate::judge::outcome::Verdict;
use crate::judge::record::Record;
use crate::os::git::Repo;

#[derive(Serialize)]
struct Report {
    lines: usize,
    head: String,
    verdicts: usize,
    objections: Vec<String>,
}

pub fn run(repo: &Repo, json: bool) -> Result<Exit> {
    let report = match ledger::read(&repo.root().join("history")) {
        Ok(contents) => {
            let mut starts: BTreeMap<&str, &Start> = BTreeMap::new();
            let (mut verdicts, mut objections) = (0, Vec::new());
            for event in contents.events() {
                match event {
                    Event::RunStarted(started) => {
                        starts.insert(&started.run, started);
                    }
                    Event::Outcome { run, record, .. } if record.outcome.decision().is_some() => {
                        verdicts += 1;
                        objections.extend(starts.get(run.as_str()).and_then(|start| objection(start, record)));
                    }
                    _ => {}
                }
            }
            Report { lines: contents.lines.len(), head: contents.head(), verdicts, objections }
        }
        Err(error) if error.chain().any(|cause| cause.is::<BadLine>()) => {
            Report { lines: 0, head: String::new(), verdicts: 0, objections: vec![format!("{error:#}")] }
        }
        Err(error) => return Err(error),
    };
    if json {
        print_json(&report)?;
    } else if report.objections.is_empty() {
        println!(
            "The ledger holds: {} lines, chain head {}, {} verdicts computed again from their pairs.",
            report.lines, report.head, report.verdicts
        );
    } else {
        report.objections.iter().for_each(|objection| println!("{objection}"));
    }
    Ok(if report.objections.is_empty() { Exit::Done } else { Exit::NotReproduced })
}

/// What is wrong with a record's verdict, if anything.
fn objection(start: &Start, record: &Record) -> Option<String> {
    let recorded = record.outcome.decision()?.verdict;
    let computed = again(start, record);
    (computed != Some(recorded)).then(|| {
        let computed = computed.map_or("no verdict".to_owned(), |verdict| verdict.to_string());
        format!("attempt {}: the ledger says {recorded}, its pairs give {computed}", record.attempt)
    })
}

fn again(start: &Start, record: &Record) -> Option<Verdict> {
    if let Screening::Stop(decision) = screen(&start.rule, &record.screen, &start.noise) {
        return Some(decision.verdict);
    }
    start.rule.looks.iter().enumerate().take_while(|(_, pairs)| **pairs <= record.confirm.len()).find_map(
        |(look, pairs)| match confirm(&start.rule, &record.confirm[..*pairs], look, &start.noise) {
            Confirming::Done(decision) => Some(decision.verdict),
            Confirming::More(_) => None,
        },
    )
}
