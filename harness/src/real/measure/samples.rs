//! Samples of an exact meter, kept: the same binary on the same seed is the same number, so the champion need not be
//! counted again in every attempt. Not used by `replay`, which is there to count again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::judge::sample::Counted;

/// The store of one (meter, workload).
#[derive(Debug)]
pub struct Samples {
    folder: PathBuf,
}

impl Samples {
    /// The store below `cache` for this meter and workload, both named by a hash of theirs.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(cache: &Path, meter: &str, workload: &str) -> Result<Self> {
        let folder = cache.join("samples").join(format!("{}-{}", short(meter), short(workload)));
        fs::create_dir_all(&folder).with_context(|| format!("making the sample store {}", folder.display()))?;
        Ok(Samples { folder })
    }

    /// The sample of this binary on this seed, if there is a readable one.
    pub fn get(&self, binary: &str, seed: u64) -> Option<Counted> {
        serde_json::from_slice(&fs::read(self.path(binary, seed)).ok()?).ok()
    }

    /// Keep a sample. A store that cannot be written costs time, not truth, so it is no error.
    pub fn put(&self, binary: &str, seed: u64, counted: &Counted) {
        let path = self.path(binary, seed);
        let unfinished = path.with_extension(format!("{}", std::process::id()));
        let written =
            serde_json::to_vec(counted).map_err(std::io::Error::other).and_then(|json| fs::write(&unfinished, json));
        if written.and_then(|()| fs::rename(&unfinished, &path)).is_err() {
            let _ = fs::remove_file(&unfinished);
        }
    }

    fn path(&self, binary: &str, seed: u64) -> PathBuf {
        self.folder.join(format!("{}-{seed}.json", short(binary)))
    }
}

/// Sixteen digits: enough to tell apart what one cache will ever hold.
fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}
