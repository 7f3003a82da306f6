//! `harness log`.

use anyhow::{Result, bail};

use super::print_json;
use crate::data::history::{self, Event};
use crate::data::ledger;
use crate::exit::{Exit, UsageError};
use crate::judge::record::Record;
use crate::os::git::Repo;
use crate::out::log::table;

pub fn run(repo: &Repo, wanted: Option<&str>, json: bool) -> Result<Exit> {
    let contents = ledger::read(&repo.root().join("history"))?;
    let names = history::names(contents.events());
    if let Some(name) = wanted.filter(|name| !names.contains(name)) {
        bail!(UsageError(format!(
            "the ledger has no run named {name}; it has: {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )));
    }
    let records: Vec<Record> = contents
        .events()
        .filter(|event| wanted.is_none_or(|name| event.run() == name))
        .filter_map(|event| if let Event::Outcome { record, .. } = event { Some((**record).clone()) } else { None })
        .collect();
    if json {
        print_json(&records)?;
    } else if records.is_empty() {
        println!("No attempts yet: `harness search` makes the first.");
    } else {
        print!("{}", table(&records));
    }
    Ok(Exit::Done)
}
