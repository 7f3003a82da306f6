//! `history/calibration.json`: what inert rebuilds of the candidate showed of a meter's spread, by fingerprint. Nothing is
//! replaced: the newest one of a fingerprint and workload counts, those before it stay to be looked at.

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
    /// When it was made; earlier versions did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<jiff::Timestamp>,
    /// Commit whose inert rebuilds were measured.
    pub commit: String,
    /// SHA-256 of the workload they were measured under, hex; earlier versions did not say, and are not taken for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Seeds each was measured on.
    pub seeds: Vec<u64>,
    /// For each rebuild, one a seed: `ln(I_original / I_rebuild)`.
    pub d: Vec<Vec<f64>>,
    /// The spread they show.
    pub noise: Noise,
}

/// Earlier versions kept one of a fingerprint, bare.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    All(Vec<Calibration>),
    One(Box<Calibration>),
}

/// The calibrations of this fingerprint and workload (SHA-256, hex), oldest first.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn known(history: &Path, fingerprint: &str, workload: &str) -> Result<Vec<Calibration>> {
    let mut of = all(history)?.remove(fingerprint).unwrap_or_default();
    of.retain(|calibration| calibration.workload.as_deref() == Some(workload));
    Ok(of)
}

/// The spread to go by: that of the newest such calibration.
///
/// # Errors
/// As [`known`].
pub fn load(history: &Path, fingerprint: &str, workload: &str) -> Result<Option<Noise>> {
    Ok(known(history, fingerprint, workload)?.last().map(|calibration| calibration.noise))
}

/// Keep a calibration after all that were made before it.
///
/// # Errors
/// Names the file.
pub fn keep(history: &Path, fingerprint: &str, calibration: Calibration) -> Result<()> {
    let mut known = all(history)?;
    known.entry(fingerprint.to_owned()).or_default().push(calibration);
    let mut text = serde_json::to_vec_pretty(&known).context("writing the calibration as JSON")?;
    text.push(b'\n');
    durable::write(&history.join(FILE), &text)
}

fn all(history: &Path) -> Result<BTreeMap<String, Vec<Calibration>>> {
    let path = history.join(FILE);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        bytes => bytes.with_context(|| format!("reading {}", path.display()))?,
    };
    let kept: BTreeMap<String, Kept> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is damaged: put it away and run `harness calibrate` again", path.display()))?;
    let whole = |kept| match kept {
        Kept::All(all) => all,
        Kept::One(one) => vec![*one],
    };
    Ok(kept.into_iter().map(|(fingerprint, kept)| (fingerprint, whole(kept))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(workload: &str, sigma_aa: f64) -> Calibration {
        Calibration {
            time: None,
            commit: "c".into(),
            workload: Some(workload.into()),
            seeds: vec![1],
            d: vec![vec![sigma_aa]],
            noise: Noise::new(sigma_aa, 0.0003),
        }
    }

    #[test]
    fn a_calibration_is_found_by_its_fingerprint_and_workload_only_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let history = folder.path();
        assert_eq!(load(history, "a", "w").unwrap(), None);
        keep(history, "a", calibration("w", 0.0002)).unwrap();
        assert_eq!(load(history, "a", "w").unwrap(), Some(Noise::new(0.0002, 0.0003)));
        assert_eq!((load(history, "b", "w").unwrap(), load(history, "a", "other").unwrap()), (None, None));
        fs::write(history.join(FILE), "{").unwrap();
        assert!(format!("{:#}", load(history, "a", "w").unwrap_err()).contains("calibration.json is damaged"));
    }

    #[test]
    fn the_newest_counts_and_those_before_it_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let all = [("w", 0.0002), ("other", 0.0009), ("w", 0.0004)].map(|(w, sigma)| calibration(w, sigma));
        all.iter().for_each(|one| keep(folder.path(), "a", one.clone()).unwrap());
        assert_eq!(known(folder.path(), "a", "w").unwrap(), [all[0].clone(), all[2].clone()]);
        assert_eq!(load(folder.path(), "a", "w").unwrap(), Some(all[2].noise));
    }

    #[test]
    fn one_that_an_earlier_version_kept_stays_and_counts_for_no_workload() {
        let folder = tempfile::tempdir().unwrap();
        let old = r#"{"a":{"commit":"c","seeds":[1],"d":[[0.1]],"noise":{"sigma_aa":0.1,"relink":0.1,"quantum":0.0}}}"#;
        fs::write(folder.path().join(FILE), old).unwrap();
        assert_eq!(load(folder.path(), "a", "w").unwrap(), None);
        keep(folder.path(), "a", calibration("w", 0.0002)).unwrap();
        assert_eq!(load(folder.path(), "a", "w").unwrap(), Some(Noise::new(0.0002, 0.0003)));
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.contains("\"sigma_aa\": 0.1"), "{text}");
    }
}
