//! Where things are: the repository, what is kept in it, and the cache outside it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::data::durable::hex;

/// The folders of one repository's searches.
#[derive(Clone, Debug)]
pub struct Place {
    /// Top of the user's checkout.
    pub root: PathBuf,
    /// Everything that can be made again: emulator, tools, builds, samples. Shared by all repositories.
    pub cache: PathBuf,
    /// What belongs to this repository within the cache: the private worktree and its build folder.
    pub work: PathBuf,
}

impl Place {
    /// The folders for the repository at `root`. The cache is `$HARNESS_CACHE`, else `$XDG_CACHE_HOME/harness`, else
    /// `~/.cache/harness`.
    ///
    /// # Errors
    /// When none of the three is set.
    pub fn of(root: &Path) -> Result<Self> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("HARNESS_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("harness")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/harness")))
            .context("no folder for the cache: set HARNESS_CACHE, XDG_CACHE_HOME or HOME")?;
        let cache = std::path::absolute(&cache).with_context(|| format!("the cache folder {}", cache.display()))?;
        std::fs::create_dir_all(&cache).with_context(|| format!("making the cache folder {}", cache.display()))?;
        let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes()));
        Ok(Place { root: root.to_owned(), work: cache.join("work").join(&name[..12]), cache })
    }

    /// The ledger and the attempts' folders.
    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    /// The lessons.
    pub fn knowledge(&self) -> PathBuf {
        self.root.join("knowledge")
    }

    /// The private worktree that proposals are applied to.
    pub fn worktree(&self) -> PathBuf {
        self.work.join("tree")
    }
}
