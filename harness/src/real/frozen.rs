//! What must not change under a run: the source of the judge, the run definitions, the manifest, the lock file. (The
//! compiler is part of the fingerprint.)

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use super::measure::tree_hash::tree_hash;
use crate::data::durable::hex;

/// Files and folders of the checkout that judge.
const JUDGE: [&str; 6] = ["harness", "loadgen", "runs.toml", "Cargo.toml", "Cargo.lock", ".cargo"];

/// A hash of all of it, taken when a run begins or goes on.
#[derive(Clone, Debug)]
pub struct Frozen {
    root: PathBuf,
    hash: String,
}

impl Frozen {
    /// Take the hash.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub fn take(root: &Path) -> Result<Self> {
        Ok(Frozen { root: root.to_owned(), hash: tree_hash(root, &JUDGE)? })
    }

    /// Is it still what it was?
    ///
    /// # Errors
    /// When it is not: the run stops here, everything recorded stays.
    pub fn check(&self) -> Result<()> {
        if tree_hash(&self.root, &JUDGE)? != self.hash {
            bail!(
                "the judge changed under the run (one of {}): numbers from before and after would not be comparable. Put it back and start again to go on, or start a new run with --fresh",
                JUDGE.join(", ")
            );
        }
        Ok(())
    }
}

/// SHA-256 of the program that is running: the copy that judges is the one in memory, whatever becomes of its file.
///
/// # Errors
/// When the system does not give it out.
pub fn own_hash() -> Result<String> {
    let bytes = fs::read("/proc/self/exe").context("reading the running harness from /proc/self/exe")?;
    Ok(hex(&Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_added_or_removed_file_of_the_judge_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("harness/src")).unwrap();
        fs::write(root.join("harness/src/main.rs"), "one").unwrap();
        fs::write(root.join("runs.toml"), "").unwrap();
        let frozen = Frozen::take(root).unwrap();
        fs::create_dir_all(root.join("candidate")).unwrap();
        fs::write(root.join("candidate/x"), "the candidate may change").unwrap();
        frozen.check().unwrap();
        fs::write(root.join("harness/src/main.rs"), "two").unwrap();
        assert!(frozen.check().unwrap_err().to_string().contains("changed under the run"));
        fs::write(root.join("harness/src/main.rs"), "one").unwrap();
        frozen.check().unwrap();
        fs::write(root.join("loadgen"), "new").unwrap();
        assert!(frozen.check().is_err());
        fs::remove_file(root.join("loadgen")).unwrap();
        fs::remove_file(root.join("runs.toml")).unwrap();
        assert!(frozen.check().is_err());
    }
}
