//! What a drive found: counts that add up, the first errors in full, and side figures. Plain data.

use crate::saturation::Saturation;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Requests of one part of a plan. `sent = verified + wrong + lost`, always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests the plan has for this part.
    pub planned: u64,
    /// Requests whose bytes were sent, all or in part.
    pub sent: u64,
    /// Requests whose every answer byte was right, and nothing behind it.
    pub verified: u64,
    /// Requests that got other bytes.
    pub wrong: u64,
    /// Requests that got no complete answer: time ran out, or the connection closed.
    pub lost: u64,
}

/// One answer that was not right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What happened, in words.
    pub what: String,
    /// The kind of request.
    pub kind: String,
    /// `warm-up` or `window`.
    pub part: String,
    /// Which connection, from 0.
    pub connection: usize,
    /// Which round, from 0.
    pub round: usize,
    /// Which request of the connection in that round, from 0.
    pub position: usize,
    /// The request, escaped.
    pub request: String,
    /// The right answer, escaped.
    pub expected: String,
    /// What came instead, escaped.
    pub got: String,
}

/// How often one thing went wrong with one kind of request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened, in words.
    pub what: String,
    /// The kind of request.
    pub kind: String,
    /// How often, warm-up included.
    pub count: u64,
}

/// Latencies in microseconds: from the moment a request could be taken (sent, or the server let go) to its last byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Half are below.
    pub p50: u64,
    /// Nine in ten are below.
    pub p90: u64,
    /// 99 in a hundred are below.
    pub p99: u64,
    /// 999 in a thousand are below.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

impl Latency {
    /// From samples in microseconds.
    pub fn of(samples: impl IntoIterator<Item = u64>) -> Latency {
        let mut all = Histogram::<u64>::new(3).expect("3 digits are allowed");
        for sample in samples {
            all.record(sample).expect("an automatic range takes all");
        }
        Latency {
            p50: all.value_at_quantile(0.5),
            p90: all.value_at_quantile(0.9),
            p99: all.value_at_quantile(0.99),
            p999: all.value_at_quantile(0.999),
            max: all.max(),
        }
    }
}

/// What the kernel says of the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Voluntary context switches of all its threads within the window: wake-ups.
    pub voluntary_switches: u64,
    /// The most memory it has held, in KiB.
    pub peak_rss_kib: u64,
}

/// What a drive found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The plan's seed.
    pub seed: u64,
    /// Requests before the window.
    pub warmup: Counts,
    /// Requests in the window.
    pub window: Counts,
    /// The first errors; counts say how many there were.
    pub errors: Vec<Error>,
    /// All errors, counted by what happened and to which kind of request.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Connections the server closed, or wrote to, when no request on them was open.
    pub unasked: u64,
    /// Whether the drive was asked to stop before its end.
    pub stopped: bool,
    /// Length of the window.
    pub seconds: f64,
    /// Verified requests of the window per second.
    pub requests_per_second: f64,
    /// Latencies of verified requests in the window.
    pub latency_us: Latency,
    /// Facts about the server's process, where its id was given.
    pub server: Option<ServerFacts>,
    /// Who set the pace, where that was asked for.
    #[serde(default)]
    pub saturation: Option<Saturation>,
    /// Seconds of the window, and one more for every error; none where the drive was stopped.
    #[serde(default)]
    pub score: Option<f64>,
}

impl Report {
    /// Whether every planned request was sent and every byte of every answer right.
    pub fn clean(&self) -> bool {
        let whole = |part: &Counts| part.verified == part.planned && part.sent == part.planned;
        whole(&self.warmup) && whole(&self.window) && self.unasked == 0 && !self.stopped
    }

    /// Requests that have no right answer, and connections that ended or got bytes unasked. What was never sent
    /// because its connection broke counts as well.
    pub fn errors_in_all(&self) -> u64 {
        let of = |part: &Counts| part.planned - part.verified;
        of(&self.warmup) + of(&self.window) + self.unasked
    }

    /// A few lines for people.
    pub fn summary(&self) -> String {
        let all = [&self.warmup, &self.window];
        let sum = |of: fn(&Counts) -> u64| all.iter().map(|part| of(part)).sum::<u64>();
        let latency = &self.latency_us;
        let mut text = format!(
            "{} of {} answers right, {} wrong, {} lost; window {:.3} s, {:.0} requests/s\n\
             latency     p50 {} us, p99 {} us, p99.9 {} us, longest {} us",
            sum(|part| part.verified),
            sum(|part| part.planned),
            sum(|part| part.wrong),
            sum(|part| part.lost),
            self.seconds,
            self.requests_per_second,
            latency.p50,
            latency.p99,
            latency.p999,
            latency.max
        );
        for failure in &self.failures {
            text.push_str(&format!("\nerrors      {} x {} ({})", failure.count, failure.what, failure.kind));
        }
        if let Some(saturation) = &self.saturation {
            text.push_str(&format!("\nsaturation  {saturation}"));
            if self.window.verified > 0 {
                let each = saturation.server_cpu_seconds * 1e6 / self.window.verified as f64;
                text.push_str(&format!("\nserver      {each:.2} us of CPU time a request"));
            }
        }
        match self.score {
            Some(score) => text.push_str(&format!(
                "\nscore       {score:.3} ({:.3} s and {} errors; lower is better)",
                self.seconds,
                self.errors_in_all()
            )),
            None => text.push_str("\nSTOPPED EARLY: these are the figures of a part of the run, and there is no score"),
        }
        text
    }
}

/// Bytes as a person can read them, cut after `most` bytes.
pub fn escaped(bytes: &[u8], most: usize) -> String {
    let shown = &bytes[..bytes.len().min(most)];
    let mut text = shown.escape_ascii().to_string();
    if bytes.len() > most {
        text.push_str(&format!("... ({} bytes)", bytes.len()));
    }
    text
}
