//! Arguments and what is printed for them. stdout is data, stderr is for people.

mod how;
mod made;
mod ticker;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use how::{How, Sharing};
use loadgen::cases::{CaseFilter, CommandServer, Splits, StartServer};
use loadgen::dataset::{DataSet, fixture};
use loadgen::plan::Plan;
use loadgen::storm::{Check, Shape, storm};
use made::Made;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ticker::Ticker;

/// Loads an auth server and checks every byte it answers.
///
/// A seed decides the data set and the plan: the same seed gives the same bytes, another seed fresh users, tokens and
/// requests. Exit code 0: every answer right; 1: wrong or lost answers, a run that was stopped, or failed cases or
/// storms; 2: bad usage or a failure of the load generator itself.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example: make data, start a server, load it, check it, all in one go:\n  loadgen run --server target/release/candidate --seed 7\n\nThe same at full load, with a score:\n  loadgen run --server target/release/candidate --seed 7 --preset contest"
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the data set of a seed: users.jsonl and the two GeoLite2-City CSV files
    Data {
        #[command(flatten)]
        made: Made,
        /// Folder to write into
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Write the plan of a seed: every request and its exact answer
    Plan {
        #[command(flatten)]
        made: Made,
        /// File to write
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Send a plan to a server that has just loaded the plan's data
    Drive {
        /// A file that `loadgen plan` wrote
        #[arg(long, value_name = "FILE")]
        plan: PathBuf,
        /// Where the server listens
        #[arg(long, value_name = "ADDR:PORT")]
        addr: SocketAddr,
        #[command(flatten)]
        how: How,
    },
    /// Make a plan and drive it in one go
    #[command(
        after_help = "With --server a data set is made, the server started on a free port with `--data DIR --port P`, driven and \
                            stopped. With --addr the server must be running, fresh, on that seed's data; --data writes it first if missing."
    )]
    Run {
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        whom: Whom,
        /// Stop the started server while a wave is written, so that it finds the wave complete
        #[arg(long, requires = "server")]
        gated: bool,
        /// Who runs on which cores; on a single one both share it
        #[arg(long, value_enum, default_value_t = Sharing::Split, conflicts_with = "addr")]
        cores: Sharing,
        /// Data folder to write (default with --server: a temporary one)
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Let storms loose on a server: resets in mid-answer, no descriptors, slow heads; nothing may crash, leak or starve
    Storm {
        /// A server's program, started as `PATH --data DIR --port P`
        #[arg(long, value_name = "PATH")]
        server: PathBuf,
        /// Decides data and requests
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Storms of resets
        #[arg(long, default_value_t = Shape::default().storms, value_parser = at_least_two)]
        storms: usize,
        /// Connections reset in each
        #[arg(long, default_value_t = Shape::default().connections)]
        connections: usize,
        /// Slow heads at once, in each of two storms
        #[arg(long, default_value_t = Shape::default().slow)]
        slow: usize,
        /// Bytes of each slow head, one a second
        #[arg(long, value_name = "SECONDS", default_value_t = Shape::default().seconds)]
        seconds: u64,
        /// Print the report as JSON on stdout
        #[arg(long)]
        json: bool,
    },
    /// Run the contract's numbered cases against servers started for them
    Cases {
        /// A server's program, started as `PATH --data DIR --port P`
        #[arg(long, value_name = "PATH")]
        server: PathBuf,
        /// Only these, such as 34,36-40
        #[arg(long, value_name = "NUMBERS", default_value = "", hide_default_value = true)]
        filter: String,
        /// Also cases that take more than five seconds
        #[arg(long)]
        slow: bool,
        /// How often each request is sent again in pieces and in pipelines
        #[arg(long, value_enum, default_value_t = Cuts::Some)]
        splits: Cuts,
        /// Decides which pieces and pipelines `some` are
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Print the report as JSON on stdout
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Cuts {
    /// Requests are sent whole and alone only
    None,
    /// Cut after a few bytes that the seed chooses, byte by byte, and behind other requests
    Some,
    /// Cut after every byte as well
    All,
}

/// Which server.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whom {
    /// Where a server listens that has loaded this seed's data
    #[arg(long, value_name = "ADDR:PORT")]
    addr: Option<SocketAddr>,
    /// A server's program to start
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

impl Cli {
    /// Does what was asked. False if answers were wrong.
    pub fn run(self) -> anyhow::Result<bool> {
        match self.verb {
            Verb::Data { made, out } => {
                let data = made.data()?;
                data.write(&out)?;
                eprintln!("{}: {} users, {} networks", out.display(), data.users.len(), data.blocks.len());
                Ok(true)
            }
            Verb::Plan { made, out } => {
                let (_, plan) = load(&made)?;
                let bytes = plan.encode();
                std::fs::write(&out, &bytes).with_context(|| format!("cannot write {}", out.display()))?;
                eprintln!("{}: {} requests, {} KiB", out.display(), plan.len(), bytes.len() / 1024);
                Ok(true)
            }
            Verb::Drive { plan, addr, how } => {
                let bytes = std::fs::read(&plan).with_context(|| format!("cannot read the plan {}", plan.display()))?;
                let read = Plan::decode(&bytes).with_context(|| plan.display().to_string())?;
                drop(bytes);
                how.drive(&read, addr, false)
            }
            Verb::Run { made, whom, gated, cores, data, how } => {
                let load = load(&made)?;
                match (whom.addr, whom.server) {
                    (Some(addr), _) => {
                        if let Some(folder) = data {
                            load.0.write(&folder)?;
                        }
                        how.drive(&load.1, addr, made.attack())
                    }
                    (None, Some(server)) => how.run(&load, &server, gated, cores, data.as_deref(), made.attack()),
                    (None, None) => unreachable!("clap asks for one of them"),
                }
            }
            Verb::Storm { server, seed, storms: times, connections, slow, seconds, json } => {
                let shape = Shape { storms: times, connections, slow, seconds, ..Shape::default() };
                storms(seed, &server, shape, json)
            }
            Verb::Cases { server, filter, slow, splits, seed, json } => {
                let splits = match splits {
                    Cuts::None => Splits::None,
                    Cuts::Some => Splits::Some(seed),
                    Cuts::All => Splits::All,
                };
                let filter = CaseFilter {
                    slow,
                    splits,
                    ..CaseFilter::parse(&filter).map_err(|why| anyhow::anyhow!("--filter: {why}"))?
                };
                cases(&server, &filter, json)
            }
        }
    }
}

/// Data set and plan; large ones take a while.
fn load(made: &Made) -> anyhow::Result<(DataSet, Plan)> {
    let _ticker = Ticker::start("making data and plan", 0, Arc::default());
    made.load()
}

fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number >= 2 => Ok(number),
        _ => Err("write a number from 2 on: one storm shows no growth".into()),
    }
}

fn cases(server: &Path, filter: &CaseFilter, json: bool) -> anyhow::Result<bool> {
    let server = CommandServer::new(server);
    // A program that cannot start is this call's fault, not 400 failed cases.
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    fixture().write(folder.path())?;
    drop(server.start(folder.path())?);
    let mut say = |line: &str| {
        if line.ends_with("FAILED") {
            eprintln!("{line}");
        }
    };
    let report = loadgen::cases::run(&server, filter, &mut say);
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        for case in &report.failed {
            println!(
                "{} {}\n  sent     {}\n  expected {}\n  got      {}",
                case.number, case.name, case.sent, case.expected, case.got
            );
        }
        println!(
            "{} passed, {} failed, {} left out; {} exchanges in pieces or pipelines; {:.1} s",
            report.passed,
            report.failed.len(),
            report.left_out,
            report.in_other_forms,
            report.seconds
        );
    }
    if report.passed + report.failed.len() == 0 {
        anyhow::bail!("no case has such a number");
    }
    Ok(report.failed.is_empty())
}

fn storms(seed: u64, server: &Path, shape: Shape, json: bool) -> anyhow::Result<bool> {
    let ticker = Ticker::start("storms", 0, Arc::default());
    let mut say = |check: &Check| {
        if !json {
            println!("{:<6} {}: {}", if check.holds { "holds" } else { "FAILED" }, check.name, check.saw);
        }
    };
    let stop = how::stop()?;
    let report = storm(seed, &CommandServer::new(server), shape, &stop, &mut say)?;
    drop(ticker);
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        let failed = report.checks.iter().filter(|check| !check.holds).count();
        println!("{} checks, {failed} failed, {:.1} s", report.checks.len(), report.seconds);
    }
    Ok(report.holds())
}
