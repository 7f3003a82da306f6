//! What one measurement is: the sample, its load ledger, its profile, and the pair that a verdict is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What happened to the requests of one window. `sent = verified + wrong + lost` when the window is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Requests written to a socket.
    pub sent: u64,
    /// Answers whose every byte was the expected one.
    pub verified: u64,
    /// Answers with at least one wrong byte.
    pub wrong: u64,
    /// Requests that got no complete answer.
    pub lost: u64,
}

/// Figures beside the count: `None` where this meter cannot see them, never 0 for "unknown".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Times the server's CPU left its idle loop or its poll call in the window.
    pub wakeups: Option<u64>,
    /// Largest resident set of the server, KiB.
    pub peak_rss_kib: Option<u64>,
    /// Iterations of `rep`-prefixed string instructions on the server's CPU, counted apart from instructions.
    pub rep_iterations: Option<u64>,
    /// Instructions (user, kernel) on the load generator's CPU in the same window.
    pub load_cpu: Option<(u64, u64)>,
    /// System calls on the server's CPU by name, those of the whole window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<BTreeMap<String, u64>>,
    /// Times the server's CPU went from one task to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Page faults on the server's CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<u64>,
}

/// One counted window: instructions retired on the server's CPUs between the two marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seed of the data set and the requests.
    pub seed: u64,
    /// Instructions in user mode.
    pub user: u64,
    /// Instructions in kernel mode.
    pub kernel: u64,
    /// Fate of the window's requests.
    pub load: Load,
    /// Figures beside the count.
    pub side: Side,
}

impl Sample {
    /// Instructions (user + kernel) per verified request. NaN-free: a window without a verified request is infinite.
    pub fn per_request(&self) -> f64 {
        if self.load.verified == 0 {
            return f64::INFINITY;
        }
        (self.user + self.kernel) as f64 / self.load.verified as f64
    }

    /// User-mode instructions per verified request.
    pub fn user_per_request(&self) -> f64 {
        self.user as f64 / self.load.verified as f64
    }

    /// Kernel-mode instructions per verified request.
    pub fn kernel_per_request(&self) -> f64 {
        self.kernel as f64 / self.load.verified as f64
    }
}

/// Where a function's instructions were retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The server's own code.
    User,
    /// The kernel, on the server's CPUs.
    Kernel,
}

/// The exact cost of one function in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCost {
    /// Demangled name, without the hash.
    pub name: String,
    /// User or kernel.
    pub mode: Mode,
    /// Instructions in the whole window.
    pub instructions: u64,
}

/// A sample with the profile of the same window, where the meter makes one (sorted, dearest first).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The sample.
    pub sample: Sample,
    /// Instructions per function; empty where the meter has no profile.
    pub profile: Vec<FunctionCost>,
}

/// Champion and challenger measured on the same seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The champion's sample.
    pub champion: Sample,
    /// The challenger's sample.
    pub challenger: Sample,
}

impl Pair {
    /// `d = ln(I_champion / I_challenger)`: positive when the challenger needs fewer instructions.
    pub fn d(&self) -> f64 {
        (self.champion.per_request() / self.challenger.per_request()).ln()
    }
}
