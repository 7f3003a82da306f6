//! `harness calibrate`: the spread between inert rebuilds, and the smallest gain that can be proven in spite of it.

use anyhow::{Result, bail};
use serde::Serialize;

use super::{Workshop, pick, print_json, runs};
use crate::data::calibration::{self, Calibration};
use crate::exit::{Exit, UsageError};
use crate::judge::provable::{self, Provable};
use crate::os::git::Repo;
use crate::out::calibrated;
use crate::real::calibrate::Calibrating;
use crate::real::open;

#[derive(Serialize)]
struct Report {
    fingerprint: String,
    #[serde(flatten)]
    calibration: Calibration,
    /// What each look of the run's rule can prove at this spread.
    provable: Vec<Provable>,
    /// Earlier ones of this fingerprint and workload, oldest first; still in history/calibration.json.
    earlier: Vec<Calibration>,
}

pub fn run(repo: &Repo, name: Option<&str>, rebuilds: usize, json: bool) -> Result<Exit> {
    if rebuilds < 2 {
        bail!(UsageError("--rebuilds: a spread needs two or more".to_owned()));
    }
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, name)?;
    let commit = repo.head()?;
    let shop = Workshop::open(repo, run, &commit)?;
    let workload = open::workload_hash(&shop.workload)?;
    let calibrating = Calibrating {
        builder: &shop.builder,
        bench: shop.bench(),
        worktree: &shop.worktree,
        candidate: &run.candidate,
        commit: &commit,
        workload: workload.clone(),
        log: &shop.log(),
        stop: &shop.stop,
    };
    let calibration = calibrating.run(rebuilds, &mut super::say)?;
    let history = repo.root().join("history");
    let report = Report {
        fingerprint: shop.fingerprint.clone(),
        provable: provable::looks(&run.rule(!shop.meter.is_exact()), &calibration.noise),
        earlier: calibration::known(&history, &shop.fingerprint, &workload)?,
        calibration,
    };
    calibration::keep(&history, &report.fingerprint, report.calibration.clone())?;
    if json {
        print_json(&report)?;
        return Ok(Exit::Done);
    }
    println!("Inert rebuilds of {} ({}), gain over the original by seed:", commit.short(), report.fingerprint);
    print!("{}", calibrated::rebuilds(&report.calibration.d));
    print!("{}", calibrated::spread(&report.calibration.noise));
    for earlier in &report.earlier {
        let when = earlier.time.map_or_else(String::new, |time| format!(" at {time:.0}"));
        print!("  before{when}, {}", calibrated::spread(&earlier.noise).trim_start());
    }
    print!("{}", calibrated::provable(&report.provable, run.threshold.gain));
    println!("  kept in history/calibration.json for runs of this workload that start from now on");
    Ok(Exit::Done)
}
