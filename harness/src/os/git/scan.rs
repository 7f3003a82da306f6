//! What a worktree holds against what a commit says, byte by byte: no index whose cached times could be forged, no
//! ignore file, no attributes, no filter. Changes are reported here and judged elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use git2::{ObjectType, Oid, Tree, TreeWalkMode, TreeWalkResult};

use super::{GitError, Repo};

/// Files that one look at a worktree may meet.
const MOST_FILES: usize = 200_000;

/// What lies at a changed path now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A file.
    Regular,
    /// A file with the owner's execute bit.
    Executable,
    /// A symbolic link.
    Symlink,
    /// A repository within the repository.
    Submodule,
    /// Nothing any more.
    Deleted,
    /// A pipe, socket or device, or a name that is not UTF-8.
    Special,
}

/// One path that differs from the commit, untracked and ignored ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the root, with `/`.
    pub path: String,
    /// What it is now.
    pub mode: Mode,
    /// What it was in the commit; `None` if it is new.
    pub was: Option<Mode>,
    /// Its size now, bytes.
    pub size: u64,
}

/// An entry of a commit's tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracked {
    pub id: Oid,
    pub mode: Mode,
}

/// Everything in a tree by path.
pub(super) fn tracked(tree: &Tree<'_>) -> Result<BTreeMap<String, Tracked>, GitError> {
    let mut files = BTreeMap::new();
    let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let mode = match entry.filemode() {
            0o120000 => Mode::Symlink,
            0o160000 => Mode::Submodule,
            0o100755 => Mode::Executable,
            0o040000 => return TreeWalkResult::Ok,
            _ => Mode::Regular,
        };
        let name = String::from_utf8_lossy(entry.name_bytes());
        files.insert(format!("{folder}{name}"), Tracked { id: entry.id(), mode });
        TreeWalkResult::Ok
    });
    walked.map_err(GitError::during(&format!("reading the tree {}", tree.id())))?;
    Ok(files)
}

/// A path found on disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub mode: Mode,
    pub size: u64,
}

/// Everything in the worktree but its own `.git`, without following a link.
pub(super) fn found(root: &Path) -> Result<BTreeMap<String, Found>, GitError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        for entry in fs::read_dir(&path).map_err(GitError::file("list", &path))? {
            let entry = entry.map_err(GitError::file("list", &path))?;
            let name = entry.file_name();
            if name.as_bytes() == b".git" {
                // The root's own is the worktree's link to the repository. Elsewhere it marks another repository.
                if !folder.is_empty() {
                    let here = folder.trim_end_matches('/').to_owned();
                    files.insert(here, Found { mode: Mode::Submodule, size: 0 });
                }
                continue;
            }
            let what = entry.metadata().map_err(GitError::file("look at", &entry.path()))?;
            let child = format!("{folder}{}", name.to_string_lossy());
            let mode = match name.to_str() {
                None => Mode::Special,
                Some(_) if what.is_dir() => {
                    folders.push(format!("{child}/"));
                    continue;
                }
                Some(_) if what.is_symlink() => Mode::Symlink,
                Some(_) if what.is_file() && what.permissions().mode() & 0o100 != 0 => Mode::Executable,
                Some(_) if what.is_file() => Mode::Regular,
                Some(_) => Mode::Special,
            };
            files.insert(child, Found { mode, size: what.size() });
            if files.len() > MOST_FILES {
                return Err(GitError::TooManyFiles { path: root.into(), most: MOST_FILES });
            }
        }
    }
    Ok(files)
}

/// The bytes git would store for a file or link.
pub(super) fn content(path: &Path, mode: Mode) -> Result<Vec<u8>, GitError> {
    if mode == Mode::Symlink {
        let target = fs::read_link(path).map_err(GitError::file("read the link", path))?;
        return Ok(target.as_os_str().as_bytes().to_owned());
    }
    // Should the file have been swapped for a link or a pipe since it was looked at: neither followed nor waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut bytes = Vec::new();
    let opened = File::options().read(true).custom_flags(flags).open(path);
    opened.and_then(|mut f| f.read_to_end(&mut bytes)).map_err(GitError::file("read", path))?;
    Ok(bytes)
}

/// Every path in which the worktree differs from the tree, sorted.
pub(super) fn changes(repo: &Repo, root: &Path, tree: &Tree<'_>) -> Result<Vec<Change>, GitError> {
    let tracked = tracked(tree)?;
    let found = found(root)?;
    let odb = repo.git.odb().map_err(GitError::during("opening the object store"))?;
    let mut changes = Vec::new();
    for (path, now) in &found {
        let was = tracked.get(path);
        if let Some(was) = was.filter(|w| w.mode == now.mode) {
            // A size tells most changes without reading a file, however large it was made.
            let size = odb.read_header(was.id).map_err(GitError::during(&format!("reading the stored {path}")))?.0;
            if size as u64 == now.size {
                let bytes = content(&root.join(path), now.mode)?;
                let hash = Oid::hash_object(ObjectType::Blob, &bytes).map_err(GitError::during("hashing a file"))?;
                if hash == was.id {
                    continue;
                }
            }
        }
        changes.push(Change { path: path.clone(), mode: now.mode, was: was.map(|w| w.mode), size: now.size });
    }
    for (path, was) in tracked.iter().filter(|(path, _)| !found.contains_key(*path)) {
        // A submodule that is not checked out is an empty folder or none.
        if was.mode != Mode::Submodule {
            changes.push(Change { path: path.clone(), mode: Mode::Deleted, was: Some(was.mode), size: 0 });
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}
