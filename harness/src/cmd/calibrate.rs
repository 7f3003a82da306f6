//! `harness calibrate`: the spread between inert rebuilds, which a real gain has to exceed.

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Serialize;

use super::{Workshop, pick, print_json, runs};
use crate::data::calibration::{self, Calibration};
use crate::exit::{Exit, UsageError};
use crate::judge::inert;
use crate::judge::schedule::Schedule;
use crate::judge::statistics::Noise;
use crate::os::git::Repo;
use crate::real::build::Binary as Built;
use crate::real::measure::Fault;
use crate::real::measure::pairs::Server;

/// Seeds that every rebuild is counted on.
const SEEDS: usize = 3;

#[derive(Serialize)]
struct Report {
    fingerprint: String,
    #[serde(flatten)]
    calibration: Calibration,
}

pub fn run(repo: &Repo, name: Option<&str>, rebuilds: usize, json: bool) -> Result<Exit> {
    if rebuilds < 2 {
        bail!(UsageError("--rebuilds: a spread needs two or more".to_owned()));
    }
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, name)?;
    let commit = repo.head()?;
    let shop = Workshop::open(repo, run, &commit)?;
    let original = shop.build_here("the original")?.map_err(|reason| anyhow!(reason))?;
    let main = format!("{}/src/main.rs", run.candidate.path.display());
    let text = std::fs::read_to_string(shop.worktree.path().join(&main)).with_context(|| format!("reading {main}"))?;
    let mut built: Vec<Built> = Vec::new();
    for index in 0..rebuilds {
        shop.worktree.write(&main, inert::rebuild(&text, index).as_bytes())?;
        let rebuild = shop
            .build_here(&format!("inert rebuild {} of {rebuilds}", index + 1))?
            .map_err(|reason| anyhow!(reason))?;
        if rebuild.sha256 == original.sha256 || built.iter().any(|other| other.sha256 == rebuild.sha256) {
            bail!("inert rebuild {} is bit for bit another build: it would show a spread of nothing", index + 1);
        }
        built.push(rebuild);
    }
    shop.worktree.restore(&commit)?;

    let seeds: Vec<u64> = Schedule::new(0).calibration(SEEDS).iter().map(|turn| turn.seed).collect();
    let count = |built: &Built| -> Result<Vec<f64>> {
        match shop.bench().samples(Server { path: &built.path, sha256: &built.sha256 }, &seeds) {
            Ok(counted) => Ok(counted.iter().map(|counted| counted.sample.per_request()).collect()),
            Err(Fault::Own(error)) => Err(error),
            Err(Fault::Interrupted) => Err(super::Interrupted.into()),
            Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => Err(anyhow!(reason)),
        }
    };
    eprintln!("counting the original");
    let base = count(&original)?;
    let mut d = Vec::new();
    for (index, rebuild) in built.iter().enumerate() {
        eprintln!("counting inert rebuild {} of {rebuilds}", index + 1);
        d.push(
            count(rebuild)?
                .iter()
                .zip(&base)
                .map(|(rebuilt, original)| (original / rebuilt).ln())
                .collect::<Vec<f64>>(),
        );
    }
    let noise = Noise::from_rebuilds(&d).context("the rebuilds gave no finite spread")?;
    let report = Report {
        fingerprint: shop.fingerprint.clone(),
        calibration: Calibration { commit: commit.as_str().to_owned(), seeds, d, noise },
    };
    calibration::keep(&repo.root().join("history"), &report.fingerprint, report.calibration.clone())?;
    if json {
        print_json(&report)?;
    } else {
        println!("Inert rebuilds of {} ({}), gain over the original by seed:", commit.short(), report.fingerprint);
        for (index, row) in report.calibration.d.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|d| format!("{:+.4}%", d.exp_m1() * 100.0)).collect();
            println!("  rebuild {:<2} {}", index + 1, cells.join("  "));
        }
        println!(
            "  spread (1 sd) {:.4}%, largest mean {:.4}%: kept in history/calibration.json for runs that start from now on",
            noise.sigma_aa * 100.0,
            noise.relink * 100.0
        );
    }
    Ok(Exit::Done)
}
