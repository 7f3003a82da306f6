//! Run definitions: the tables `[runs.NAME]` of runs.toml, written by hand. Every fault is answered with its place and
//! what to write instead. What a run does with them is elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::units;
use crate::judge::budget;
use crate::judge::decide::{By, Rule};

/// Where changes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposerKind {
    /// The knobs that the candidate declares.
    #[default]
    Tunables,
    /// A folder of patches, in the order of their names.
    Patches,
}

/// What counts instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeterKind {
    /// `perf` where the hardware counter passes its self-test, else `vm`.
    #[default]
    Auto,
    /// The hardware counter.
    Perf,
    /// The emulated machine.
    Vm,
}

/// Whether a run begins with a calibration where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationKind {
    /// Where this machine has none for this workload.
    #[default]
    Auto,
    /// Never; a spread that was not measured is assumed, and shown as such.
    Off,
}

/// How requests are laid out in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// All connections are written, then all are answered, then the next wave.
    #[default]
    Waves,
    /// Each connection goes on as soon as it is answered.
    ClosedLoop,
}

/// What the load generator sends. The names are its own; it checks what they allow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workload {
    /// Connections open at once.
    pub connections: u32,
    /// Requests in flight on each.
    pub pipelining: u32,
    /// Requests in the counted window.
    pub requests: u64,
    /// Requests before it: checked, not counted.
    pub warmup: u64,
    /// Their layout in time.
    pub schedule: ScheduleKind,
    /// Users in the data set.
    pub users: u32,
    /// Networks in the data set.
    pub networks: u32,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            connections: 64,
            pipelining: 8,
            requests: 5120,
            warmup: 1024,
            schedule: ScheduleKind::Waves,
            users: 2000,
            networks: 4000,
        }
    }
}

/// What a change must gain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Threshold {
    /// Score gain that promotes, as a fraction.
    #[serde(deserialize_with = "units::percent")]
    pub gain: f64,
    /// By what it must be cleared.
    pub by: By,
}

impl Default for Threshold {
    fn default() -> Self {
        Threshold { gain: 0.03, by: By::Interval }
    }
}

/// When a run has had enough; what is left out has no limit, but for the time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Attempts of the whole run, over all restarts.
    pub attempts: Option<u32>,
    /// Attempts in a row without a promotion.
    pub plateau: Option<u32>,
    /// Time of one start.
    #[serde(deserialize_with = "units::maybe_duration")]
    pub time: Option<Duration>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { attempts: None, plateau: None, time: Some(Duration::from_secs(8 * 3600)) }
    }
}

/// What a candidate may use up; each limit that is hit ends its attempt and says so.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Time to compile.
    #[serde(deserialize_with = "units::duration")]
    pub build: Duration,
    /// Time from start to listening.
    #[serde(deserialize_with = "units::duration")]
    pub start: Duration,
    /// Time for all cases of the contract, those in the emulated machine included.
    #[serde(deserialize_with = "units::duration")]
    pub validate: Duration,
    /// Time of one sample.
    #[serde(deserialize_with = "units::duration")]
    pub measure: Duration,
    /// Bytes kept of each log.
    #[serde(deserialize_with = "units::size")]
    pub log: u64,
    /// Bytes of memory.
    #[serde(deserialize_with = "units::size")]
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            build: Duration::from_secs(300),
            start: Duration::from_secs(10),
            validate: Duration::from_secs(120),
            measure: Duration::from_secs(120),
            log: 1 << 20,
            memory: 2 << 30,
            processes: 256,
        }
    }
}

/// The server under search.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Candidate {
    /// Its folder, relative to the repository's root: the only one a proposal may change.
    pub path: PathBuf,
    /// Its package; the binary has the same name.
    pub package: String,
    /// The file that declares its knobs, relative to the root.
    pub tunables: PathBuf,
}

impl Default for Candidate {
    fn default() -> Self {
        Candidate {
            path: "candidate".into(),
            package: "candidate".to_owned(),
            tunables: "candidate/src/tunables.rs".into(),
        }
    }
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// Where changes come from.
    pub proposer: ProposerKind,
    /// Folder of the patch queue, relative to the root; only for `patches`.
    pub patches: Option<PathBuf>,
    /// What the load generator sends.
    pub workload: Workload,
    /// What counts.
    pub meter: MeterKind,
    /// Whether inert rebuilds are measured first.
    pub calibration: CalibrationKind,
    /// What a change must gain.
    pub threshold: Threshold,
    /// When the run has had enough.
    pub budget: Budget,
    /// What a candidate may use up.
    pub limits: Limits,
    /// Seed of all seeds; drawn at the start (and recorded) when left out.
    pub seed: Option<u64>,
    /// The server under search.
    pub candidate: Candidate,
}

impl Run {
    /// The decision rule of this run. A meter whose counts vary gets more pairs a look.
    pub fn rule(&self, noisy_meter: bool) -> Rule {
        let rule = Rule { by: self.threshold.by, gain: self.threshold.gain, ..Rule::default() };
        if noisy_meter { rule.for_noisy_meter() } else { rule }
    }

    /// The limits of the search.
    pub fn budget(&self) -> budget::Budget {
        budget::Budget {
            attempts: self.budget.attempts,
            plateau: self.budget.plateau,
            seconds: self.budget.time.map(|time| time.as_secs_f64()),
        }
    }

    /// What its types cannot say.
    fn check(&self) -> Result<(), String> {
        if !(self.threshold.gain > 0.0 && self.threshold.gain <= 1.0) {
            return Err("threshold.gain must be above 0% and at most 100%".to_owned());
        }
        match (self.proposer, &self.patches) {
            (ProposerKind::Patches, None) => {
                return Err("the proposer \"patches\" needs its folder: write patches = \"patches\"".to_owned());
            }
            (ProposerKind::Tunables, Some(_)) => {
                return Err("patches = ... is only for proposer = \"patches\"".to_owned());
            }
            _ => {}
        }
        for (key, path) in [
            ("candidate.path", Some(&self.candidate.path)),
            ("candidate.tunables", Some(&self.candidate.tunables)),
            ("patches", self.patches.as_ref()),
        ] {
            let Some(path) = path else { continue };
            let plain = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if !plain || path.as_os_str().is_empty() {
                return Err(format!(
                    "{key} must be a path inside the repository, relative to its root, without \"..\": not {}",
                    path.display()
                ));
            }
        }
        if !self.candidate.tunables.starts_with(&self.candidate.path) {
            return Err("candidate.tunables must be inside candidate.path".to_owned());
        }
        let w = &self.workload;
        for (key, value) in [
            ("connections", u64::from(w.connections)),
            ("pipelining", u64::from(w.pipelining)),
            ("requests", w.requests),
            ("users", u64::from(w.users)),
            ("networks", u64::from(w.networks)),
        ] {
            if value == 0 {
                return Err(format!("workload.{key} must be at least 1"));
            }
        }
        Ok(())
    }
}

/// All runs of a runs.toml.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// By name.
    pub runs: BTreeMap<String, Run>,
    /// The file's text, as it was read.
    pub text: String,
    file: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    runs: BTreeMap<toml::Spanned<String>, Run>,
}

impl Runs {
    /// Read a runs.toml.
    ///
    /// # Errors
    /// `file:line:column: what is wrong; what to write`.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("reading the run definitions in {}: write one, or go to the repository's root", path.display())
        })?;
        Self::parse(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(), &text)
    }

    /// Parse the text of a runs.toml; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`Runs::load`].
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let at = |offset: usize, message: &str| {
            let before = &text[..offset.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            anyhow!("{file}:{line}:{column}: {message}")
        };
        let parsed: File = toml::from_str(text)
            .map_err(|error| at(error.span().map_or(0, |span| span.start), &explain(error.message())))?;
        if parsed.runs.is_empty() {
            bail!("{file}: no run is defined: write a table [runs.default]");
        }
        let mut runs = BTreeMap::new();
        for (name, run) in parsed.runs {
            let start = name.span().start;
            let name = name.into_inner();
            if name.is_empty()
                || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
                || name.starts_with('-')
            {
                return Err(at(
                    start,
                    &format!("the run name {name:?} may have letters, digits, - and _ only: it names a branch"),
                ));
            }
            run.check().map_err(|why| at(start, &format!("run {name}: {why}")))?;
            runs.insert(name, run);
        }
        Ok(Runs { runs, text: text.to_owned(), file: file.to_owned() })
    }

    /// The run of this name; without a name the one called `default`, else the only one.
    ///
    /// # Errors
    /// Names the runs there are.
    pub fn pick(&self, name: Option<&str>) -> Result<(&str, &Run)> {
        let names = || self.runs.keys().cloned().collect::<Vec<_>>().join(", ");
        let found = match name {
            Some(name) => match self.runs.get_key_value(name) {
                Some(found) => Some(found),
                None => {
                    let hint = closest(name, self.runs.keys().map(String::as_str))
                        .map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                    bail!("no run {name:?} in {}{hint} (there are: {})", self.file, names());
                }
            },
            None => {
                self.runs.get_key_value("default").or_else(|| self.runs.iter().next().filter(|_| self.runs.len() == 1))
            }
        };
        let found = found.map(|(name, run)| (name.as_str(), run));
        found.ok_or_else(|| anyhow!("which run? {} defines {}, and none is called default", self.file, names()))
    }

    /// SHA-256 of the text, hex.
    pub fn sha256(&self) -> String {
        super::durable::hex(&Sha256::digest(&self.text))
    }
}

/// serde names an unknown key and the known ones; add the one that was likely meant.
pub fn explain(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match quoted.next() {
        Some(wrong) if unknown => match closest(wrong, quoted) {
            Some(near) => format!("{message}; did you mean `{near}`?"),
            None => message.to_owned(),
        },
        _ => message.trim_end().replace('\n', "; "),
    }
}

fn closest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
