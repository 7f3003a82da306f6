//! The command line. What each verb does is in `cmd/`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Searches, one change at a time, for what makes a server cost fewer instructions per request.
///
/// The candidate server is built, every byte of its answers is checked, and the instructions (user and kernel) that a
/// request costs are counted, against the champion on the same seeds. A commit that is provably more than 3% better is
/// promoted to the branch `search/<run>`; everything tried is kept in history/ and knowledge/.
#[derive(Debug, Parser)]
#[command(name = "harness", version, after_help = crate::exit::HELP)]
pub struct Cli {
    /// The repository to work in [default: the one around this folder]
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Print the report as JSON on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Search until plateau, budget, time or Ctrl-C; the same command goes on where it stopped
    Search(Search),
    /// The attempts, one row each
    Log {
        /// Only this run of runs.toml
        #[arg(long, value_name = "NAME")]
        run: Option<String>,
    },
    /// One attempt whole: hypothesis, diff, checks, samples, interval, the functions that changed most
    Show {
        /// Attempt number
        #[arg(value_name = "N")]
        attempt: u32,
    },
    /// Build a commit again, measure it on the recorded seeds, and say whether the numbers come out the same
    Replay(Replay),
    /// Measure inert rebuilds of the candidate: the spread that a real gain has to exceed
    Calibrate {
        /// Run of runs.toml whose workload and meter to use
        run: Option<String>,
        /// How many inert rebuilds
        #[arg(long, default_value_t = 8, value_name = "N")]
        rebuilds: usize,
    },
    /// Measure one commit of the candidate and print instructions per request and the dearest functions
    Measure(Measure),
    /// Check the ledger's hash chain and compute every verdict again from its raw pairs
    Verify,
}

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
pub struct Search {
    /// Run of runs.toml [default: the one named `default`, or the only one]
    pub run: Option<String>,
    /// Stop at this time of day, local time (the next 07:00, tomorrow's if it has passed)
    #[arg(long, value_name = "HH:MM")]
    pub until: Option<String>,
    /// Stop after so many attempts of the run
    #[arg(long, value_name = "N")]
    pub attempts: Option<u32>,
    /// Stop after so many attempts in a row without a promotion
    #[arg(long, value_name = "N")]
    pub plateau: Option<u32>,
    /// Leave the run recorded so far alone and begin a new one from the checked-out commit
    #[arg(long)]
    pub fresh: bool,
}

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct Replay {
    /// Attempt number, or any revision git understands
    #[arg(value_name = "COMMIT|N")]
    pub target: String,
    /// How many of the recorded seeds to measure again
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub seeds: usize,
}

/// Arguments of `measure`.
#[derive(Debug, clap::Args)]
pub struct Measure {
    /// Commit of the candidate [default: HEAD]
    pub commit: Option<String>,
    /// Run of runs.toml whose workload and meter to use
    #[arg(long)]
    pub run: Option<String>,
    /// Seed of the data and the requests
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Measure so many times
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub times: usize,
    /// Functions to list
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub functions: usize,
}
