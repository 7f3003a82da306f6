//! The emulated machine as a meter of the search.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::vm::{Job, VmMeter};
use super::{Fault, Load, Meter};
use crate::judge::profile::Stack;
use crate::judge::sample::Counted;

impl Meter for VmMeter {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn fingerprint(&self) -> &str {
        self.fingerprint()
    }

    fn is_exact(&self) -> bool {
        true
    }

    /// An emulator is one thread: as many side by side as there are CPUs.
    fn lanes(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    fn measure(&self, server: &Path, load: &Load, stop: &Arc<AtomicBool>) -> Result<Counted, Fault> {
        let job = Job { server, data: &load.data, plan: &load.plan.encode(), seed: load.seed, gate: load.gate };
        self.measure(&job, stop)
    }

    fn stacks(
        &self,
        server: &Path,
        load: &Load,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<(Counted, Vec<Stack>)>, Fault> {
        let job = Job { server, data: &load.data, plan: &load.plan.encode(), seed: load.seed, gate: load.gate };
        self.stacks(&job, stop).map(Some)
    }
}
