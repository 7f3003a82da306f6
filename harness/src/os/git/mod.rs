//! The user's repository, seen through libgit2, which runs no hook, no filter program and no fsmonitor. Here: opening,
//! revisions, dirt, files at a commit, history. Refs are in `refs`, the private worktree in `worktree`, its comparison
//! with a commit in `scan`. Nothing here touches the user's checkout, index or HEAD.

mod error;
mod patch;
mod refs;
mod scan;
#[cfg(test)]
mod tests;
mod worktree;

use std::fmt;
use std::path::{Path, PathBuf};

pub use error::GitError;
use git2::{DiffDelta, DiffFormat, DiffOptions, ObjectType, Oid, Repository, StatusOptions};
pub use scan::{Change, Mode};
pub use worktree::Worktree;

/// The full id of a commit, 40 hexadecimal digits. Made only from commits that exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(String);

impl CommitId {
    /// All 40 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 10 digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path that differs from HEAD, and where git would show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirt {
    /// Relative to the repository's root.
    pub path: String,
    /// In the index.
    pub staged: bool,
    /// In the working tree.
    pub unstaged: bool,
    /// Not known to git.
    pub untracked: bool,
}

/// A repository with a working tree.
pub struct Repo {
    git: Repository,
    root: PathBuf,
}

impl fmt::Debug for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repo").field("root", &self.root).finish()
    }
}

impl Repo {
    /// The repository that `inside` lies in.
    pub fn open(inside: &Path) -> Result<Repo, GitError> {
        let git = Repository::discover(inside).map_err(|e| GitError::open(inside, e))?;
        let root = git.workdir().ok_or_else(|| GitError::Bare(git.path().into()))?.to_owned();
        Ok(Repo { git, root })
    }

    /// The root of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that HEAD names.
    pub fn head(&self) -> Result<CommitId, GitError> {
        let head = self.git.head().and_then(|h| h.peel_to_commit()).map_err(GitError::during("reading HEAD"))?;
        Ok(id(head.id()))
    }

    /// The commit that a person means by `revision`: an id or its beginning, a branch, a tag, `HEAD~2`.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, GitError> {
        /// Git itself takes no fewer digits for the beginning of an id; the library takes one.
        const FEWEST: usize = 4;
        let missing = || GitError::NoSuchRevision { revision: revision.into() };
        let digits = revision.len() < FEWEST && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        if digits && self.git.resolve_reference_from_short_name(revision).is_err() {
            return Err(missing());
        }
        match self.git.revparse_single(revision) {
            Ok(object) => match object.peel_to_commit() {
                Ok(commit) => Ok(id(commit.id())),
                Err(_) => Err(GitError::NotACommit {
                    revision: revision.into(),
                    kind: object.kind().map_or_else(|| "unknown".into(), |k| k.to_string()),
                }),
            },
            Err(e) if e.code() == git2::ErrorCode::Ambiguous => {
                match self.commits_beginning(revision)?.as_slice() {
                    // Ambiguous among objects, but one commit only: that is what was meant.
                    [(only, _)] => Ok(only.clone()),
                    [] => Err(missing()),
                    several => Err(GitError::Ambiguous {
                        revision: revision.into(),
                        candidates: several.iter().map(|(id, about)| format!("{} {about}", id.short())).collect(),
                    }),
                }
            }
            Err(_) => Err(missing()),
        }
    }

    fn commits_beginning(&self, digits: &str) -> Result<Vec<(CommitId, String)>, GitError> {
        let during = "listing objects";
        let mut found = Vec::new();
        let odb = self.git.odb().map_err(GitError::during(during))?;
        odb.foreach(|oid| {
            let fits = oid.to_string().starts_with(&digits.to_ascii_lowercase());
            if let Some(commit) = fits.then(|| self.git.find_commit(*oid).ok()).flatten() {
                let summary = commit.summary().ok().flatten().unwrap_or("(no message)");
                found.push((id(*oid), summary.chars().take(60).collect()));
            }
            true
        })
        .map_err(GitError::during(during))?;
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// What differs from HEAD at or beneath `path` (relative to the root; "" for all) in the user's checkout.
    pub fn dirt(&self, path: &str) -> Result<Vec<Dirt>, GitError> {
        let mut options = StatusOptions::new();
        // Neither of the last two: a question must not rewrite the user's index.
        options.include_untracked(true).recurse_untracked_dirs(true).no_refresh(true).update_index(false);
        if !path.is_empty() {
            options.pathspec(path).disable_pathspec_match(true);
        }
        let found =
            self.git.statuses(Some(&mut options)).map_err(GitError::during("comparing the checkout with HEAD"))?;
        let staged = git2::Status::from_bits_truncate(0b1_1111);
        let dirt = found.iter().map(|entry| {
            let status = entry.status();
            let untracked = status.contains(git2::Status::WT_NEW);
            Dirt {
                path: String::from_utf8_lossy(entry.path_bytes()).into_owned(),
                staged: status.intersects(staged),
                unstaged: !untracked && !(status - staged).is_empty(),
                untracked,
            }
        });
        Ok(dirt.collect())
    }

    /// The bytes of a file at a commit; `None` if there is no such file.
    pub fn read_file(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let tree = self.tree(commit)?;
        let Ok(entry) = tree.get_path(Path::new(path)) else { return Ok(None) };
        if entry.kind() != Some(ObjectType::Blob) {
            return Ok(None);
        }
        let blob = self.git.find_blob(entry.id()).map_err(GitError::during(&format!("reading {path} at {commit}")))?;
        Ok(Some(blob.content().to_owned()))
    }

    /// Paths that differ between two commits.
    pub fn changed_paths(&self, old: &CommitId, new: &CommitId) -> Result<Vec<String>, GitError> {
        let during = format!("comparing {old} with {new}");
        let (old, new) = (self.tree(old)?, self.tree(new)?);
        let diff = self.git.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(GitError::during(&during))?;
        let path = |delta: DiffDelta<'_>| delta.new_file().path().map(|path| path.to_string_lossy().into_owned());
        Ok(diff.deltas().filter_map(path).collect())
    }

    /// The difference between two commits as a unified diff that `Worktree::apply` takes.
    pub fn diff(&self, old: &CommitId, new: &CommitId) -> Result<String, GitError> {
        let during = format!("comparing {old} with {new}");
        let mut options = DiffOptions::new();
        options.show_binary(true).id_abbrev(40);
        let (old, new) = (self.tree(old)?, self.tree(new)?);
        let diff = self.git.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options));
        let mut text = Vec::new();
        let printed = diff.and_then(|diff| {
            diff.print(DiffFormat::Patch, |_, _, line| {
                if matches!(line.origin(), '+' | '-' | ' ') {
                    text.push(line.origin() as u8);
                }
                text.extend_from_slice(line.content());
                true
            })
        });
        printed.map_err(GitError::during(&during))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The whole message of a commit.
    pub fn message(&self, commit: &CommitId) -> Result<String, GitError> {
        let commit = self.commit(commit)?;
        Ok(String::from_utf8_lossy(commit.message_bytes()).into_owned())
    }

    /// The first parent of a commit, if it has one.
    pub fn parent(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        Ok(self.commit(commit)?.parent_ids().next().map(id))
    }

    /// Whether `earlier` is `later` or one of its ancestors.
    pub fn contains(&self, later: &CommitId, earlier: &CommitId) -> Result<bool, GitError> {
        let during = format!("asking whether {} holds {}", later.short(), earlier.short());
        let follows = self.git.graph_descendant_of(oid(later)?, oid(earlier)?).map_err(GitError::during(&during))?;
        Ok(follows || later == earlier)
    }

    fn commit(&self, commit: &CommitId) -> Result<git2::Commit<'_>, GitError> {
        let oid = oid(commit)?;
        self.git.find_commit(oid).map_err(GitError::during(&format!("reading commit {commit}")))
    }

    fn tree(&self, commit: &CommitId) -> Result<git2::Tree<'_>, GitError> {
        self.commit(commit)?.tree().map_err(GitError::during(&format!("reading the tree of {commit}")))
    }
}

fn id(oid: Oid) -> CommitId {
    CommitId(oid.to_string())
}

fn oid(commit: &CommitId) -> Result<Oid, GitError> {
    Oid::from_str(&commit.0).map_err(GitError::during(&format!("reading the commit id {commit}")))
}
