//! The meters behind one trait, and the choice between them. How each counts is in its own folder.

mod emulated;
mod fault;
pub mod pairs;
pub mod perf;
pub mod samples;
pub mod tree_hash;
pub mod vm;

pub use fault::Fault;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Error, Result, bail};
use loadgen::dataset::{DataSet, fixture};
use loadgen::plan::Plan;
use loadgen::workload::{Schedule, Workload};

use crate::data::definition::{Limits, MeterKind};
use crate::judge::profile::Stack;
use crate::judge::sample::Counted;

/// What is sent to the server, all of it a function of (workload, seed).
pub struct Load {
    /// The seed.
    pub seed: u64,
    /// Files of the data folder.
    pub data: Vec<(PathBuf, Vec<u8>)>,
    /// Requests and expected answers.
    pub plan: Plan,
    /// Whether the server is held still while a wave is written, where the meter can do that: the saturated server, its
    /// batches a function of the plan.
    pub gate: bool,
}

impl Load {
    /// Make data set and plan.
    pub fn make(workload: &Workload, seed: u64) -> Load {
        let set = DataSet::generate(seed, workload);
        let plan = Plan::make(seed, workload, &set);
        Load { seed, data: set.files(), plan, gate: workload.schedule == Schedule::Waves }
    }

    /// One request again and again, with one answer, on the data of the contract's fixture.
    ///
    /// # Errors
    /// What is wrong with the request or the answer.
    pub fn constant(workload: &Workload, seed: u64, request: &[u8], answer: &[u8]) -> Result<Load> {
        let plan = Plan::constant(seed, workload, request, answer).map_err(Error::msg)?;
        Ok(Load { seed, data: fixture().files(), plan, gate: workload.schedule == Schedule::Waves })
    }

    /// Write the data files below this folder.
    ///
    /// # Errors
    /// Names the file.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for (name, bytes) in &self.data {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
            std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }
}

/// Counts the instructions of a server under a load.
pub trait Meter: Send + Sync {
    /// `perf` or `vm`.
    fn name(&self) -> &'static str;
    /// All that a count depends on beside server and load.
    fn fingerprint(&self) -> &str;
    /// Does the same server under the same load always give the same number?
    fn is_exact(&self) -> bool;
    /// How many measurements may run side by side without disturbing each other.
    fn lanes(&self) -> usize;
    /// One sample, by a fresh process of the server.
    fn measure(&self, server: &Path, load: &Load, stop: &Arc<AtomicBool>) -> std::result::Result<Counted, Fault>;
    /// One sample of a server with line tables, and in which functions its instructions lie; `None` where the meter cannot
    /// tell.
    fn stacks(
        &self,
        _server: &Path,
        _load: &Load,
        _stop: &Arc<AtomicBool>,
    ) -> std::result::Result<Option<(Counted, Vec<Stack>)>, Fault> {
        Ok(None)
    }
}

/// Get the wanted meter ready. `auto` takes the hardware counter where it passes its self-test, else the emulated
/// machine, and says which error made it so.
///
/// # Errors
/// When the wanted meter cannot be had: what was tried and what to install or set.
pub fn choose(
    choice: MeterKind,
    root: &Path,
    cache: &Path,
    limits: &Limits,
    say: &mut dyn FnMut(&str),
) -> Result<Box<dyn Meter>> {
    let vm = |say: &mut dyn FnMut(&str)| -> Result<Box<dyn Meter>> {
        let meter = vm::VmMeter::prepare(root, cache, say).context("the emulated machine is not ready")?;
        Ok(Box::new(meter.with_limit(limits.measure)))
    };
    match choice {
        MeterKind::Vm => vm(say),
        MeterKind::Perf => match perf::native::Native::prepare(limits) {
            Ok(meter) => Ok(Box::new(meter)),
            Err(error) => bail!(
                "the hardware counter cannot be used: {error}. Set meter = \"vm\" in runs.toml to count in the emulated machine"
            ),
        },
        MeterKind::Auto => match perf::native::Native::prepare(limits) {
            Ok(meter) => Ok(Box::new(meter)),
            Err(error) => {
                say(&format!("meter: vm (no hardware counter: {error})"));
                vm(say)
            }
        },
    }
}
