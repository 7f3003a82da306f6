//! The contract's numbered cases: exact requests and exact answers, on servers started for them. What the cases are
//! stands in one file for each group, how they are played in `run.rs` and `splits.rs`. Numbers from 200 on are rules the contract states
//! without a case of its own.

mod address;
mod blacklists;
mod bodies;
mod claims;
mod closing;
mod connection;
mod crowd;
mod data;
mod endings;
mod faults;
mod heads;
mod http;
mod json;
mod line;
mod request;
mod routes;
mod run;
mod splits;
mod states;
mod table;
mod texts;
mod token;
mod users;

pub use crate::server::{CommandServer, RunningServer, StartServer};
pub use run::run;
pub use splits::Splits;

use serde::{Deserialize, Serialize};
use table::Case;

/// Numbers of the cases about how connections end, as [`CaseFilter::parse`] takes them: what a network with distance may
/// change.
pub const CLOSING: &str = "88,128,130,131,133,134,213";
/// Numbers of the cases that wait for the contract's clocks: 10 s, 75 s and 30 s.
pub const CLOCKS: &str = "207-209";

/// Which cases to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaseFilter {
    /// Ranges of numbers, both ends included; none means all.
    pub numbers: Vec<(u16, u16)>,
    /// Also those that take more than five seconds. Cases chosen by number run whether slow or not.
    pub slow: bool,
    /// In how many other forms the requests are sent.
    pub splits: Splits,
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
        Ok(CaseFilter { numbers, ..CaseFilter::default() })
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
    /// What it tries, and the form in which it failed if that is not its usual one.
    pub name: String,
    /// What was sent, escaped and cut; empty where the failure is not about an answer.
    pub sent: String,
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
    /// Exchanges that were sent in pieces or in a pipeline.
    pub in_other_forms: usize,
    /// Wall-clock time of all.
    pub seconds: f64,
}

fn all() -> Vec<Case> {
    let groups: [fn() -> Vec<Case>; 18] = [
        claims::cases,
        routes::cases,
        texts::cases,
        states::cases,
        heads::cases,
        bodies::cases,
        endings::cases,
        data::cases,
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
        let twice: Vec<_> = names.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        assert!(twice.is_empty(), "two cases have the same number and name: {twice:?}");
    }
}
