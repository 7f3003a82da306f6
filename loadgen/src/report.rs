//! What a drive found: counts that add up, the first errors in full, and side figures. Plain data.

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
}

impl Report {
    /// Whether every planned request was sent and every byte of every answer right.
    pub fn clean(&self) -> bool {
        let whole = |part: &Counts| part.verified == part.planned && part.sent == part.planned;
        whole(&self.warmup) && whole(&self.window) && self.unasked == 0 && !self.stopped
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let window = &self.window;
        let all = [&self.warmup, window];
        let sum = |of: fn(&Counts) -> u64| all.iter().map(|part| of(part)).sum::<u64>();
        format!(
            "{} of {} answers right, {} wrong, {} lost; window {:.3} s, {:.0} requests/s, p50 {} us, p99 {} us",
            sum(|part| part.verified),
            sum(|part| part.planned),
            sum(|part| part.wrong),
            sum(|part| part.lost),
            self.seconds,
            self.requests_per_second,
            self.latency_us.p50,
            self.latency_us.p99
        )
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
