//! `history/calibration.json`: what inert rebuilds of the candidate showed of a meter's spread, by fingerprint.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::durable;
use crate::judge::statistics::Noise;

const FILE: &str = "calibration.json";

/// One calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Commit whose inert rebuilds were measured.
    pub commit: String,
    /// Seeds each was measured on.
    pub seeds: Vec<u64>,
    /// For each rebuild, one a seed: `ln(I_original / I_rebuild)`.
    pub d: Vec<Vec<f64>>,
    /// The spread they show.
    pub noise: Noise,
}

/// The spread known for this fingerprint.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn load(history: &Path, fingerprint: &str) -> Result<Option<Noise>> {
    Ok(all(history)?.remove(fingerprint).map(|calibration| calibration.noise))
}

/// Keep a calibration; an earlier one of the same fingerprint is replaced.
///
/// # Errors
/// Names the file.
pub fn keep(history: &Path, fingerprint: &str, calibration: Calibration) -> Result<()> {
    let mut known = all(history)?;
    known.insert(fingerprint.to_owned(), calibration);
    let mut text = serde_json::to_vec_pretty(&known).context("writing the calibration as JSON")?;
    text.push(b'\n');
    durable::write(&history.join(FILE), &text)
}

fn all(history: &Path) -> Result<BTreeMap<String, Calibration>> {
    let path = history.join(FILE);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        bytes => serde_json::from_slice(&bytes.with_context(|| format!("reading {}", path.display()))?)
            .with_context(|| format!("{} is damaged: delete it and run `harness calibrate` again", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_is_found_by_its_fingerprint_only_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(load(folder.path(), "a").unwrap(), None);
        let noise = Noise::new(0.0002, 0.0003);
        keep(folder.path(), "a", Calibration { commit: "c".into(), seeds: vec![1], d: vec![vec![0.0002]], noise })
            .unwrap();
        assert_eq!(load(folder.path(), "a").unwrap(), Some(noise));
        assert_eq!(load(folder.path(), "b").unwrap(), None);
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(format!("{:#}", load(folder.path(), "a").unwrap_err()).contains("calibration.json is damaged"));
    }
}
