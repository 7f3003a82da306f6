//! What an earlier process left is finished or undone, so that a run goes on after any crash. Each step may be done twice.

use anyhow::{Context as _, Result, anyhow};

use super::build::Binary;
use super::lab::RealLab;
use crate::data::history::Event;
use crate::judge::outcome::Outcome;
use crate::judge::record::Record;
use crate::lab::{Lab as _, Phased, Stop};
use crate::os::git::CommitId;

impl RealLab {
    /// Close what is open in the ledger, move the branch where that is due, write missing lessons, build the champion.
    /// What was done, a line each.
    pub(super) fn finish_what_was_left(&mut self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for mut record in self.opened()? {
            record.commit = self.repo.attempt(u64::from(record.attempt))?.map(|commit| commit.as_str().to_owned());
            notes.push(format!(
                "attempt {} was under way when the last process ended: recorded as interrupted",
                record.attempt
            ));
            self.record(&record)?;
        }
        self.restack()?;
        let unmoved: Vec<Record> = self.view()?.unmoved.iter().map(|record| (*record).clone()).collect();
        for record in unmoved {
            notes.push(format!(
                "attempt {} was promoted when the last process ended: its branch is moved now",
                record.attempt
            ));
            self.move_branch(&record)?;
        }
        let written =
            self.knowledge.complete(self.view()?.records.iter().map(|record| (self.name.as_str(), *record)))?;
        if written > 0 {
            notes.push(format!("{written} missing lessons written from the ledger"));
        }
        match self.build_champion(&mut notes) {
            // Asked to stop: the loop sees it next.
            Ok(()) | Err(Stop::Ended(Outcome::Interrupted { .. })) => Ok(notes),
            Err(Stop::Ended(outcome)) => Err(anyhow!(
                "the baseline itself is not valid, so nothing can be compared with it: {}",
                outcome.reason()
            )),
            Err(Stop::Own(error)) => Err(error),
        }
    }

    /// Attempts with an intent and no outcome, as records.
    fn opened(&self) -> Result<Vec<Record>> {
        let view = self.view()?;
        let open = view.open.iter();
        Ok(open
            .map(|intent| Record::opened(intent.attempt, intent.parent, intent.hypothesis, intent.changed.clone()))
            .collect())
    }

    /// Build the champion and the head of the bank; a champion that no attempt has been compared with yet is validated too.
    fn build_champion(&mut self, notes: &mut Vec<String>) -> Phased<()> {
        let champion = self.champion.clone();
        let what = if champion == self.baseline { "baseline" } else { "champion" };
        let built = self.build_known(&champion, what)?;
        if self.view()?.records.is_empty() {
            (self.say)("validating the baseline, natively and in the emulated machine");
            let (report, verdict) = self.validator().whole(&built.path, 0);
            notes.extend(report.and_then(|report| report.unchecked));
            verdict?;
        }
        self.champion_built = Some(built);
        self.build_head()
    }

    /// Build a commit that was sound before; a failure now is the harness's own.
    pub(super) fn build_known(&mut self, commit: &CommitId, what: &str) -> Phased<Binary> {
        self.worktree.restore(commit).map_err(anyhow::Error::from)?;
        (self.say)(&format!("building the {what} ({})", commit.short()));
        let log = self.place.work.join(format!("{what}.log"));
        self.compile(&log)?.map_err(|reason| {
            Stop::Own(anyhow!(
                "the {what} {} does not build: {reason}. The whole log is {}",
                commit.short(),
                log.display()
            ))
        })
    }

    /// Move the branch to the attempt's change with its story, and say so in the ledger.
    pub(super) fn move_branch(&mut self, record: &Record) -> Result<()> {
        let commit = record.commit.as_deref().context("a promoted attempt has a commit")?;
        let attempted = self.repo.resolve(commit)?;
        // A crash may have come between moving the branch and saying so: then the branch is there already.
        let moved = self.repo.search_branch(&self.name)?.filter(|tip| *tip != self.champion);
        let promoted = match moved {
            Some(tip) if self.repo.changed_paths(&attempted, &tip)?.is_empty() => tip,
            _ => {
                let head = self.ledger.contents().head();
                let below = self.commit_stack(&head)?;
                self.worktree.restore(&attempted)?;
                let message = self.story(record, &head);
                self.worktree.commit(&below, &message)?
            }
        };
        self.repo.advance_search_branch(&self.name, &promoted)?;
        self.ledger.append(Event::Promoted {
            attempt: record.attempt,
            run: self.name.clone(),
            commit: promoted.as_str().to_owned(),
            branch: self.branch.clone(),
        })?;
        self.champion = promoted;
        self.empty_bank();
        Ok(())
    }
}
