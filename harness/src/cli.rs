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
    ///
    /// On a machine with another fingerprint (meter, load generator or compiler) the counts are others too: then the run's
    /// baseline is built and measured beside it, and the gain over it is printed beside the recorded one.
    Replay(Replay),
    /// Measure inert rebuilds of the candidate: the spread that a real gain has to exceed, and the smallest gain provable
    ///
    /// The candidate is built again and again with something in it that nothing reads. What these builds differ by is no
    /// gain. The spread is kept in history/calibration.json by fingerprint and workload, after those made before it, and
    /// taken by runs that start from then on. `search` does this by itself where there is none yet.
    Calibrate {
        /// Run of runs.toml whose workload and meter to use
        run: Option<String>,
        /// How many inert rebuilds
        #[arg(long, default_value_t = 8, value_name = "N")]
        rebuilds: usize,
    },
    /// Where the instructions of a commit go: functions, the inlined ones resolved; a flame graph
    Profile(Profile),
    /// Measure two commits on the same seeds and say where the difference went: functions and system calls, adding up to it
    Diff(Diff),
    /// Measure commits of the candidate and any other servers beside each other: instructions per request, dearest functions
    Measure(Measure),
    /// Simulate whole searches whose truth is known, with the rule that judges real ones, beside what is claimed of it
    ///
    /// Changes that do nothing, changes that gain 5%, and a mix of changes are counted by a meter of known noise and judged.
    /// Beside it: what one draw against a fixed threshold would promote, and what dropping small gains forfeits. Nothing is
    /// built or measured. Exits with 3 if a change that does nothing was promoted.
    Simulate(Simulate),
    /// Check the ledger's hash chain, every verdict against its raw pairs, and all that the ledger says of this repository
    ///
    /// Read are branches, refs/attempts, promoted commits and their trailers, history/attempts and knowledge/. What
    /// contradicts the ledger is an objection (exit 3); what is only missing here, as in a clone, is a note.
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
    /// Do not measure inert rebuilds first where this machine has no calibration: take the usual spread, and say so
    #[arg(long)]
    pub no_calibration: bool,
}

/// Arguments of `simulate`.
#[derive(Debug, clap::Args)]
pub struct Simulate {
    /// Simulated runs of each row
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = positive)]
    pub runs: usize,
    /// Attempts in each run
    #[arg(long, default_value_t = 300, value_name = "N", value_parser = positive)]
    pub attempts: usize,
    /// Noise of a single count (one standard deviation), in percent
    #[arg(long, default_value = "0,0.1,0.5,1,2", value_name = "PERCENT,...", value_delimiter = ',', value_parser = percent)]
    pub noise: Vec<f64>,
    /// Where all draws come from: the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct Replay {
    /// Attempt number, or any revision git understands
    #[arg(value_name = "COMMIT|N", required_unless_present = "all_promoted")]
    pub target: Option<String>,
    /// Replay every promoted attempt in order, a row each
    #[arg(long, conflicts_with = "target")]
    pub all_promoted: bool,
    /// With --all-promoted: only those of this run
    #[arg(long, value_name = "NAME", requires = "all_promoted", conflicts_with = "target")]
    pub run: Option<String>,
    /// How many of the recorded seeds to measure again
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub seeds: usize,
}

/// Arguments of `profile`.
#[derive(Debug, clap::Args)]
pub struct Profile {
    /// Attempt number, or any revision git understands
    #[arg(value_name = "COMMIT|N", default_value = "HEAD")]
    pub target: String,
    /// Run of runs.toml whose workload and meter to use
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Seed of the data and the requests
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Functions to list
    #[arg(long, default_value_t = 25, value_name = "N")]
    pub functions: usize,
    /// Also write a flame graph here (SVG): each function with what was inlined into it; who calls whom is not known
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
}

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub struct Diff {
    /// The one before: attempt number, or any revision git understands
    #[arg(value_name = "COMMIT|N")]
    pub before: String,
    /// The one after
    #[arg(value_name = "COMMIT|N", default_value = "HEAD")]
    pub after: String,
    /// Run of runs.toml whose workload and meter to use
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Measure on so many seeds
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
    /// Functions to list; the others are summed up in a line
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub functions: usize,
}

/// Arguments of `measure`.
#[derive(Debug, clap::Args)]
pub struct Measure {
    /// Commits of the candidate [default: HEAD, unless there is a --binary]
    #[arg(value_name = "COMMIT")]
    pub commits: Vec<String>,
    /// A server that is built already, beside the commits: a static program, started as PATH --data DIR --port P
    #[arg(long = "binary", value_name = "NAME=PATH", value_parser = named)]
    pub binaries: Vec<Named>,
    /// Run of runs.toml whose workload and meter to use
    #[arg(long)]
    pub run: Option<String>,
    /// Change that workload: connections=16, mix.get=1 or the like, or a file of JSON with such keys
    #[arg(long, value_name = "KEY=VALUE|FILE")]
    pub workload: Vec<String>,
    /// Requests in flight on a connection; several for a table each [default: the workload's]
    #[arg(long = "depth", value_name = "N")]
    pub depths: Vec<u32>,
    /// Also send this one request again and again, on the data of the contract's fixture
    #[arg(long, value_name = "FILE", requires = "answers")]
    pub request: Option<PathBuf>,
    /// What must come back; with a name, that server answers this and knows nothing else. A `Date` may differ
    #[arg(long = "answer", value_name = "[NAME=]FILE", requires = "request")]
    pub answers: Vec<String>,
    /// Seed of the data and the requests
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Measure on so many seeds, counting up from that one
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Measure so many times on each seed
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub times: u64,
    /// Functions to list of each row [default: 20 where there is one row, else none]
    #[arg(long, value_name = "N")]
    pub functions: Option<usize>,
}

/// A file with a name to call it by.
#[derive(Clone, Debug)]
pub struct Named {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

fn named(text: &str) -> Result<Named, String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok(Named { name: name.to_owned(), path: path.into() })
        }
        _ => Err("write NAME=PATH: the name is what the server is called in the table".to_owned()),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a whole number above 0".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=50.0).contains(percent));
    number.ok_or_else(|| "write percents from 0 to 50, such as 0,0.1,1".to_owned())
}
