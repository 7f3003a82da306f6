//! Names of commits: attempts, the run's branch, the bank's. Only the bank's is ever deleted here.

use git2::{BranchType, Reference};

use super::{CommitId, GitError, Repo, id, oid};

impl Repo {
    /// Names `commit` as attempt `number`, for good: an attempt's ref is never moved. Again with the same commit is no
    /// error, so that a crash in between can be repeated.
    pub fn keep_attempt(&self, number: u64, commit: &CommitId) -> Result<(), GitError> {
        let name = format!("refs/attempts/{number}");
        if let Ok(reference) = self.git.find_reference(&name) {
            let at = reference.target().map(id);
            return match at {
                Some(at) if at == *commit => Ok(()),
                at => Err(GitError::RefTaken { name, at: at.map_or_else(|| "nothing".into(), |a| a.to_string()) }),
            };
        }
        let made = self.git.reference(&name, oid(commit)?, false, "attempt");
        made.map(drop).map_err(GitError::during(&format!("creating {name}")))
    }

    /// The commit of attempt `number`, if it got as far as having one.
    pub fn attempt(&self, number: u64) -> Result<Option<CommitId>, GitError> {
        self.target(&format!("refs/attempts/{number}"))
    }

    /// The numbers of all attempts that are named here.
    pub fn attempts(&self) -> Result<Vec<u64>, GitError> {
        let during = "listing refs/attempts";
        let found = self.git.references_glob("refs/attempts/*").map_err(GitError::during(during))?;
        let mut numbers = Vec::new();
        for reference in found {
            let reference = reference.map_err(GitError::during(during))?;
            // A name that is no number is not ours.
            numbers.extend(
                reference.name().ok().and_then(|name| name.strip_prefix("refs/attempts/")?.parse::<u64>().ok()),
            );
        }
        Ok(numbers)
    }

    /// Where `search/<run>` is, if it exists.
    pub fn search_branch(&self, run: &str) -> Result<Option<CommitId>, GitError> {
        self.target(&format!("refs/heads/{}", branch_name("search", run)?))
    }

    /// Creates `search/<run>` at `to`, or moves it forward. Refused when `to` does not follow from where it is, or when
    /// it is checked out anywhere: then it is the user's.
    pub fn advance_search_branch(&self, run: &str, to: &CommitId) -> Result<(), GitError> {
        let branch = branch_name("search", run)?;
        let name = format!("refs/heads/{branch}");
        let during = format!("moving branch {branch} to {}", to.short());
        let target = oid(to)?;
        let Some(at) = self.target(&name)? else {
            let made = self.git.reference(&name, target, false, "search: start");
            return made.map(drop).map_err(GitError::during(&during));
        };
        if at == *to {
            return Ok(());
        }
        let from = oid(&at)?;
        let found = self.git.find_branch(&branch, BranchType::Local).map_err(GitError::during(&during))?;
        if self.checked_out(&name) || found.is_head() {
            return Err(GitError::CheckedOut { branch });
        }
        if !self.git.graph_descendant_of(target, from).map_err(GitError::during(&during))? {
            return Err(GitError::NotFastForward { branch, at: at.short().into(), to: to.short().into() });
        }
        // Compared again by git under its lock: somebody may move it between the look and the step.
        let moved = self.git.reference_matching(&name, target, true, from, "search: promote");
        moved.map(drop).map_err(GitError::during(&during))
    }

    /// Puts `bank/<run>` at `to`, wherever it was; removes it at `None`. Refused while it is checked out anywhere: then it is the
    /// user's.
    pub fn set_bank_branch(&self, run: &str, to: Option<&CommitId>) -> Result<(), GitError> {
        let branch = branch_name("bank", run)?;
        let name = format!("refs/heads/{branch}");
        let at = self.target(&name)?;
        if at.as_ref() == to {
            return Ok(());
        }
        if self.checked_out(&name) {
            return Err(GitError::CheckedOut { branch });
        }
        let during = format!("moving branch {branch}");
        match to {
            Some(to) => {
                self.git.reference(&name, oid(to)?, true, "search: bank").map(drop).map_err(GitError::during(&during))
            }
            None => self
                .git
                .find_reference(&name)
                .and_then(|mut reference| reference.delete())
                .map_err(GitError::during(&during)),
        }
    }

    fn target(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        match self.git.find_reference(name) {
            Ok(reference) => Ok(reference.target().map(id)),
            Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(e) => Err(GitError::during(&format!("reading {name}"))(e)),
        }
    }

    /// Looks at the HEAD of the main checkout and of every linked worktree. A HEAD file is one line.
    fn checked_out(&self, name: &str) -> bool {
        let common = self.git.commondir();
        let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().map(|e| e.path());
        let mut heads = linked.chain([common.to_owned()]).filter_map(|f| std::fs::read_to_string(f.join("HEAD")).ok());
        heads.any(|head| head.trim() == format!("ref: {name}"))
    }
}

fn branch_name(kind: &str, run: &str) -> Result<String, GitError> {
    let name = format!("{kind}/{run}");
    if run.is_empty() || run.contains('/') || !Reference::is_valid_name(&format!("refs/heads/{name}")) {
        return Err(GitError::BadName(name));
    }
    Ok(name)
}
