//! What can go wrong with a repository, in words that say what to do.

use std::path::{Path, PathBuf};

/// An error of git. Callers match the variants; the text is for people.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Not inside a repository.
    #[error("{0} is not inside a git repository. Run this in the repository that holds the candidate")]
    NoRepository(PathBuf),
    /// The repository belongs to another user.
    #[error(
        "the repository at {0} belongs to another user, so git does not trust it. If you do: \
         git config --global --add safe.directory {0}"
    )]
    NotYours(PathBuf),
    /// A repository without a working tree.
    #[error("{0} is a bare repository. Clone it and run this in the clone")]
    Bare(PathBuf),
    /// Nothing has that name.
    #[error("there is no commit, branch or tag `{revision}`. `git log --oneline --all` lists what there is")]
    NoSuchRevision {
        /// As given.
        revision: String,
    },
    /// It exists and is no commit.
    #[error("`{revision}` is a {kind}, not a commit")]
    NotACommit {
        /// As given.
        revision: String,
        /// blob or tree.
        kind: String,
    },
    /// Several commits begin like this.
    #[error("`{revision}` is ambiguous. Give more digits; these commits begin so:\n  {}", candidates.join("\n  "))]
    Ambiguous {
        /// As given.
        revision: String,
        /// Beginning of the id and first line of the message.
        candidates: Vec<String>,
    },
    /// The folder for the worktree is somebody else's.
    #[error("{path} exists and is not a worktree of this repository ({why}). Move it away or choose another folder")]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A path that cannot be written in a worktree.
    #[error("`{path}` cannot be written in the worktree: {why}")]
    BadPath {
        /// As given.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The worktree holds something that a commit cannot or must not hold.
    #[error("`{path}` cannot be committed: {why}")]
    Uncommittable {
        /// In the worktree.
        path: String,
        /// What it is.
        why: String,
    },
    /// More files than a look at the worktree may take.
    #[error("{path} holds more than {most} files. Remove what does not belong there")]
    TooManyFiles {
        /// The worktree.
        path: PathBuf,
        /// The limit.
        most: usize,
    },
    /// A diff that is no diff, or does not fit the commit.
    #[error("the patch does not apply to {commit}: {why}. Nothing was changed")]
    PatchFails {
        /// What it was applied to.
        commit: String,
        /// git's word.
        why: String,
    },
    /// The branch has moved elsewhere.
    #[error(
        "branch {branch} is at {at}, from which {to} does not follow, so it was not moved. \
         If that branch is of no use any more: git branch -D {branch}"
    )]
    NotFastForward {
        /// Its short name.
        branch: String,
        /// Where it is.
        at: String,
        /// Where it should have gone.
        to: String,
    },
    /// Moving it would move the user's HEAD.
    #[error("branch {branch} is checked out, so it was not moved. Check out another branch first (git switch)")]
    CheckedOut {
        /// Its short name.
        branch: String,
    },
    /// A name or number that makes no valid ref.
    #[error("`{0}` makes no valid branch name. Use letters, digits, `-` and `_`")]
    BadName(String),
    /// The attempt has another commit already.
    #[error("{name} is at {at} already and is never moved")]
    RefTaken {
        /// The ref.
        name: String,
        /// Its commit.
        at: String,
    },
    /// Reading or writing the worktree's files.
    #[error("{what}: {source}")]
    File {
        /// What was tried, on what.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Anything else that libgit2 reports.
    #[error("{what}: {why}")]
    Git {
        /// What was tried, on what.
        what: String,
        /// libgit2's word.
        why: String,
    },
}

impl GitError {
    pub(super) fn during(what: &str) -> impl FnOnce(git2::Error) -> GitError + use<> {
        let what = what.to_owned();
        move |e| GitError::Git { what: format!("{what} failed"), why: e.message().to_owned() }
    }

    pub(super) fn file(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> GitError + use<> {
        let what = format!("cannot {what} {}", path.display());
        move |source| GitError::File { what, source }
    }

    pub(super) fn open(path: &Path, e: git2::Error) -> GitError {
        match e.code() {
            git2::ErrorCode::NotFound => GitError::NoRepository(path.into()),
            git2::ErrorCode::Owner => GitError::NotYours(path.into()),
            _ => GitError::during(&format!("opening the repository of {}", path.display()))(e),
        }
    }
}
