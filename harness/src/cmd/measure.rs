//! `harness measure [COMMIT]...`: commits and given binaries beside each other, and where the instructions go.

use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail};
use loadgen::workload::Workload;

use super::{Interrupted, Workshop, pick, print_json, runs};
use crate::cli::{self, Named};
use crate::data::definition::Run;
use crate::exit::{Exit, UsageError};
use crate::os::git::{CommitId, Repo};
use crate::out::measured::{self, Block, Report, Row};
use crate::real::measure::{Fault, Load, pairs};
use crate::real::{given, open, workload};

/// A server to be counted.
struct Subject {
    name: String,
    origin: Origin,
    /// Whether it is asked what the contract says.
    contract: bool,
    /// What it answers to the constant request; not asked that without.
    answer: Option<Vec<u8>>,
}

enum Origin {
    Commit(CommitId),
    /// A file, and its SHA-256.
    File(std::path::PathBuf, String),
}

/// What the command line asks for, read and found possible. Nothing is built yet.
struct Asked {
    subjects: Vec<Subject>,
    workloads: Vec<Workload>,
    request: Option<Vec<u8>>,
}

pub fn run(repo: &Repo, args: &cli::Measure, json: bool) -> Result<Exit> {
    let runs = runs(repo)?;
    let (_, run) = pick(&runs, args.run.as_deref())?;
    let asked = Asked::read(repo, run, args).map_err(|error| UsageError(format!("{error:#}")))?;
    let head = repo.head()?;
    let first = asked.subjects.iter().find_map(|subject| match &subject.origin {
        Origin::Commit(commit) => Some(commit),
        Origin::File(..) => None,
    });
    let shop = Workshop::open(repo, run, first.unwrap_or(&head))?;
    let mut report = Report {
        meter: shop.meter.name().to_owned(),
        fingerprint: shop.fingerprint.clone(),
        servers: Vec::new(),
        blocks: Vec::new(),
    };
    let mut paths = Vec::new();
    for subject in &asked.subjects {
        let (commit, path, sha256) = subject.build(&shop)?;
        paths.push(path);
        report.servers.push(measured::Server { name: subject.name.clone(), commit, sha256 });
    }
    let mut counting = asked.blocks();
    for _ in 0..args.times {
        for seed in (0..args.seeds).map(|n| args.seed.wrapping_add(n)) {
            for counting in &mut counting {
                // Seeds make no difference to a constant request, and an exact meter none between two counts of it.
                if seed == args.seed || !counting.constant || !shop.meter.is_exact() {
                    counting.count(&asked, &shop, &paths, seed)?;
                }
            }
        }
    }
    report.blocks = counting.into_iter().map(|counting| counting.block).collect();
    report.blocks.iter_mut().for_each(Block::sum_up);
    if json {
        print_json(&report)?;
    } else {
        print!("{}", measured::table(&report));
        functions(&report, args.functions);
    }
    let at_fault = report.blocks.iter().flat_map(|block| &block.rows).filter(|row| row.per_request.is_none()).count();
    if at_fault > 0 {
        bail!("{at_fault} of the rows have no count; each says why");
    }
    Ok(Exit::Done)
}

/// A single row is looked into; of several only when asked.
fn functions(report: &Report, wanted: Option<usize>) {
    let rows = || report.blocks.iter().flat_map(|block| block.rows.iter().map(move |row| (block, row)));
    let most = wanted.unwrap_or(if rows().count() == 1 { 20 } else { 0 });
    for (block, row) in rows() {
        let text = row.samples.last().map_or(String::new(), |counted| measured::functions(counted, most));
        if !text.is_empty() {
            print!("\n{} ({}, depth {})\n{text}", row.server, block.workload, block.depth);
        }
    }
}

impl Asked {
    fn read(repo: &Repo, run: &Run, args: &cli::Measure) -> Result<Asked> {
        let mut subjects = Vec::new();
        let head = "HEAD".to_owned();
        let only_head = std::slice::from_ref(&head);
        let commits = if args.commits.is_empty() && args.binaries.is_empty() { only_head } else { &args.commits };
        for revision in commits {
            let origin = Origin::Commit(repo.resolve(revision)?);
            subjects.push(Subject { name: revision.clone(), origin, contract: true, answer: None });
        }
        for Named { name, path } in &args.binaries {
            let origin = Origin::File(path.clone(), given::server(path).context("--binary")?);
            subjects.push(Subject { name: name.clone(), origin, contract: true, answer: None });
        }
        for (index, subject) in subjects.iter().enumerate() {
            if subjects[..index].iter().any(|other| other.name == subject.name) {
                bail!("two servers are called {}: give each a name of its own", subject.name);
            }
        }
        answers(&mut subjects, &args.answers)?;
        let base = workload::changed(&open::workload(&run.workload)?, &args.workload).context("--workload")?;
        let depths = if args.depths.is_empty() { vec![base.pipelining] } else { args.depths.clone() };
        let deep = |pipelining: u32| {
            let workload = Workload { pipelining, ..base.clone() };
            workload.validate().map_err(|why| anyhow!("the workload at depth {pipelining}: {why}"))?;
            Ok(workload)
        };
        let workloads = depths.into_iter().map(deep).collect::<Result<Vec<_>>>()?;
        let request = args.request.as_deref().map(read).transpose()?;
        let asked = Asked { subjects, workloads, request };
        for (subject, workload) in asked.subjects.iter().flat_map(|s| asked.workloads.iter().map(move |w| (s, w))) {
            if subject.answer.is_some() {
                asked
                    .load(subject, workload, true, args.seed)
                    .with_context(|| format!("the answer of {}", subject.name))?;
            }
        }
        Ok(asked)
    }

    /// Which rows there are to be: a block a depth and kind of load, in it the servers that can be asked.
    fn blocks(&self) -> Vec<Counting> {
        let kinds = [(false, "the contract's requests"), (true, "one request, one answer")];
        let all = kinds.into_iter().flat_map(|kind| self.workloads.iter().map(move |workload| (kind, workload)));
        all.filter_map(|((constant, words), workload)| {
            let able = |subject: &Subject| if constant { subject.answer.is_some() } else { subject.contract };
            let members: Vec<usize> = (0..self.subjects.len()).filter(|&index| able(&self.subjects[index])).collect();
            let rows = members.iter().map(|&index| Row::new(&self.subjects[index].name)).collect();
            let block = Block { workload: words.to_owned(), depth: workload.pipelining, rows };
            (!members.is_empty()).then(|| Counting { constant, workload: workload.clone(), members, block })
        })
        .collect()
    }

    fn load(&self, subject: &Subject, workload: &Workload, constant: bool, seed: u64) -> Result<Load> {
        match (&self.request, &subject.answer) {
            (Some(request), Some(answer)) if constant => Load::constant(workload, seed, request, answer),
            _ => Ok(Load::make(workload, seed)),
        }
    }
}

/// Gives each server its answer to the constant request. One with an answer of its own knows nothing else.
fn answers(subjects: &mut [Subject], given: &[String]) -> Result<()> {
    for text in given {
        match text.split_once('=') {
            None => {
                let answer = read(text.as_ref())?;
                subjects.iter_mut().filter(|subject| subject.contract).for_each(|s| s.answer = Some(answer.clone()));
            }
            Some((name, path)) => {
                let names = || subjects.iter().map(|subject| subject.name.as_str()).collect::<Vec<_>>().join(", ");
                let at = subjects.iter().position(|subject| subject.name == name);
                let at = at
                    .with_context(|| format!("--answer {text}: no server is called {name} (there are: {})", names()))?;
                subjects[at].answer = Some(read(path.as_ref())?);
                subjects[at].contract = false;
            }
        }
    }
    Ok(())
}

fn read(path: &std::path::Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

impl Subject {
    /// Its commit, its file and the file's SHA-256.
    fn build(&self, shop: &Workshop) -> Result<(Option<String>, std::path::PathBuf, String)> {
        match &self.origin {
            Origin::File(path, sha256) => Ok((None, path.clone(), sha256.clone())),
            Origin::Commit(commit) => {
                shop.worktree.restore(commit)?;
                let built =
                    shop.build_here(&format!("commit {}", commit.short()))?.map_err(|reason| anyhow!(reason))?;
                Ok((Some(commit.as_str().to_owned()), built.path, built.sha256))
            }
        }
    }
}

/// A block that is being filled.
struct Counting {
    constant: bool,
    workload: Workload,
    /// The servers of the rows, by index.
    members: Vec<usize>,
    block: Block,
}

impl Counting {
    /// One more sample for each row that is not at fault.
    fn count(&mut self, asked: &Asked, shop: &Workshop, paths: &[std::path::PathBuf], seed: u64) -> Result<()> {
        for (row, &member) in self.block.rows.iter_mut().zip(&self.members) {
            if row.fault.is_some() {
                continue;
            }
            let load = asked.load(&asked.subjects[member], &self.workload, self.constant, seed)?;
            let began = Instant::now();
            let said = match pairs::sample(&*shop.meter, &paths[member], &load, &shop.stop) {
                Ok(counted) => {
                    let seconds = began.elapsed().as_secs_f64();
                    let line = measured::line(&counted, seconds);
                    row.samples.push(counted);
                    row.seconds.push(seconds);
                    line
                }
                Err(Fault::Own(error)) => return Err(error),
                Err(Fault::Interrupted) => return Err(Interrupted.into()),
                Err(Fault::Invalid(reason)) => row.fault.insert(format!("invalid: {reason}")).clone(),
                Err(Fault::Unsound(reason)) => row.fault.insert(format!("unsound: {reason}")).clone(),
            };
            eprintln!("{} ({}, depth {}): {said}", row.server, self.block.workload, self.block.depth);
        }
        Ok(())
    }
}
