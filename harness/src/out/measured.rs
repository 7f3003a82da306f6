//! `harness measure`: servers beside each other, workload by workload, and the dearest functions of one.

use std::fmt::Write as _;

use serde::Serialize;

use super::format::{clip, count, short};
use crate::judge::sample::{Counted, Mode};

/// A server that was counted.
#[derive(Clone, Debug, Serialize)]
pub struct Server {
    /// What it is called on the command line.
    pub name: String,
    /// The commit it was built from; `None` where it was given as a file.
    pub commit: Option<String>,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// One server under one workload.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The server's name.
    pub server: String,
    /// All samples, in the order they were taken.
    pub samples: Vec<Counted>,
    /// Seconds each took.
    pub seconds: Vec<f64>,
    /// Why there is no count, where there is none.
    pub fault: Option<String>,
    /// Mean instructions per verified request.
    pub per_request: Option<PerRequest>,
    /// That total over the first row's of the block.
    pub ratio: Option<f64>,
}

/// Instructions per verified request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PerRequest {
    /// User and kernel together.
    pub total: f64,
    /// In user mode.
    pub user: f64,
    /// In kernel mode.
    pub kernel: f64,
    /// Largest minus smallest total of the samples, over their mean.
    pub spread: f64,
}

/// All rows of one workload.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// The workload in words.
    pub workload: String,
    /// Requests in flight on a connection.
    pub depth: u32,
    /// Its rows, in the order of the servers.
    pub rows: Vec<Row>,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What counted.
    pub meter: String,
    /// All that the counts depend on beside servers and loads.
    pub fingerprint: String,
    /// The servers.
    pub servers: Vec<Server>,
    /// Workload by workload.
    pub blocks: Vec<Block>,
}

impl Row {
    /// A row without a sample yet.
    pub fn new(server: &str) -> Row {
        let server = server.to_owned();
        Row { server, samples: Vec::new(), seconds: Vec::new(), fault: None, per_request: None, ratio: None }
    }

    /// A server that was once found at fault has no mean: what it answered rightly before says nothing.
    fn mean(&self) -> Option<PerRequest> {
        let samples = || self.samples.iter().map(|counted| &counted.sample);
        if self.fault.is_some() || self.samples.is_empty() {
            return None;
        }
        let mean = |of: &dyn Fn(&Counted) -> f64| self.samples.iter().map(of).sum::<f64>() / self.samples.len() as f64;
        let (user, kernel) = (mean(&|c| c.sample.user_per_request()), mean(&|c| c.sample.kernel_per_request()));
        let (low, high) = samples()
            .map(|sample| sample.per_request())
            .fold((f64::INFINITY, 0_f64), |(low, high), next| (low.min(next), high.max(next)));
        let total = user + kernel;
        Some(PerRequest { total, user, kernel, spread: (high - low) / total })
    }

    /// Requests the server took at a wake-up, over all samples.
    fn batch(&self) -> Option<f64> {
        let of = |counted: &Counted| Some((counted.sample.load.verified, counted.sample.side.wakeups?));
        let both: Option<Vec<(u64, u64)>> = self.samples.iter().map(of).collect();
        let (verified, wakeups) = both?.into_iter().fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        (wakeups > 0).then(|| verified as f64 / wakeups as f64)
    }
}

impl Block {
    /// Means and ratios, from the samples.
    pub fn sum_up(&mut self) {
        for row in &mut self.rows {
            row.per_request = row.mean();
        }
        let first = self.rows.first().and_then(|row| row.per_request);
        for row in &mut self.rows {
            row.ratio = row.per_request.zip(first).map(|(own, first)| own.total / first.total);
        }
    }
}

/// The report as a table a workload.
pub fn table(report: &Report) -> String {
    let label = |name: &str| {
        let commit =
            report.servers.iter().find(|server| server.name == name).and_then(|server| server.commit.as_deref());
        match commit.map(short) {
            Some(commit) if name.starts_with(commit) => commit.to_owned(),
            Some(commit) => format!("{name} {commit}"),
            None => name.to_owned(),
        }
    };
    let all = || report.blocks.iter().flat_map(|block| &block.rows);
    let width = all().map(|row| label(&row.server).chars().count()).max().unwrap_or(0).max("server".len());
    let mut out = String::new();
    let _ = writeln!(out, "Instructions per verified request, meter {} ({})", report.meter, report.fingerprint);
    for block in &report.blocks {
        let _ = writeln!(
            out,
            "\n{}, depth {}\n  {:<width$} {:>9} {:>9} {:>9} {:>7} {:>8} {:>8} {:>13}",
            block.workload,
            block.depth,
            "server",
            "total",
            "user",
            "kernel",
            "ratio",
            "samples",
            "spread",
            "reqs/wake-up"
        );
        for row in &block.rows {
            let _ = write!(out, "  {:<width$}", label(&row.server));
            let _ = match (&row.per_request, &row.fault) {
                (Some(mean), _) => writeln!(
                    out,
                    " {:>9} {:>9} {:>9} {:>7} {:>8} {:>7.2}% {:>13}",
                    count(mean.total),
                    count(mean.user),
                    count(mean.kernel),
                    row.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
                    row.samples.len(),
                    100.0 * mean.spread,
                    row.batch().map_or("-".to_owned(), |batch| format!("{batch:.1}")),
                ),
                (None, fault) => writeln!(out, " no count: {}", fault.as_deref().unwrap_or("not taken")),
            };
        }
    }
    out
}

/// One sample in a line, to the instruction.
pub fn line(counted: &Counted, seconds: f64) -> String {
    let sample = &counted.sample;
    format!(
        "seed {}: {} user + {} kernel instructions for {} requests = {} a request, {seconds:.1} s",
        sample.seed,
        count(sample.user as f64),
        count(sample.kernel as f64),
        count(sample.load.verified as f64),
        count(sample.per_request()),
    )
}

/// The functions that cost most in a sample; empty where the meter has no profile.
pub fn functions(counted: &Counted, most: usize) -> String {
    let mut out = String::new();
    if counted.profile.is_empty() || most == 0 {
        return out;
    }
    let _ = writeln!(out, "  instr/req  share  function");
    let total = (counted.sample.user + counted.sample.kernel) as f64;
    for cost in counted.profile.iter().take(most) {
        let kernel = if cost.mode == Mode::Kernel { " [kernel]" } else { "" };
        let instructions = cost.instructions as f64;
        let _ = writeln!(
            out,
            "  {:>9.1}  {:>4.1}%  {}{kernel}",
            instructions / counted.sample.load.verified as f64,
            100.0 * instructions / total,
            clip(&cost.name, 90)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::{Load, Sample, Side};

    fn counted(user: u64, kernel: u64) -> Counted {
        let load = Load { sent: 100, verified: 100, wrong: 0, lost: 0 };
        let side = Side { wakeups: Some(40), ..Side::default() };
        Counted { sample: Sample { seed: 1, user, kernel, load, side }, profile: Vec::new() }
    }

    fn row(server: &str, samples: Vec<Counted>) -> Row {
        Row { samples, ..Row::new(server) }
    }

    #[test]
    fn a_block_says_what_each_server_costs_beside_the_first_and_why_one_has_no_count() {
        let mut wrong = row("wrong", vec![counted(1, 1)]);
        wrong.fault = Some("invalid: 1 wrong answer".to_owned());
        let rows = vec![
            row("HEAD", vec![counted(80_000, 10_000), counted(100_000, 10_000)]),
            row("peer", vec![counted(300_000, 100_000)]),
            wrong,
        ];
        let mut block = Block { workload: "contract".to_owned(), depth: 8, rows };
        block.sum_up();
        let commit = Some("0123456789abcdef".to_owned());
        let servers = vec![Server { name: "HEAD".to_owned(), commit, sha256: String::new() }];
        let (meter, fingerprint) = ("vm".to_owned(), "f".to_owned());
        let text = table(&Report { meter, fingerprint, servers, blocks: vec![block] });
        let words: Vec<Vec<&str>> = text.lines().skip(4).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["HEAD", "01234567", "1,000", "900", "100", "1.00", "2", "20.00%", "2.5"]);
        assert_eq!(words[1], ["peer", "4,000", "3,000", "1,000", "4.00", "1", "0.00%", "2.5"]);
        assert_eq!(words[2].join(" "), "wrong no count: invalid: 1 wrong answer");
    }

    #[test]
    fn without_a_count_of_the_first_there_are_no_ratios() {
        let mut block = Block {
            workload: "contract".to_owned(),
            depth: 8,
            rows: vec![row("a", vec![]), row("b", vec![counted(5, 5)])],
        };
        block.sum_up();
        assert_eq!((block.rows[0].per_request, block.rows[0].ratio, block.rows[1].ratio), (None, None, None));
        assert!(block.rows[1].per_request.is_some());
    }
}
