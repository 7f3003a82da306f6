//! Opening the lab: the ledger's lock, the meter, the run begun or taken up again. Everything that can be refused is
//! refused here, before anything is changed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use loadgen::workload::{Mix, Schedule as LoadSchedule, Workload};
use sha2::{Digest as _, Sha256};

use super::bank::Stack;
use super::build::Builder;
use super::calibrate::{Calibrating, REBUILDS};
use super::frozen::{Frozen, own_hash};
use super::lab::RealLab;
use super::measure::pairs::Bench;
use super::measure::samples::Samples;
use super::measure::vm::VmMeter;
use super::measure::{self, Meter};
use super::place::Place;
use crate::data::attempts::Attempts;
use crate::data::calibration;
use crate::data::definition::{self, Run, Runs, ScheduleKind};
use crate::data::durable::hex;
use crate::data::history::{self, Event, Start};
use crate::data::knowledge::Knowledge;
use crate::data::ledger::Ledger;
use crate::judge::schedule::Schedule;
use crate::judge::statistics::Noise;
use crate::os::git::{CommitId, Repo};
use crate::os::machine::free_disk;

/// What a search is opened with.
pub struct Opening<'a> {
    /// The repository.
    pub repo: Repo,
    /// All runs of runs.toml.
    pub runs: &'a Runs,
    /// Name of the run.
    pub name: &'a str,
    /// Its definition.
    pub run: &'a Run,
    /// Begin anew even if the run can be taken up again.
    pub fresh: bool,
    /// Whether a run that begins where there is no calibration makes one first.
    pub calibrate: bool,
    /// Set when the person wants to stop.
    pub stop: Arc<AtomicBool>,
    /// Told what takes long.
    pub say: Box<dyn FnMut(&str)>,
}

/// The load generator's workload for a definition.
///
/// # Errors
/// What it cannot make: with the field and what would do.
pub fn workload(of: &definition::Workload) -> Result<Workload> {
    let number =
        |name: &str, value: u64| u32::try_from(value).with_context(|| format!("workload.{name} is {value}, too many"));
    let workload = Workload {
        connections: of.connections,
        pipelining: of.pipelining,
        requests: number("requests", of.requests)?,
        warmup: number("warmup", of.warmup)?,
        schedule: match of.schedule {
            ScheduleKind::Waves => LoadSchedule::Waves,
            ScheduleKind::ClosedLoop => LoadSchedule::ClosedLoop,
        },
        users: of.users,
        networks: of.networks,
        mix: Mix::default(),
    };
    workload.validate().map_err(|why| anyhow::anyhow!("the workload in runs.toml: {why}"))?;
    Ok(workload)
}

/// The builder of a place, with a run's limits.
///
/// # Errors
/// When the cache cannot be written.
pub fn builder(place: &Place, run: &Run) -> Result<Builder> {
    let mut builder = Builder::new(&place.work)?;
    builder.limit = run.limits.build;
    builder.log_bytes = run.limits.log;
    Ok(builder)
}

/// The wanted meter, ready, and the fingerprint of all that counts depend on: meter and compiler.
///
/// # Errors
/// When it cannot be had.
pub fn meter(
    place: &Place,
    run: &Run,
    builder: &Builder,
    say: &mut dyn FnMut(&str),
) -> Result<(Box<dyn Meter>, String)> {
    let meter = measure::choose(run.meter, &place.root, &place.cache, &run.limits, say)?;
    let compiler = builder.compiler(&place.root)?;
    let fingerprint = format!("{}-{}", short(meter.fingerprint()), short(&hex(&Sha256::digest(compiler.as_bytes()))));
    Ok((meter, fingerprint))
}

/// The store of samples for this meter and workload.
///
/// # Errors
/// When the cache cannot be written.
pub fn samples(place: &Place, fingerprint: &str, workload: &Workload) -> Result<Samples> {
    Samples::open(&place.cache, fingerprint, &workload_hash(workload)?)
}

/// SHA-256 of a workload, hex.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn workload_hash(workload: &Workload) -> Result<String> {
    let text = serde_json::to_string(workload).context("writing the workload as JSON")?;
    Ok(hex(&Sha256::digest(text.as_bytes())))
}

fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

/// Open the lab and write the run's start (or its resumption) to the ledger.
///
/// # Errors
/// Whatever makes the run impossible, with what to do.
pub fn open(opening: Opening<'_>) -> Result<RealLab> {
    let Opening { repo, runs, name, run, fresh, calibrate, stop, mut say } = opening;
    let place = Place::of(repo.root())?;
    enough_disk(&place)?;
    repo.prune_worktrees()?;
    let workload = workload(&run.workload)?;
    let (mut ledger, torn) = Ledger::open(&place.history())?;
    torn.iter().for_each(|note| say(note));

    let builder = builder(&place, run)?;
    say("fetching the crates of Cargo.lock");
    builder.fetch(repo.root(), &place.work.join("fetch.log"), &stop)?;
    let (meter, fingerprint) = meter(&place, run, &builder, &mut say)?;
    let machine = VmMeter::prepare(&place.root, &place.cache, &mut say).map_err(|error| format!("{error:#}"));
    let rule = run.rule(!meter.is_exact());

    let earlier = history::run(ledger.contents().events(), name)
        .filter(|_| !fresh)
        .map(|view| (view.start.clone(), resolve(&repo, view.champion)));
    let branch = format!("search/{name}");
    let (start, champion) = match earlier {
        Some((start, champion)) => {
            let champion = champion?;
            same_terms(&start, runs, &fingerprint)?;
            same_tree(&repo, &start, &champion, run)?;
            ledger.append(Event::RunResumed {
                run: name.to_owned(),
                harness: own_hash()?,
                fingerprint: fingerprint.clone(),
            })?;
            (start, champion)
        }
        None => {
            let baseline = repo.head()?;
            let tip = repo.search_branch(name)?.map_or_else(String::new, |tip| format!(" ({})", tip.short()));
            repo.advance_search_branch(name, &baseline).with_context(|| {
                format!("{branch}{tip} holds what an earlier run promoted. Merge it into the checked-out branch to build on it, or rename or delete it to start from here")
            })?;
            let noise = match calibration::load(&place.history(), &fingerprint, &workload_hash(&workload)?)? {
                Some(noise) => noise,
                None if calibrate => {
                    let samples = samples(&place, &fingerprint, &workload)?;
                    let calibrating = Calibrating {
                        builder: &builder,
                        bench: Bench { meter: &*meter, workload: &workload, samples: Some(&samples), stop: &stop },
                        worktree: &repo.worktree(&place.worktree(), &baseline)?,
                        candidate: &run.candidate,
                        commit: &baseline,
                        workload: workload_hash(&workload)?,
                        log: &place.work.join("calibration.log"),
                        stop: &stop,
                    };
                    first_calibration(&calibrating, &place, &fingerprint, &mut say)?
                }
                None => {
                    say(&format!("noise: {}", Noise::UNCALIBRATED.words()));
                    Noise::UNCALIBRATED
                }
            };
            let start = Start {
                run: name.to_owned(),
                baseline: baseline.as_str().to_owned(),
                branch: branch.clone(),
                definition: runs.sha256(),
                definition_text: runs.text.clone(),
                harness: own_hash()?,
                meter: meter.name().to_owned(),
                fingerprint: fingerprint.clone(),
                seed: run.seed.map_or_else(drawn_seed, Ok)?,
                noise,
                rule: rule.clone(),
            };
            ledger.append(Event::RunStarted(Box::new(start.clone())))?;
            (start, baseline)
        }
    };
    let worktree = repo.worktree(&place.worktree(), &champion)?;
    Ok(RealLab {
        name: name.to_owned(),
        run: run.clone(),
        branch,
        baseline: resolve(&repo, &start.baseline)?,
        champion,
        worktree,
        attempts: Attempts::new(&place.history()),
        knowledge: Knowledge::new(&place.knowledge()),
        samples: samples(&place, &fingerprint, &workload)?,
        schedule: Schedule::new(start.seed),
        noise: start.noise,
        rule: start.rule,
        frozen: Frozen::take(repo.root())?,
        started: Instant::now(),
        champion_built: None,
        stack: Stack::default(),
        checks: None,
        challenger_built: None,
        refusal: None,
        shifts: Vec::new(),
        place,
        repo,
        ledger,
        builder,
        meter,
        machine,
        fingerprint,
        workload,
        stop,
        say,
    })
}

/// The spread on this machine, measured before the first run on it begins and kept for those that follow.
fn first_calibration(
    calibrating: &Calibrating<'_>,
    place: &Place,
    fingerprint: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Noise> {
    say(&format!(
        "no calibration of {fingerprint} under this workload yet: measuring {REBUILDS} inert rebuilds first, which takes minutes (--no-calibration goes without)"
    ));
    let calibration = calibrating.run(REBUILDS, say)?;
    let noise = calibration.noise;
    calibration::keep(&place.history(), fingerprint, calibration)?;
    say(&format!("calibrated: {}", noise.words()));
    Ok(noise)
}

fn resolve(repo: &Repo, commit: &str) -> Result<CommitId> {
    repo.resolve(commit)
        .with_context(|| format!("the ledger names commit {commit}, which this repository does not have"))
}

/// Builds, samples and logs of a night take less; with less than this it would end in the middle.
const LEAST_DISK: u64 = 1 << 30;

fn enough_disk(place: &Place) -> Result<()> {
    for folder in [&place.root, &place.cache] {
        if let Some(free) = free_disk(folder).filter(|free| *free < LEAST_DISK) {
            bail!(
                "{} MiB are free at {}, a search needs {}: free some, or move the cache with HARNESS_CACHE",
                free >> 20,
                folder.display(),
                LEAST_DISK >> 20
            );
        }
    }
    Ok(())
}

/// A run goes on only on the terms it began on: numbers from before and after must be comparable.
fn same_terms(start: &Start, runs: &Runs, fingerprint: &str) -> Result<()> {
    let mut changed = Vec::new();
    if start.definition != runs.sha256() {
        changed.push("runs.toml");
    }
    if start.fingerprint != fingerprint {
        changed.push("the meter, the load generator or the compiler");
    }
    if !changed.is_empty() {
        bail!(
            "run {} was begun on other terms: {} changed since. Put it back to go on, or begin a new run from the checked-out commit with --fresh (everything recorded stays)",
            start.run,
            changed.join(" and ")
        );
    }
    Ok(())
}

/// A run goes on only from its own baseline or champion, not from a candidate that somebody changed meanwhile.
fn same_tree(repo: &Repo, start: &Start, champion: &CommitId, run: &Run) -> Result<()> {
    let head = repo.head()?;
    let folder = format!("{}/", run.candidate.path.display());
    for known in [resolve(repo, &start.baseline)?, champion.clone()] {
        if !repo.changed_paths(&known, &head)?.iter().any(|path| path.starts_with(&folder)) {
            return Ok(());
        }
    }
    bail!(
        "run {} began from {} and its champion is {}, but the candidate of the checked-out commit {} is neither. Check one of them out to go on, or begin a new run from here with --fresh (everything recorded stays)",
        start.run,
        &start.baseline[..10.min(start.baseline.len())],
        champion.short(),
        head.short()
    )
}

/// A seed nobody chose, below 2^53 so that every reader of JSON keeps it whole.
fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 8];
    let mut random = std::fs::File::open("/dev/urandom").context("drawing the run's seed from /dev/urandom")?;
    std::io::Read::read_exact(&mut random, &mut bytes).context("drawing the run's seed from /dev/urandom")?;
    Ok(u64::from_le_bytes(bytes) >> 11)
}
