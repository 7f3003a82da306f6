//! What makes changes. A proposer sees the champion's declared knobs and the run's past; it never sees a file, a
//! process or the judge's seeds. One file each: `tunables`, `patches`.

pub mod knobs;
pub mod patches;
pub mod tunables;

use std::path::PathBuf;

use crate::judge::record::{Changed, Past};

/// One change with the reason it might pay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Why it might need fewer instructions; one or two sentences, for people.
    pub hypothesis: String,
    /// The change, as it is remembered.
    pub changed: Changed,
    /// The change, as it is applied.
    pub edit: Edit,
}

/// How a change is applied to the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Replace one file.
    Write {
        /// Relative to the repository's root.
        path: PathBuf,
        /// The new text.
        contents: String,
    },
    /// Apply a unified diff.
    Diff(String),
}

/// What a proposer may know.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Path of the file that declares the tunables, relative to the root.
    pub tunables_path: PathBuf,
    /// Its text in the champion; empty when the candidate has none.
    pub tunables: String,
    /// Its text in the run's baseline.
    pub baseline_tunables: String,
    /// The run's attempts so far, in order.
    pub past: Vec<Past>,
}

/// Makes the next change.
pub trait Proposer {
    /// The next proposal, or `None` when there is nothing left.
    ///
    /// # Errors
    /// When its own input is unusable (a malformed knob, an unreadable patch): the message names the place.
    fn propose(&mut self, context: &Context) -> anyhow::Result<Option<Proposal>>;
}
