//! `harness measure [COMMIT]`: one commit's instructions per request, and where they go.

use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use serde::Serialize;

use super::{Workshop, pick, print_json, runs};
use crate::cli;
use crate::exit::{Exit, UsageError};
use crate::judge::sample::{Counted, Mode};
use crate::os::git::Repo;
use crate::out::format::{clip, count};
use crate::real::measure::Fault;
use crate::real::measure::pairs::Server;

#[derive(Serialize)]
struct Report {
    commit: String,
    binary: String,
    meter: String,
    fingerprint: String,
    samples: Vec<Counted>,
    seconds: Vec<f64>,
}

pub fn run(repo: &Repo, args: &cli::Measure, json: bool) -> Result<Exit> {
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, args.run.as_deref())?;
    let commit = args.commit.as_deref().unwrap_or("HEAD");
    let commit = repo.resolve(commit).map_err(|error| UsageError(error.to_string()))?;
    let shop = Workshop::open(repo, run, &commit)?;
    let built = shop.build_here(&format!("commit {}", commit.short()))?.map_err(|reason| anyhow!(reason))?;
    let mut report = Report {
        commit: commit.as_str().to_owned(),
        binary: built.sha256.clone(),
        meter: shop.meter.name().to_owned(),
        fingerprint: shop.fingerprint.clone(),
        samples: Vec::new(),
        seconds: Vec::new(),
    };
    for time in 1..=args.times.max(1) {
        let began = Instant::now();
        let server = Server { path: &built.path, sha256: &built.sha256 };
        match shop.bench().samples(server, &[args.seed]) {
            Ok(counted) => report.samples.extend(counted),
            Err(Fault::Own(error)) => return Err(error),
            Err(Fault::Interrupted) => return Err(super::Interrupted.into()),
            Err(Fault::Invalid(reason)) => bail!("the candidate is not valid: {reason}"),
            Err(Fault::Unsound(reason)) => bail!("the count is not sound: {reason}"),
        }
        report.seconds.push(began.elapsed().as_secs_f64());
        if !json {
            row(time, &report.samples[time - 1], report.seconds[time - 1]);
        }
    }
    if json {
        print_json(&report)?;
    } else if let Some(last) = report.samples.last() {
        functions(last, args.functions);
    }
    Ok(Exit::Done)
}

fn row(time: usize, counted: &Counted, seconds: f64) {
    let sample = &counted.sample;
    let wakeups = sample
        .side
        .wakeups
        .map_or("-".to_owned(), |wakeups| format!("{:.2}", sample.load.verified as f64 / wakeups.max(1) as f64));
    println!(
        "{time:>3}  {} user + {} kernel instructions for {} requests = {} a request ({} + {}), {wakeups} requests a wake-up, {seconds:.1} s",
        count(sample.user as f64),
        count(sample.kernel as f64),
        count(sample.load.verified as f64),
        count(sample.per_request()),
        count(sample.user_per_request()),
        count(sample.kernel_per_request()),
    );
}

fn functions(counted: &Counted, most: usize) {
    if counted.profile.is_empty() || most == 0 {
        return;
    }
    println!("\n  instr/req  share  function");
    let total = (counted.sample.user + counted.sample.kernel) as f64;
    for cost in counted.profile.iter().take(most) {
        let kernel = if cost.mode == Mode::Kernel { " [kernel]" } else { "" };
        let instructions = cost.instructions as f64;
        println!(
            "  {:>9.1}  {:>4.1}%  {}{kernel}",
            instructions / counted.sample.load.verified as f64,
            100.0 * instructions / total,
            clip(&cost.name, 90)
        );
    }
}
