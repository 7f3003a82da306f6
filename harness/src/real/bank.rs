//! The bank: small real gains, stacked on the champion until the whole stack passes the threshold by its own measurement. A
//! challenger is proposed on its head. It follows from the ledger alone; the branch `bank/<run>` is for people.

use anyhow::{Context as _, Result, anyhow};

use super::build::Binary as Built;
use super::lab::{RealLab, server};
use super::measure::pairs::Server;
use super::story;
use crate::data::attempts::{Part, Profiles};
use crate::judge::profile::shifts;
use crate::judge::record::Record;
use crate::os::git::CommitId;

/// What is banked on top of the champion, from the bottom up.
#[derive(Debug, Default)]
pub(super) struct Stack {
    layers: Vec<Layer>,
    /// The server of the topmost.
    built: Option<Built>,
}

/// One banked attempt.
#[derive(Debug)]
struct Layer {
    record: Record,
    commit: CommitId,
}

impl Stack {
    pub(super) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Numbers of the banked attempts, in order.
    pub(super) fn attempts(&self) -> Vec<u32> {
        self.layers.iter().map(|layer| layer.record.attempt).collect()
    }
}

impl RealLab {
    /// The commit that the next attempt changes.
    pub(super) fn head(&self) -> &CommitId {
        self.stack.layers.last().map_or(&self.champion, |layer| &layer.commit)
    }

    /// What the next attempt is measured against.
    pub(super) fn head_server(&self) -> Result<Server<'_>> {
        match (&self.stack.built, self.stack.is_empty()) {
            (_, true) => self.champion_server(),
            (Some(built), false) => Ok(server(built)),
            (None, false) => Err(anyhow!("the head of the bank is not built yet")),
        }
    }

    pub(super) fn put_in_bank(&mut self, record: &Record, built: Option<Built>) -> Result<()> {
        let commit = self.repo.resolve(record.commit.as_deref().context("a banked attempt has a commit")?)?;
        self.stack.layers.push(Layer { record: record.clone(), commit });
        self.stack.built = built;
        self.show_bank();
        Ok(())
    }

    /// Put the branch where the head of the bank is. Nothing is lost when that fails: nothing of ours reads it.
    fn show_bank(&mut self) {
        let head = self.stack.layers.last().map(|layer| &layer.commit);
        if let Err(error) = self.repo.set_bank_branch(&self.name, head) {
            let name = &self.name;
            (self.say)(&format!("the bank goes on without its branch bank/{name}, which cannot be moved: {error}"));
        }
    }

    /// The stack as the ledger has it; its head is not built.
    pub(super) fn restack(&mut self) -> Result<()> {
        let banked: Vec<Record> = self.view()?.bank.iter().map(|record| (*record).clone()).collect();
        self.empty_bank();
        banked.iter().try_for_each(|record| self.put_in_bank(record, None))
    }

    /// Build the head of the bank again, where something is banked.
    pub(super) fn build_head(&mut self) -> crate::lab::Phased<()> {
        if !self.stack.is_empty() {
            let head = self.head().clone();
            self.stack.built = Some(self.build_known(&head, "head of the bank")?);
        }
        Ok(())
    }

    /// Commit the banked changes one by one on the champion, each with its story; the commit of the topmost, which is the
    /// champion where nothing is banked. No branch is moved.
    pub(super) fn commit_stack(&self, ledger: &str) -> Result<CommitId> {
        let mut below = self.champion.clone();
        for Layer { record, commit } in &self.stack.layers {
            self.worktree.restore(commit)?;
            let message = self.story(record, ledger);
            below = self.worktree.commit(&below, &message)?;
        }
        Ok(below)
    }

    /// The message of an attempt's commit on the run's branch. Its profile may be lost; then the message does without.
    pub(super) fn story(&self, record: &Record, ledger: &str) -> String {
        let kept = self.attempts.value::<Profiles>(record.attempt, Part::Profile).ok().flatten();
        let shifts = kept.map_or_else(Vec::new, |kept| {
            shifts((&kept.champion, kept.champion_requests), (&kept.challenger, kept.challenger_requests))
        });
        story::promoted(record, &shifts, self.meter.name(), &self.fingerprint, ledger)
    }

    /// Its changes are the champion's now.
    pub(super) fn empty_bank(&mut self) {
        self.stack = Stack::default();
        self.show_bank();
    }
}
