//! Arguments and what is printed for them. stdout is data, stderr is for people.

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use loadgen::cases::{CaseFilter, CommandServer, Splits, StartServer};
use loadgen::dataset::{DataSet, fixture};
use loadgen::drive::{Marks, Options, Window, drive};
use loadgen::plan::Plan;
use loadgen::report::Report;
use loadgen::workload::{Schedule, Workload};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Loads an auth server and checks every byte it answers.
///
/// A seed decides the data set and the plan: the same seed gives the same bytes, another seed fresh users, tokens and
/// requests. Exit code 0: every answer right; 1: wrong or lost answers, or failed cases; 2: bad usage or a failure of
/// the load generator itself.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Example: make data, start a server, load it, check it, all in one go:\n  loadgen run --server target/release/candidate --seed 7"
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
        /// Data folder to write (default with --server: a temporary one)
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        #[command(flatten)]
        how: How,
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

/// What decides data and plan.
#[derive(Debug, Args)]
struct Made {
    /// Decides all data, requests and answers
    #[arg(long)]
    seed: u64,
    /// A workload as JSON; flags below override it
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Connections, all open at once [default: 64]
    #[arg(long)]
    connections: Option<u32>,
    /// Requests in flight on a connection [default: 8]
    #[arg(long)]
    pipelining: Option<u32>,
    /// Requests in the window [default: 5120]
    #[arg(long)]
    requests: Option<u32>,
    /// Requests before it, checked as well [default: 1024]
    #[arg(long)]
    warmup: Option<u32>,
    /// How requests are let go [default: waves]
    #[arg(long)]
    schedule: Option<Pace>,
    /// Users in the data set [default: 2000]
    #[arg(long)]
    users: Option<u32>,
    /// Network rows in the data set [default: 4000]
    #[arg(long)]
    networks: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Pace {
    /// All connections at once, then wait for all
    Waves,
    /// Each connection goes on as its answers come
    ClosedLoop,
}

/// How to drive.
#[derive(Debug, Args)]
struct How {
    /// A process to stop (SIGSTOP) while each wave is written and let go (SIGCONT) after it: the server's
    #[arg(long, value_name = "PID")]
    gate: Option<u32>,
    /// Execute the marks by which an emulated machine finds the window
    #[arg(long)]
    marks: bool,
    /// The server's process, to report its wake-ups and memory
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Seconds without any answer after which what is missing is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
    /// Print the report as JSON on stdout
    #[arg(long)]
    json: bool,
}

impl Made {
    fn workload(&self) -> anyhow::Result<Workload> {
        let mut workload = match &self.workload {
            None => Workload::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the workload {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| format!("{} is no workload", path.display()))?
            }
        };
        let fields = [
            (self.connections, &mut workload.connections),
            (self.pipelining, &mut workload.pipelining),
            (self.requests, &mut workload.requests),
            (self.warmup, &mut workload.warmup),
            (self.users, &mut workload.users),
            (self.networks, &mut workload.networks),
        ];
        for (given, field) in fields {
            *field = given.unwrap_or(*field);
        }
        if let Some(pace) = self.schedule {
            workload.schedule = match pace {
                Pace::Waves => Schedule::Waves,
                Pace::ClosedLoop => Schedule::ClosedLoop,
            };
        }
        workload.validate().map_err(|why| anyhow::anyhow!("the workload cannot be: {why}"))?;
        Ok(workload)
    }
}

impl Cli {
    /// Does what was asked. False if answers were wrong.
    pub fn run(self) -> anyhow::Result<bool> {
        match self.verb {
            Verb::Data { made, out } => {
                let data = DataSet::generate(made.seed, &made.workload()?);
                data.write(&out)?;
                eprintln!("{}: {} users, {} networks", out.display(), data.users.len(), data.blocks.len());
                Ok(true)
            }
            Verb::Plan { made, out } => {
                let workload = made.workload()?;
                let plan = Plan::make(made.seed, &workload, &DataSet::generate(made.seed, &workload));
                let bytes = plan.encode();
                std::fs::write(&out, &bytes).with_context(|| format!("cannot write {}", out.display()))?;
                eprintln!("{}: {} requests, {} KiB", out.display(), plan.len(), bytes.len() / 1024);
                Ok(true)
            }
            Verb::Drive { plan, addr, how } => {
                let bytes = std::fs::read(&plan).with_context(|| format!("cannot read the plan {}", plan.display()))?;
                let read = Plan::decode(&bytes).with_context(|| plan.display().to_string())?;
                drop(bytes);
                how.drive(&read, addr, how.gate, how.server_pid)
            }
            Verb::Run { made, whom, gated, data, how } => {
                let workload = made.workload()?;
                let set = DataSet::generate(made.seed, &workload);
                let plan = Plan::make(made.seed, &workload, &set);
                match (whom.addr, whom.server) {
                    (Some(addr), _) => {
                        if let Some(folder) = data {
                            set.write(&folder)?;
                        }
                        how.drive(&plan, addr, how.gate, how.server_pid)
                    }
                    (None, Some(server)) => how.run(&plan, &set, &server, gated, data.as_deref()),
                    (None, None) => unreachable!("clap asks for one of them"),
                }
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

impl How {
    fn drive(&self, plan: &Plan, addr: SocketAddr, gate: Option<u32>, server_pid: Option<u32>) -> anyhow::Result<bool> {
        let timeout =
            Duration::try_from_secs_f64(self.timeout).context("--timeout must be a positive number of seconds")?;
        let window = self.marks.then_some(&Marks as &dyn Window);
        let options = Options { gate, window, server_pid, timeout, stop: None };
        let report = drive(plan, addr, &options)?;
        self.print(&report)?;
        Ok(report.clean())
    }

    fn run(&self, plan: &Plan, set: &DataSet, server: &Path, gated: bool, data: Option<&Path>) -> anyhow::Result<bool> {
        let own = tempfile::tempdir().context("cannot make a temporary folder")?;
        let folder = data.unwrap_or(own.path());
        set.write(folder)?;
        let running = CommandServer::new(server).start(folder)?;
        let pid = running.pid();
        self.drive(plan, running.addr(), if gated { Some(pid) } else { self.gate }, Some(pid))
    }

    fn print(&self, report: &Report) -> anyhow::Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(report)?);
        } else {
            println!("{}", report.summary());
        }
        for error in &report.errors {
            eprintln!(
                "{}: {} ({}, round {}, connection {}, request {})\n  request  {}\n  expected {}\n  got      {}",
                error.part,
                error.what,
                error.kind,
                error.round,
                error.connection,
                error.position,
                error.request,
                error.expected,
                error.got
            );
        }
        if report.unasked > 0 {
            eprintln!("{} connections were closed, or written to, though no request on them was open", report.unasked);
        }
        Ok(())
    }
}
