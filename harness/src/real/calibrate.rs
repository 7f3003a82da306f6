//! The spread between inert rebuilds of a commit, which a real gain has to exceed: built, counted, and summed up. Where it
//! is kept and who asks for it is elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};

use super::Interrupted;
use super::build::{Binary, Build, Builder};
use super::measure::Fault;
use super::measure::pairs::{Bench, Server};
use crate::data::calibration::Calibration;
use crate::data::definition::Candidate;
use crate::judge::inert;
use crate::judge::schedule::Schedule;
use crate::judge::statistics::Noise;
use crate::os::git::{CommitId, Worktree};

/// Inert rebuilds of one calibration, unless more or fewer are asked for.
pub const REBUILDS: usize = 8;

/// Seeds that every rebuild is counted on.
const SEEDS: usize = 3;

/// All that a calibration is made with.
pub struct Calibrating<'a> {
    /// Builds.
    pub builder: &'a Builder,
    /// Counts.
    pub bench: Bench<'a>,
    /// Where the rebuilds are written; at the commit when it is over, however it ends but by a crash.
    pub worktree: &'a Worktree,
    /// The server: `src/main.rs` in its folder is what the rebuilds add to.
    pub candidate: &'a Candidate,
    /// The commit.
    pub commit: &'a CommitId,
    /// SHA-256 of the workload, hex.
    pub workload: String,
    /// Log of the build under way.
    pub log: &'a Path,
    /// Set when the person wants to stop.
    pub stop: &'a Arc<AtomicBool>,
}

impl Calibrating<'_> {
    /// Build `rebuilds` inert rebuilds and count each, and the original, on the calibration's seeds.
    ///
    /// # Errors
    /// [`Interrupted`] when asked to stop; else what does not build or cannot be counted.
    pub fn run(&self, rebuilds: usize, say: &mut dyn FnMut(&str)) -> Result<Calibration> {
        self.worktree.restore(self.commit)?;
        let done = self.rebuild_and_count(rebuilds, say);
        self.worktree.restore(self.commit)?;
        done
    }

    fn rebuild_and_count(&self, rebuilds: usize, say: &mut dyn FnMut(&str)) -> Result<Calibration> {
        let original = self.build("the original", say)?;
        let main = format!("{}/src/main.rs", self.candidate.path.display());
        let text = std::fs::read_to_string(self.worktree.path().join(&main)).with_context(|| {
            format!("reading {main}, which inert rebuilds add to (calibration = \"off\" goes without)")
        })?;
        let mut built: Vec<Binary> = Vec::new();
        for index in 0..rebuilds {
            self.worktree.write(&main, inert::rebuild(&text, index).as_bytes())?;
            let rebuild = self.build(&format!("inert rebuild {} of {rebuilds}", index + 1), say)?;
            if rebuild.sha256 == original.sha256 || built.iter().any(|other| other.sha256 == rebuild.sha256) {
                bail!("inert rebuild {} is bit for bit another build: it would show a spread of nothing", index + 1);
            }
            built.push(rebuild);
        }
        let seeds: Vec<u64> = Schedule::new(0).calibration(SEEDS).iter().map(|turn| turn.seed).collect();
        say(&format!("calibrating: counting the original on {SEEDS} seeds"));
        let base = self.count(&original, &seeds)?;
        let mut d = Vec::new();
        for (index, rebuild) in built.iter().enumerate() {
            say(&format!("calibrating: counting inert rebuild {} of {rebuilds}", index + 1));
            let counts = self.count(rebuild, &seeds)?;
            d.push(counts.iter().zip(&base).map(|(rebuilt, original)| (original / rebuilt).ln()).collect());
        }
        let noise = Noise::from_rebuilds(&d).context("the rebuilds gave no finite spread")?;
        let (commit, workload) = (self.commit.as_str().to_owned(), Some(self.workload.clone()));
        Ok(Calibration { time: Some(jiff::Timestamp::now()), commit, workload, seeds, d, noise })
    }

    fn build(&self, what: &str, say: &mut dyn FnMut(&str)) -> Result<Binary> {
        say(&format!("calibrating: building {what}"));
        match self.builder.build(self.worktree.path(), &self.candidate.package, self.log, self.stop)? {
            Build::Built(built) => Ok(built),
            Build::Interrupted => Err(Interrupted.into()),
            Build::Failed(reason) => {
                Err(anyhow!("{what} does not build: {reason}. The whole log is {}", self.log.display()))
            }
            Build::TimedOut(limit) => Err(anyhow!("the build of {what} took longer than {limit:?} (limits.build)")),
        }
    }

    /// Instructions per request, seed by seed.
    fn count(&self, built: &Binary, seeds: &[u64]) -> Result<Vec<f64>> {
        match self.bench.samples(Server { path: &built.path, sha256: &built.sha256 }, seeds) {
            Ok(counted) => Ok(counted.iter().map(|counted| counted.sample.per_request()).collect()),
            Err(Fault::Own(error)) => Err(error),
            Err(Fault::Interrupted) => Err(Interrupted.into()),
            Err(Fault::Invalid(reason) | Fault::Unsound(reason)) => Err(anyhow!(reason)),
        }
    }
}
