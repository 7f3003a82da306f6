//! Whether a proposal may become an attempt: it applies to the champion, and stays within the fence.

use anyhow::{Context as _, Result};

use super::lab::RealLab;
use crate::judge::fence::{Change, Fence, Kind};
use crate::judge::manifest;
use crate::os::git::Mode;
use crate::propose::Edit;

impl RealLab {
    /// Put the change into the worktree, which holds the champion; the error is the proposal's.
    pub(super) fn apply(&self, edit: &Edit) -> Result<(), String> {
        let applied = match edit {
            Edit::Write { path, contents } => self.worktree.write(&path.to_string_lossy(), contents.as_bytes()),
            Edit::Diff(text) => self.worktree.apply(self.head(), text),
        };
        applied.map_err(|error| format!("the change cannot be applied to the champion: {error}"))
    }

    /// Within the fence, or why not.
    pub(super) fn fence(&self) -> Result<Result<(), String>> {
        let changes = self.worktree.changes(self.head())?;
        let bytes = changes.iter().map(|change| change.size as usize).sum();
        let listed: Vec<Change> =
            changes.iter().map(|change| Change { path: change.path.clone(), kind: kind(change.mode) }).collect();
        let folder = self.run.candidate.path.to_string_lossy().into_owned();
        if let Err(refusal) = Fence::around(&folder).check(&listed, bytes) {
            return Ok(Err(refusal.to_string()));
        }
        let path = format!("{folder}/Cargo.toml");
        if listed.iter().any(|change| change.path == path) {
            let before = self.repo.read_file(self.head(), &path)?.unwrap_or_default();
            let after = std::fs::read(self.worktree.path().join(&path))
                .with_context(|| format!("reading {path} in the worktree"))?;
            let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
            return Ok(manifest::check(&before, &after).map_err(|refusal| refusal.to_string()));
        }
        Ok(Ok(()))
    }
}

fn kind(mode: Mode) -> Kind {
    match mode {
        Mode::Regular => Kind::File,
        Mode::Executable => Kind::Executable,
        // A pipe or a device is no more welcome than a link.
        Mode::Symlink | Mode::Special => Kind::Symlink,
        Mode::Submodule => Kind::Submodule,
        Mode::Deleted => Kind::Deleted,
    }
}
