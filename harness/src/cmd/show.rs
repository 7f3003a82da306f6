//! `harness show N`.

use anyhow::{Result, bail};
use serde::Serialize;

use super::print_json;
use crate::data::attempts::{Attempts, Part, Profiles};
use crate::data::{history, ledger};
use crate::exit::{Exit, UsageError};
use crate::judge::profile::{FunctionShift, shifts};
use crate::judge::record::Record;
use crate::os::git::Repo;
use crate::out::show::text;

#[derive(Serialize)]
struct Shown<'a> {
    run: &'a str,
    record: &'a Record,
    diff: &'a str,
    checks: Option<serde_json::Value>,
    functions: &'a [FunctionShift],
}

pub fn run(repo: &Repo, number: u32, json: bool) -> Result<Exit> {
    let folder = repo.root().join("history");
    let contents = ledger::read(&folder)?;
    let Some((run, record)) = history::record(contents.events(), number) else {
        let last = history::next_attempt(contents.events()) - 1;
        bail!(UsageError(match last {
            0 => "there are no attempts yet: `harness search` makes the first".to_owned(),
            last => format!(
                "attempt {number} has no outcome in the ledger; the last number given out is {last} (`harness log` lists them)"
            ),
        }));
    };
    let attempts = Attempts::new(&folder);
    let diff = attempts.text(number, Part::Proposal)?.unwrap_or_default();
    let checks: Option<serde_json::Value> = attempts.value(number, Part::Validate)?;
    let profiles: Option<Profiles> = attempts.value(number, Part::Profile)?;
    let functions = profiles.map(|profiles| {
        shifts((&profiles.champion, profiles.champion_requests), (&profiles.challenger, profiles.challenger_requests))
    });
    let functions = functions.unwrap_or_default();
    if json {
        print_json(&Shown { run, record, diff: &diff, checks, functions: &functions })?;
    } else {
        print!("{}", text(record, &diff, checks.as_ref(), &functions));
    }
    Ok(Exit::Done)
}
