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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use git2::{Repository, Signature, Time};
    use loadgen::workload::Workload;

    use super::*;
    use crate::judge::sample::{Counted, Load as Fate, Sample, Side};
    use crate::os::git::Repo;
    use crate::real::measure::{Load, Meter};

    /// Counts the bytes of the server's file, and stops the person's search at a sample.
    struct Scale {
        taken: AtomicUsize,
        stop_at: usize,
    }

    impl Meter for Scale {
        fn name(&self) -> &'static str {
            "scale"
        }

        fn fingerprint(&self) -> &str {
            "scale"
        }

        fn is_exact(&self) -> bool {
            true
        }

        fn lanes(&self) -> usize {
            1
        }

        fn measure(&self, server: &Path, load: &Load, stop: &Arc<AtomicBool>) -> Result<Counted, Fault> {
            if self.taken.fetch_add(1, Ordering::SeqCst) == self.stop_at {
                stop.store(true, Ordering::SeqCst);
                return Err(Fault::Interrupted);
            }
            let user = std::fs::metadata(server)?.len();
            let fate = Fate { sent: 1, verified: 1, wrong: 0, lost: 0 };
            let sample = Sample { seed: load.seed, user, kernel: 0, load: fate, side: Side::default() };
            Ok(Counted { sample, profile: Vec::new() })
        }
    }

    /// Calibrate a server of a few lines with two rebuilds; the answer, what was said, and what its worktree then holds.
    fn calibrate(stop_at: usize) -> (Result<Calibration>, Vec<String>, String) {
        const MAIN: &str = "fn main() {}\n";
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        let git = Repository::init(&root).unwrap();
        let manifest = "[package]\nname = \"web\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let files = [
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"web\"]\n"),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"web\"\nversion = \"0.1.0\"\n"),
            ("web/Cargo.toml", manifest),
            ("web/src/main.rs", MAIN),
        ];
        let mut index = git.index().unwrap();
        for (path, text) in files {
            let full = root.join(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, text).unwrap();
            index.add_path(Path::new(path)).unwrap();
        }
        let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
        let who = Signature::new("Test", "test@example.org", &Time::new(1_772_404_200, 0)).unwrap();
        git.commit(Some("HEAD"), &who, &who, "first", &tree, &[]).unwrap();

        let repo = Repo::open(&root).unwrap();
        let commit = repo.head().unwrap();
        let worktree = repo.worktree(&folder.path().join("tree"), &commit).unwrap();
        let (meter, stop) = (Scale { taken: AtomicUsize::new(0), stop_at }, Arc::new(AtomicBool::new(false)));
        let workload = Workload { requests: 512, warmup: 512, ..Workload::default() };
        let candidate = Candidate { path: "web".into(), package: "web".into(), tunables: "web/t.rs".into() };
        let calibrating = Calibrating {
            builder: &Builder::new(&folder.path().join("cache")).unwrap(),
            bench: Bench { meter: &meter, workload: &workload, samples: None, stop: &stop },
            worktree: &worktree,
            candidate: &candidate,
            commit: &commit,
            workload: "w".into(),
            log: &folder.path().join("log"),
            stop: &stop,
        };
        let mut said = Vec::new();
        let done = calibrating.run(2, &mut |line| said.push(line.to_owned()));
        (done, said, std::fs::read_to_string(worktree.path().join("web/src/main.rs")).unwrap())
    }

    #[test]
    fn each_rebuild_is_counted_against_the_original_and_the_worktree_is_as_it_was() {
        let (done, said, main) = calibrate(usize::MAX);
        let calibration = done.unwrap();
        assert_eq!((calibration.d.len(), calibration.seeds.len()), (2, SEEDS));
        // What nothing reads is in the file, so each rebuild weighs more than the original.
        assert!(calibration.d.iter().flatten().all(|d| *d < 0.0), "{calibration:?}");
        assert_eq!(Some(calibration.noise), Noise::from_rebuilds(&calibration.d));
        assert_eq!((calibration.workload.as_deref(), main.as_str()), (Some("w"), "fn main() {}\n"));
        assert!(said.iter().any(|line| line == "calibrating: building inert rebuild 2 of 2"), "{said:?}");
    }

    #[test]
    fn a_stop_ends_it_as_interrupted_and_leaves_the_worktree_as_it_was() {
        let (done, _, main) = calibrate(4);
        assert!(done.unwrap_err().is::<Interrupted>());
        assert_eq!(main, "fn main() {}\n");
    }
}
