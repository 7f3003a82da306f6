//! One file a verb: each gathers what its verb needs, calls the layer that does it, and prints.

mod calibrate;
mod diff;
mod log;
mod measure;
mod profile;
mod replay;
mod search;
mod show;
mod simulate;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use loadgen::workload::Workload;
use serde::Serialize;

use crate::cli::{Cli, Verb};
use crate::data::definition::{Run, Runs};
use crate::exit::{Exit, UsageError};
use crate::os::git::{CommitId, Repo, Worktree};
use crate::os::signals;
pub use crate::real::Interrupted;
use crate::real::build::{Binary as Built, Build, Builder};
use crate::real::measure::Meter;
use crate::real::measure::pairs::Bench;
use crate::real::open;
use crate::real::place::Place;

/// Do what the command line says.
///
/// # Errors
/// With what was tried and what to do; a [`UsageError`] in the chain means the command line or runs.toml.
pub fn run(cli: &Cli) -> Result<Exit> {
    let here = cli.repo.clone().map_or_else(std::env::current_dir, Ok).context("the current folder")?;
    let repo = Repo::open(&here)?;
    match &cli.verb {
        Verb::Search(args) => search::run(repo, args, cli.json),
        Verb::Log { run } => log::run(&repo, run.as_deref(), cli.json),
        Verb::Show { attempt } => show::run(&repo, *attempt, cli.json),
        Verb::Replay(args) => replay::run(&repo, args, cli.json),
        Verb::Calibrate { run, rebuilds } => calibrate::run(&repo, run.as_deref(), *rebuilds, cli.json),
        Verb::Profile(args) => profile::run(&repo, args, cli.json),
        Verb::Diff(args) => diff::run(&repo, args, cli.json),
        Verb::Measure(args) => measure::run(&repo, args, cli.json),
        Verb::Simulate(args) => simulate::run(args, cli.json),
        Verb::Verify => verify::run(&repo, cli.json),
    }
}

/// runs.toml of this repository.
fn runs(repo: &Repo) -> Result<Runs> {
    Runs::load(&repo.root().join("runs.toml")).map_err(|error| UsageError(format!("{error:#}")).into())
}

/// The wanted run of it.
fn pick<'a>(runs: &'a Runs, name: Option<&str>) -> Result<(&'a str, &'a Run)> {
    runs.pick(name).map_err(|error| UsageError(format!("{error:#}")).into())
}

fn print_json(value: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value).context("writing the report as JSON")?);
    Ok(())
}

fn say(line: &str) {
    eprintln!("{line}");
}

/// What the verbs share that build and count single commits outside a search.
struct Workshop {
    place: Place,
    package: String,
    builder: Builder,
    meter: Box<dyn Meter>,
    fingerprint: String,
    workload: Workload,
    worktree: Worktree,
    stop: Arc<AtomicBool>,
}

impl Workshop {
    /// Get ready to build and count commits of this run's candidate. It has its own worktree, so that it can be used
    /// while a search is under way.
    fn open(repo: &Repo, run: &Run, commit: &CommitId) -> Result<Self> {
        let stop = signals::install().context("watching for Ctrl-C")?;
        let mut place = Place::of(repo.root())?;
        place.work = place.work.join("workshop");
        let workload = open::workload(&run.workload).map_err(|error| UsageError(format!("{error:#}")))?;
        let builder = open::builder(&place, run)?;
        builder.fetch(repo.root(), &place.work.join("fetch.log"), &stop)?;
        let (meter, fingerprint) = open::meter(&place, run, &builder, &mut say)?;
        let worktree = repo.worktree(&place.worktree(), commit)?;
        Ok(Workshop {
            package: run.candidate.package.clone(),
            place,
            builder,
            meter,
            fingerprint,
            workload,
            worktree,
            stop,
        })
    }

    /// Build what the worktree holds now.
    fn build_here(&self, what: &str) -> Result<Result<Built, String>> {
        self.build_by(&self.builder, what)
    }

    /// The same by another builder.
    fn build_by(&self, builder: &Builder, what: &str) -> Result<Result<Built, String>> {
        let log = self.log();
        eprintln!("building {what}");
        Ok(match builder.build(self.worktree.path(), &self.package, &log, &self.stop)? {
            Build::Built(built) => Ok(built),
            Build::Failed(reason) => {
                Err(format!("{what} does not build: {reason}. The whole log is {}", log.display()))
            }
            Build::TimedOut(limit) => Err(format!("the build of {what} took longer than {limit:?} (limits.build)")),
            Build::Interrupted => return Err(Interrupted.into()),
        })
    }

    fn log(&self) -> PathBuf {
        self.place.work.join("build.log")
    }

    /// Counts anew, without kept samples.
    fn bench(&self) -> Bench<'_> {
        Bench { meter: &*self.meter, workload: &self.workload, samples: None, stop: &self.stop }
    }
}
