//! What is kept beside the ledger: the attempts' samples, the lessons. Either may be missing; neither may say otherwise.

use anyhow::Result;

use super::{Report, Run};
use crate::data::attempts::{Attempts, Part, Samples};
use crate::data::knowledge::{Knowledge, heading};

pub(super) fn check(runs: &[Run<'_>], attempts: &Attempts, report: &mut Report) -> Result<()> {
    let (mut missing, mut of) = (Vec::new(), 0);
    for record in runs.iter().flat_map(|run| &run.records).map(|recorded| recorded.record) {
        let number = record.attempt;
        let path = || attempts.path(number, Part::Samples);
        match attempts.value::<Samples>(number, Part::Samples) {
            Err(error) => report.object(format!("attempt {number}: {error:#}")),
            Ok(None) if record.screen.is_empty() => continue,
            Ok(None) => missing.push(number),
            Ok(Some(samples)) if samples.screen == record.screen && samples.confirm == record.confirm => {
                report.samples += 1;
            }
            Ok(Some(_)) => {
                let path = path();
                report.object(format!("attempt {number}: {} holds other pairs than the ledger", path.display()));
            }
        }
        of += 1;
    }
    report.missing("samples.json", &missing, of, ": the ledger has the pairs");
    Ok(())
}

pub(super) fn lessons(runs: &[Run<'_>], knowledge: &Knowledge, report: &mut Report) -> Result<()> {
    let headings = knowledge.headings()?;
    let records: Vec<_> = runs.iter().flat_map(|run| &run.records).map(|recorded| recorded.record).collect();
    let mut missing = Vec::new();
    for record in &records {
        match headings.get(&record.attempt) {
            None => missing.push(record.attempt),
            Some(found) if found.starts_with(&heading(record)) => report.lessons += 1,
            Some(found) => report.object(format!(
                "attempt {}: its lesson says {found:?}, the ledger has {:?}",
                record.attempt,
                heading(record)
            )),
        }
    }
    report.missing("lessons", &missing, records.len(), ": a search of that run writes them from the ledger");
    Ok(())
}
