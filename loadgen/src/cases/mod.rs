//! The contract's numbered cases: exact requests and exact answers, on servers started for them. What the cases are
//! stands in one file for each group; this file runs them. Numbers from 200 on are rules the contract states
//! without a case of its own.

mod address;
mod blacklists;
mod closing;
mod connection;
mod crowd;
mod faults;
mod http;
mod json;
mod line;
mod request;
mod table;
mod token;
mod users;

pub use crate::server::{CommandServer, RunningServer, StartServer};

use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;
use table::Case;

/// Numbers of the cases about how connections end, as [`CaseFilter::parse`] takes them: what a network with distance may
/// change.
pub const CLOSING: &str = "88,128,130,131,133,134,210";
/// Numbers of the cases that wait for the contract's clocks: 10 s, 75 s and 30 s.
pub const CLOCKS: &str = "207-209";

/// Which cases to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseFilter {
    /// Ranges of numbers, both ends included; none means all.
    pub numbers: Vec<(u16, u16)>,
    /// Also those that take more than five seconds. Cases chosen by number run whether slow or not.
    pub slow: bool,
}

impl CaseFilter {
    /// From text such as `34,36-40`.
    pub fn parse(text: &str) -> Result<CaseFilter, String> {
        let number = |text: &str| {
            text.trim().parse::<u16>().map_err(|_| format!("`{text}` is no case number: write such as 34,36-40"))
        };
        let mut numbers = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            numbers.push((number(first)?, number(last)?));
        }
        Ok(CaseFilter { numbers, slow: false })
    }

    fn takes(&self, case: &Case) -> bool {
        let chosen = (self.numbers.iter()).any(|(first, last)| (*first..=*last).contains(&case.number));
        chosen || (self.numbers.is_empty() && (self.slow || !case.slow))
    }
}

/// A case that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCase {
    /// Its number in the contract.
    pub number: u16,
    /// What it tries.
    pub name: String,
    /// What should have come, escaped.
    pub expected: String,
    /// What came, escaped.
    pub got: String,
}

/// What the cases found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed, by number.
    pub failed: Vec<FailedCase>,
    /// Cases the filter left out.
    pub left_out: usize,
    /// Wall-clock time of all.
    pub seconds: f64,
}

/// Servers at work at the same time.
const SERVERS: usize = 4;

fn all() -> Vec<Case> {
    let groups: [fn() -> Vec<Case>; 10] = [
        token::cases,
        address::cases,
        blacklists::cases,
        json::cases,
        users::cases,
        http::cases,
        faults::cases,
        connection::cases,
        closing::cases,
        crowd::cases,
    ];
    groups.into_iter().flat_map(|group| group()).collect()
}

/// Runs the cases the filter takes. `progress` is told each case's name as it ends.
pub fn run(start: &dyn StartServer, filter: &CaseFilter, progress: &mut dyn FnMut(&str)) -> CaseReport {
    let began = Instant::now();
    let (taken, left): (Vec<Case>, Vec<Case>) = all().into_iter().partition(|case| filter.takes(case));
    // Cases that change nothing share a server, the others get one each. Slow ones first: they take longest.
    let (mut fresh, shared): (Vec<Case>, Vec<Case>) = taken.into_iter().partition(|case| case.fresh || case.slow);
    fresh.sort_by_key(|case| !case.slow);
    let mut jobs: Vec<Vec<Case>> = fresh.into_iter().map(|case| vec![case]).collect();
    let mut shares: Vec<Vec<Case>> = (0..2).map(|_| Vec::new()).collect();
    for (index, case) in shared.into_iter().enumerate() {
        shares[index % 2].push(case);
    }
    jobs.extend(shares.into_iter().filter(|share| !share.is_empty()));
    let queue = Mutex::new(jobs.into_iter());
    let (tell, told) = channel();
    let mut report = CaseReport { passed: 0, failed: Vec::new(), left_out: left.len(), seconds: 0.0 };
    std::thread::scope(|scope| {
        for _ in 0..SERVERS {
            let (tell, queue) = (tell.clone(), &queue);
            scope.spawn(move || {
                loop {
                    let job = queue.lock().expect("no one panics with the queue").next();
                    let Some(job) = job else { return };
                    work(start, &job, &tell);
                }
            });
        }
        drop(tell);
        for (number, name, failure) in told {
            progress(&format!("{number} {name}: {}", if failure.is_some() { "FAILED" } else { "passed" }));
            match failure {
                None => report.passed += 1,
                Some((expected, got)) => report.failed.push(FailedCase { number, name, expected, got }),
            }
        }
    });
    report.failed.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
    report.seconds = began.elapsed().as_secs_f64();
    report
}

type Told = (u16, String, Option<(String, String)>);

/// Runs cases one after the other on one server; a server that ended is replaced for the next.
fn work(start: &dyn StartServer, job: &[Case], tell: &Sender<Told>) {
    let mut server: Option<Box<dyn RunningServer>> = None;
    let folder = tempfile::tempdir().map_err(anyhow::Error::from);
    let folder = folder.and_then(|folder| crate::dataset::fixture().write(folder.path()).map(|()| folder));
    for case in job {
        let failure = match &folder {
            Err(error) => Some(("a data folder".to_string(), format!("{error:#}"))),
            Ok(folder) => match server.take().map_or_else(|| start.start(folder.path()), Ok) {
                Err(error) => Some(("a server that listens".to_string(), format!("{error:#}"))),
                Ok(mut running) => {
                    let result = (case.play)(&table::Stage { addr: running.addr(), pid: running.pid() });
                    let failure = match result {
                        Err(failure) => Some((failure.expected, failure.got)),
                        Ok(()) if !running.alive() => {
                            Some(("a server that lives on".into(), "its process ended".into()))
                        }
                        Ok(()) => None,
                    };
                    if running.alive() {
                        server = Some(running);
                    }
                    failure
                }
            },
        };
        // The receiver outlives all workers.
        let _ = tell.send((case.number, case.name.clone(), failure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_numbers_and_ranges() {
        let filter = CaseFilter::parse("34, 36-40").unwrap();
        assert_eq!(filter.numbers, [(34, 34), (36, 40)]);
        assert!(CaseFilter::parse("x").is_err());
    }

    #[test]
    fn every_number_the_contract_lists_has_a_case() {
        let listed = [
            1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 15, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40,
            41, 43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74, 75, 76, 77, 79,
            80, 82, 83, 85, 86, 88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 104, 106, 107, 109, 110, 112, 113, 115,
            116, 118, 119, 121, 122, 124, 125, 127, 128, 130, 131, 133, 134, 136, 137, 139,
        ];
        let cases = all();
        let missing: Vec<_> =
            listed.iter().filter(|number| !cases.iter().any(|case| case.number == **number)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let mut names: Vec<_> = cases.iter().map(|case| (case.number, &case.name)).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "two cases have the same number and name");
    }
}
