//! The search's private worktree: a folder detached at a commit, that a proposer may wreck and that is made whole again.
//! Its contents are compared and restored byte by byte (`scan`); git's own metadata is kept right for the proposer's
//! eyes only, and nothing of it is believed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use git2::{Diff, Index, IndexEntry, IndexTime, Repository, Signature, Tree};
use sha2::{Digest, Sha256};

use super::scan::{self, Tracked};
use super::{Change, CommitId, GitError, Mode, Repo, id, patch};

/// Author and committer of attempts, whatever the user's git is set to.
const NAME: &str = "harness";
const EMAIL: &str = "harness@localhost";

/// Largest file that an attempt may hold; a diff of that size has been refused before.
const MOST_BYTES: u64 = 64 << 20;

/// A folder that follows a commit.
#[derive(Debug)]
pub struct Worktree {
    repo: Repo,
    path: PathBuf,
    /// `.git/worktrees/NAME` of the main repository.
    admin: PathBuf,
}

impl Repo {
    /// Makes the worktree at `path` and puts it at `commit`. One that a crash or a proposer left behind is repaired; a
    /// folder that is not ours is refused.
    pub fn worktree(&self, path: &Path, commit: &CommitId) -> Result<Worktree, GitError> {
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(GitError::file("create", parent))?;
        let parent = parent.canonicalize().map_err(GitError::file("find", parent))?;
        let last = path
            .file_name()
            .ok_or_else(|| GitError::BadPath { path: path.display().to_string(), why: "it names no folder".into() })?;
        let path = parent.join(last);
        let repo = Repo::open(&self.root)?;
        let admin = repo.git.commondir().join("worktrees").join(admin_name(&path));
        let worktree = Worktree { repo, path, admin };
        worktree.claim()?;
        worktree.restore(commit)?;
        Ok(worktree)
    }

    /// Forgets worktrees of ours whose folder is gone (`git worktree prune`, for our names only).
    pub fn prune_worktrees(&self) -> Result<usize, GitError> {
        let mut pruned = 0;
        let folder = self.git.commondir().join("worktrees");
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let ours = entry.file_name().to_string_lossy().starts_with("harness-");
            let link = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
            if ours && !Path::new(link.trim()).exists() {
                fs::remove_dir_all(entry.path()).map_err(GitError::file("remove", &entry.path()))?;
                pruned += 1;
            }
        }
        Ok(pruned)
    }
}

/// Unique by path, so that two runs do not share one.
fn admin_name(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(6).map(|b| format!("{b:02x}")).collect();
    format!("harness-{hash}")
}

impl Worktree {
    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(test)]
    pub(super) fn admin_head(&self) -> PathBuf {
        self.admin.join("HEAD")
    }

    /// Makes the folder if it is missing; refuses one with somebody else's files.
    fn claim(&self) -> Result<(), GitError> {
        let occupied = |why: &str| GitError::Occupied { path: self.path.clone(), why: why.into() };
        match fs::symlink_metadata(&self.path) {
            Err(_) => fs::create_dir(&self.path).map_err(GitError::file("create", &self.path)),
            Ok(what) if !what.is_dir() => Err(occupied("it is not a folder")),
            Ok(_) if self.admin.is_dir() => Ok(()),
            Ok(_) => {
                let empty = fs::read_dir(&self.path).map_err(GitError::file("list", &self.path))?.next().is_none();
                let link = fs::read_to_string(self.path.join(".git")).unwrap_or_default();
                let ours = link.trim() == format!("gitdir: {}", self.admin.display());
                if empty || ours { Ok(()) } else { Err(occupied("it holds files")) }
            }
        }
    }

    /// The files by which git knows a linked worktree (gitrepository-layout(5)). Written by hand because libgit2 would
    /// demand a branch for it and check it out with attributes applied.
    fn link(&self, commit: &CommitId) -> Result<(), GitError> {
        for folder in [&self.path, &self.admin] {
            if !fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir()) {
                remove(folder)?;
                fs::create_dir_all(folder).map_err(GitError::file("create", folder))?;
            }
        }
        let dot_git = self.path.join(".git");
        let files = [
            (self.admin.join("HEAD"), format!("{commit}\n")),
            (self.admin.join("commondir"), "../..\n".to_owned()),
            (self.admin.join("gitdir"), format!("{}\n", dot_git.display())),
            (dot_git.clone(), format!("gitdir: {}\n", self.admin.display())),
        ];
        for (path, text) in files {
            let is_file = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
            if is_file && fs::read_to_string(&path).is_ok_and(|now| now == text) {
                continue;
            }
            remove(&path)?;
            fs::write(&path, text).map_err(GitError::file("write", &path))?;
        }
        Ok(())
    }

    /// Makes the folder hold exactly the commit: all else, ignored files too, is removed. What differs is written anew
    /// and so carries the present time, by which a build sees that it changed.
    pub fn restore(&self, commit: &CommitId) -> Result<(), GitError> {
        let tree = self.repo.tree(commit)?;
        let settled = self.link(commit).and_then(|()| self.settle(&tree)).and_then(|()| self.differs(&tree));
        // Folders without permissions, names that are no text: whatever it is, it goes with the rest.
        if !matches!(settled, Ok(false)) {
            remove(&self.path)?;
            self.link(commit)?;
            self.settle(&tree)?;
            if self.differs(&tree)? {
                let why = "the file system does not keep what is written to it";
                return Err(bad_path(&self.path.display().to_string(), why));
            }
        }
        self.reset_index(commit)
    }

    fn differs(&self, tree: &Tree<'_>) -> Result<bool, GitError> {
        Ok(!scan::changes(&self.repo, &self.path, tree)?.is_empty())
    }

    /// Removes what the tree does not have and writes what differs.
    fn settle(&self, tree: &Tree<'_>) -> Result<(), GitError> {
        let tracked = scan::tracked(tree)?;
        let changes = scan::changes(&self.repo, &self.path, tree)?;
        for change in changes.iter().filter(|c| c.was.is_none()) {
            remove(&self.path.join(&change.path))?;
        }
        for change in changes {
            if let Some(entry) = tracked.get(&change.path) {
                self.check_out(&change.path, entry)?;
            }
        }
        self.remove_empty_folders(&tracked)
    }

    fn check_out(&self, path: &str, entry: &Tracked) -> Result<(), GitError> {
        let blob = self.repo.git.find_blob(entry.id).map_err(GitError::during(&format!("reading {path}")))?;
        let full = self.place(path)?;
        remove(&full)?;
        if entry.mode == Mode::Symlink {
            let target = Path::new(std::ffi::OsStr::new(
                std::str::from_utf8(blob.content()).map_err(|_| bad_path(path, "its link target is not UTF-8"))?,
            ));
            return symlink(target, &full).map_err(GitError::file("create the link", &full));
        }
        let permissions = if entry.mode == Mode::Executable { 0o755 } else { 0o644 };
        create(&full, blob.content(), permissions)
    }

    /// Folders are nothing to git, but a leftover one could stand where a build looks for something.
    fn remove_empty_folders(&self, tracked: &BTreeMap<String, Tracked>) -> Result<(), GitError> {
        let mut folders = vec![self.path.clone()];
        let mut next = 0;
        while let Some(folder) = folders.get(next).cloned() {
            for entry in fs::read_dir(&folder).map_err(GitError::file("list", &folder))?.flatten() {
                if entry.file_type().is_ok_and(|t| t.is_dir()) {
                    folders.push(entry.path());
                }
            }
            next += 1;
        }
        for folder in folders.iter().skip(1).rev() {
            let name = folder.strip_prefix(&self.path).map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
            if tracked.get(&name).is_none_or(|t| t.mode != Mode::Submodule) {
                // Fails on those that hold something, which is what keeps them.
                let _ = fs::remove_dir(folder);
            }
        }
        Ok(())
    }

    /// So that the proposer's `git status` and `git diff` tell it the truth.
    fn reset_index(&self, commit: &CommitId) -> Result<(), GitError> {
        let during = GitError::during(&format!("resetting the index of {}", self.path.display()));
        remove(&self.admin.join("index.lock"))?;
        remove(&self.admin.join("index"))?;
        let tree = self.repo.tree(commit)?;
        let reset = Repository::open(&self.path).and_then(|git| {
            let mut index = git.index()?;
            index.read_tree(&tree)?;
            index.write()
        });
        reset.map_err(during)
    }

    /// Every path in which the folder differs from the commit.
    pub fn changes(&self, commit: &CommitId) -> Result<Vec<Change>, GitError> {
        scan::changes(&self.repo, &self.path, &self.repo.tree(commit)?)
    }

    /// Puts the worktree at `commit` with a unified diff applied to it. When the diff does not fit, nothing changes.
    pub fn apply(&self, commit: &CommitId, diff: &str) -> Result<(), GitError> {
        let fails =
            |e: git2::Error| GitError::PatchFails { commit: commit.short().into(), why: e.message().to_owned() };
        let parsed = Diff::from_buffer(patch::with_git_headers(diff).as_bytes()).map_err(fails)?;
        if parsed.deltas().len() == 0 {
            return Err(GitError::PatchFails { commit: commit.short().into(), why: "it changes nothing".into() });
        }
        let git = &self.repo.git;
        let tree = self.repo.tree(commit)?;
        // Applied to the tree, not the folder: no half-applied patch, and no link in the folder to write through.
        let mut index = git.apply_to_tree(&tree, &parsed, None).map_err(fails)?;
        let applied = index.write_tree_to(git).and_then(|t| git.find_tree(t)).map_err(fails)?;
        self.settle(&applied)
    }

    /// Writes one file, with its folders. Never through a link and never outside.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), GitError> {
        let full = self.place(path)?;
        let executable = fs::symlink_metadata(&full).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o100 != 0);
        remove(&full)?;
        create(&full, bytes, if executable { 0o755 } else { 0o644 })
    }

    /// Commits what the folder holds, as a child of `parent`, and returns the new commit. Moves no ref and asks no hook.
    /// Times are the committer's clock; identity is the harness's.
    pub fn commit(&self, parent: &CommitId, message: &str) -> Result<CommitId, GitError> {
        let git = &self.repo.git;
        let base = self.repo.commit(parent)?;
        let during = format!("committing {}", self.path.display());
        let mut index = Index::new().map_err(GitError::during(&during))?;
        index.read_tree(&self.repo.tree(parent)?).map_err(GitError::during(&during))?;
        let changes = self.changes(parent)?;
        // Deletions first: a file may have become a folder.
        for change in changes.iter().filter(|c| c.was.is_some()) {
            index.remove(Path::new(&change.path), 0).map_err(GitError::during(&during))?;
        }
        for change in changes.iter().filter(|c| c.mode != Mode::Deleted) {
            let refuse = |why: &str| GitError::Uncommittable { path: change.path.clone(), why: why.into() };
            let mode = match change.mode {
                Mode::Regular | Mode::Deleted => 0o100644,
                Mode::Executable => 0o100755,
                Mode::Symlink => 0o120000,
                Mode::Submodule => return Err(refuse("it is a repository of its own")),
                Mode::Special => return Err(refuse("it is neither a file nor a link, or its name is not UTF-8")),
            };
            if change.size > MOST_BYTES {
                return Err(refuse("it is larger than 64 MiB"));
            }
            let bytes = scan::content(&self.path.join(&change.path), change.mode)?;
            let blob = git.blob(&bytes).map_err(GitError::during(&during))?;
            index.add(&entry(&change.path, mode, blob)).map_err(GitError::during(&during))?;
        }
        let tree = index.write_tree_to(git).and_then(|t| git.find_tree(t)).map_err(GitError::during(&during))?;
        let written =
            Signature::now(NAME, EMAIL).and_then(|who| git.commit(None, &who, &who, message, &tree, &[&base]));
        written.map(id).map_err(GitError::during(&during))
    }

    /// The full path for a relative one, its folders made, none of them a link.
    fn place(&self, path: &str) -> Result<PathBuf, GitError> {
        let mut parts = Vec::new();
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) if name != ".git" => parts.push(name),
                _ => return Err(bad_path(path, "it must be relative, without `..` and `.git`")),
            }
        }
        let Some((name, folders)) = parts.split_last() else { return Err(bad_path(path, "it is empty")) };
        let mut full = self.path.clone();
        for folder in folders {
            full.push(folder);
            if !fs::symlink_metadata(&full).is_ok_and(|m| m.is_dir()) {
                remove(&full)?;
                fs::create_dir(&full).map_err(GitError::file("create", &full))?;
            }
        }
        Ok(full.join(name))
    }
}

fn bad_path(path: &str, why: &str) -> GitError {
    GitError::BadPath { path: path.into(), why: why.into() }
}

fn entry(path: &str, mode: u32, id: git2::Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_owned(),
    }
}

fn create(path: &Path, bytes: &[u8], permissions: u32) -> Result<(), GitError> {
    let opened = fs::File::options().write(true).create_new(true).mode(permissions).open(path);
    opened.and_then(|mut f| f.write_all(bytes)).map_err(GitError::file("write", path))
}

/// Whatever is there: file, link (not what it points at), folder with all it holds, or nothing.
fn remove(path: &Path) -> Result<(), GitError> {
    let gone = match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(what) if what.is_dir() => fs::remove_dir_all(path).or_else(|_| {
            unlock(path);
            fs::remove_dir_all(path)
        }),
        Ok(_) => fs::remove_file(path),
    };
    gone.map_err(GitError::file("remove", path))
}

/// Gives the owner back the permissions on folders that somebody took away to make them stay.
fn unlock(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            unlock(&entry.path());
        }
    }
}
