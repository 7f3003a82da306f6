//! The emulated meter: server and load generator inside a small emulated Linux machine that counts every instruction,
//! exactly, on any host, without a hardware counter and without root.
//!
//! ```text
//! fetch     emulator and kernel, through the distribution's client (sources, kernel)
//! tools     PID 1, load generator and counter, built from this repository
//! snapshot  the machine after boot, made once (emulator, initramfs)
//! measure   snapshot + job -> counts and answer (counts, profile, verdict)
//! cases     snapshot + server -> what the contract's cases found there, uncounted
//! ```
//!
//! Who pays for what is decided in the machine (`harness/guest/src/machine.rs`): the server's CPU pays for the server's
//! instructions, for everything the kernel does on that CPU, and for receiving the server's packets.
//!
//! A block of code is counted when it is entered; one left early by a fault is counted whole. Iterations of repeated
//! string instructions are counted apart. Caches and locks are not modelled: an instruction is an instruction.

mod cases;
mod counts;
mod emulator;
mod fetch;
mod initramfs;
mod kernel;
mod profile;
mod selftest;
mod snapshot;
mod sources;
mod stacks;
mod tools;
mod verdict;

pub use cases::Network;

use super::Fault;
use crate::judge::profile::Stack;
use crate::judge::sample::Counted;
use anyhow::{Context, Result, anyhow};
use emulator::{Emulator, Ended, Parts};
use fetch::hex;
use profile::Symbols;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tools::Tools;
use vm_init::job::{self, Task};
use vm_init::{DATA_DIR, JOB_FILE, LOADGEN_PATH, PLAN_PATH, SERVER_PATH, answer};

/// Sections of a machine's answer: name and bytes.
type Sections = Vec<(String, Vec<u8>)>;

/// Host time a measurement may take. 5,000 requests take 2 s.
const HOST_LIMIT: Duration = Duration::from_secs(120);

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The server's static binary.
    pub server: &'a Path,
    /// Its data files, relative to the data folder.
    pub data: &'a [(PathBuf, Vec<u8>)],
    /// The load generator's plan.
    pub plan: &'a [u8],
    /// The seed of data and plan.
    pub seed: u64,
    /// Whether the server is held still while a wave of requests is written.
    pub gate: bool,
}

/// The emulated meter, ready: fetched, built, booted and tested.
#[derive(Debug)]
pub struct VmMeter {
    parts: Parts,
    netem: PathBuf,
    tools: Tools,
    snapshot: PathBuf,
    kernel: Symbols,
    cache: PathBuf,
    fingerprint: String,
    limit: Duration,
}

impl VmMeter {
    /// Gets everything ready that is not in `cache` yet: about a minute the first time, milliseconds later. `say` is
    /// told, in one line each, what takes long.
    pub fn prepare(repo_root: &Path, cache: &Path, say: &mut dyn FnMut(&str)) -> Result<VmMeter> {
        let cache = std::path::absolute(cache)?.join("vm");
        sweep(&cache);
        let fetched = fetch::fetch(&cache, say)?;
        let tools = tools::build(repo_root, &cache, say)?;
        let machine =
            identity(&[&fetched.manifest, &emulator::parameters(), &hex(&Sha256::digest(fs::read(&tools.init)?))]);
        let snapshot = cache.join(format!("snapshot-{}", &machine[..16]));
        let parts = Parts { root: fetched.root, kernel: fetched.kernel, initramfs: snapshot.join("initramfs") };
        if !snapshot.exists() {
            say("booting the emulated machine once and keeping its state (about 15 s)");
            make_snapshot(&parts, &tools, &cache, &snapshot)?;
        }
        let kernel = Symbols::kernel(&fs::read_to_string(snapshot.join("symbols"))?)?;
        let fingerprint = format!("vm-{}", &identity(&[&machine, &tools.hash])[..16]);
        let netem = fetched.netem;
        let meter = VmMeter { parts, netem, tools, snapshot, kernel, cache, fingerprint, limit: HOST_LIMIT };
        let passed = meter.cache.join(format!("passed-{}", meter.fingerprint));
        if !passed.exists() {
            say("testing that the emulated machine counts right");
            let figures = meter.self_test().context("the emulated machine failed its self-test and cannot be used")?;
            fs::write(&passed, figures)?;
        }
        Ok(meter)
    }

    /// Names everything a count depends on but the job: packages, kernel, tools, machine parameters.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    #[allow(dead_code, reason = "the end-to-end test in tests/vm.rs brings its own load generator")]
    /// The same meter with another load generator that speaks the same language; for tests of the meter itself.
    pub fn with_loadgen(mut self, loadgen: &Path) -> VmMeter {
        self.tools.loadgen = loadgen.to_owned();
        self
    }

    /// The same meter with another limit on host time for one measurement.
    pub fn with_limit(mut self, limit: Duration) -> VmMeter {
        self.limit = limit;
        self
    }

    #[allow(dead_code, reason = "the end-to-end test in tests/vm.rs makes a second cache")]
    /// Folders of the cache that hold no state of a booted machine; with them a second cache need not fetch and build.
    pub fn shared_parts(&self) -> [PathBuf; 2] {
        let folder = |file: &Path| file.parent().expect("lies in a folder of the cache").to_owned();
        [folder(&self.parts.kernel), folder(&self.tools.counter)]
    }

    /// Measures one job. May be called from several threads at once: each has its own folder and its own emulator, which
    /// is one thread and disturbs no other.
    pub fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Counted, Fault> {
        self.evidence(job, stop, |evidence| evidence.verdict())
    }

    /// Measures one job, and says in which function, inlined or not, every instruction of the window lies. The server's ELF
    /// must have line tables.
    pub fn stacks(&self, job: &Job, stop: &AtomicBool) -> Result<(Counted, Vec<Stack>), Fault> {
        self.evidence(job, stop, |evidence| Ok((evidence.verdict()?, evidence.stacks()?)))
    }

    fn evidence<T>(
        &self,
        job: &Job,
        stop: &AtomicBool,
        of: impl Fn(&verdict::Evidence<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let elf = read(job.server)?;
        let loadgen = read(&self.tools.loadgen)?;
        let mut data = Vec::new();
        for (name, contents) in job.data {
            let name = name.to_str().filter(|n| !n.starts_with('/') && !n.contains(".."));
            let name =
                name.ok_or_else(|| anyhow!("a data file's name is absolute, not UTF-8 or leaves the data folder"))?;
            data.push((format!("{DATA_DIR}/{name}"), contents));
        }
        let mut files = vec![
            job::File { path: SERVER_PATH, mode: 0o755, contents: profile::loaded_part(&elf) },
            job::File { path: LOADGEN_PATH, mode: 0o755, contents: profile::loaded_part(&loadgen) },
            job::File { path: PLAN_PATH, mode: 0o600, contents: job.plan },
        ];
        files.extend(data.iter().map(|(path, contents)| job::File { path, mode: 0o644, contents }));
        let input = job::Job { task: Task::Measure, gate: job.gate, files };
        let (sections, output) = self.count(&input, stop)?;
        let kernel = &self.kernel;
        of(&verdict::Evidence { seed: job.seed, sections: &sections, output: &output, elf: &elf, kernel })
    }

    /// Runs the self-test; its figures as text, or what was counted wrongly.
    fn self_test(&self) -> Result<String> {
        let job = job::Job { task: Task::SelfTest, gate: false, files: Vec::new() };
        match self.count(&job, &AtomicBool::new(false)) {
            Ok((sections, output)) => selftest::judge(&sections, &output),
            Err(Fault::Own(e)) => Err(e),
            Err(other) => Err(anyhow!("{other:?}")),
        }
    }

    /// Restores the snapshot, gives it the job, and returns what it said and counted.
    fn count(&self, job: &job::Job, stop: &AtomicBool) -> Result<(Sections, counts::Output), Fault> {
        let folder = self.folder()?;
        std::os::unix::fs::symlink(&self.tools.counter, folder.path().join("counter.so"))?;
        let sections = self.run(folder.path(), job, &["-plugin", "./counter.so,out=counts"], self.limit, stop)?;
        let counted = fs::read_to_string(folder.path().join("counts")).context("the counter left no counts")?;
        Ok((sections, counts::parse(&counted)?))
    }

    /// A folder for one machine.
    fn folder(&self) -> Result<tempfile::TempDir> {
        Ok(tempfile::Builder::new().prefix("running-").tempdir_in(&self.cache)?)
    }

    /// Restores the snapshot in `folder`, gives it the job, and returns what it said.
    fn run(
        &self,
        folder: &Path,
        job: &job::Job,
        extra: &[&str],
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Sections, Fault> {
        fs::write(folder.join("job"), job.encode())?;
        std::os::unix::fs::symlink(self.snapshot.join("state"), folder.join("state"))?;
        let input = format!("name={JOB_FILE},file=job");
        let extra = [&["-incoming", "file:state", "-fw_cfg", &input], extra].concat();
        let mut machine = Emulator::start(&self.parts, folder, &extra)?;
        match machine.wait(Instant::now() + limit, stop)? {
            Ended::Exited(0) => {}
            Ended::Exited(code) => {
                return Err(Fault::Own(anyhow!("the emulator ended with code {code}. {}", machine.last_words())));
            }
            Ended::Overtime => {
                return Err(Fault::Invalid(format!("the emulated machine did not end within {limit:?} of host time")));
            }
            Ended::Interrupted => return Err(Fault::Interrupted),
        }
        let said = fs::read(folder.join("answer")).context("the emulated machine left no answer")?;
        Ok(answer::sections(&said).map_err(|e| anyhow!("{e}. {}", machine.last_words()))?)
    }
}

fn make_snapshot(parts: &Parts, tools: &Tools, cache: &Path, place: &Path) -> Result<()> {
    let work = tempfile::Builder::new().prefix("booting-").tempdir_in(cache)?;
    let done = work.path().join("done");
    fs::create_dir(&done)?;
    let initramfs = done.join("initramfs");
    fs::write(&initramfs, initramfs::archive(&fs::read(&tools.init)?))?;
    let booting = Parts { initramfs, ..parts.clone() };
    snapshot::make(&booting, &done).context("cannot make the snapshot of the booted machine")?;
    if let Err(e) = fs::rename(&done, place)
        && !place.exists()
    {
        return Err(e).context("cannot keep the snapshot in the cache");
    }
    Ok(())
}

/// Removes working folders that a killed harness left behind; those of a running one are younger than a day.
fn sweep(cache: &Path) {
    const WORKING: [&str; 4] = ["running-", "fetching-", "building-", "booting-"];
    let day = Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let working = WORKING.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if working && age.is_some_and(|age| age > day) {
            // Whoever cannot remove it now can try again next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn identity(of: &[&str]) -> String {
    hex(&Sha256::digest(of.join("\n")))
}
