//! The validate phase: the contract's cases, byte for byte, against the candidate as a native process.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use loadgen::cases::{self, CaseFilter, CaseReport};

use super::servers::Servers;
use crate::data::definition::Limits;
use crate::judge::outcome::{Outcome, Phase};
use crate::lab::{Phased, Stop};
use crate::os::signals;

/// What validation found: kept in the attempt's folder whatever its outcome.
pub type Report = CaseReport;

/// Run the cases that take under a minute together.
///
/// # Errors
/// `Invalid` with the first failed case when there is one, or when the limit is exceeded.
pub fn validate(server: &Path, limits: &Limits, stop: &Arc<AtomicBool>) -> (Option<Report>, Phased<()>) {
    let began = Instant::now();
    let until = Some(began + limits.validate);
    let servers = Servers {
        path: server.to_owned(),
        limits: limits.clone(),
        cpus: Vec::new(),
        until,
        stop: Arc::clone(stop),
        silent: OnceLock::new(),
    };
    // The cases have their own time limits each; when the time is over, those left fail at their start.
    let report = cases::run(&servers, &CaseFilter::default(), &mut |_| ());
    if signals::stopped(stop) {
        return (None, Err(Stop::Ended(Outcome::Interrupted { phase: Phase::Validate })));
    }
    let verdict = match report.failed.first() {
        Some(case) => {
            let more = report.failed.len() - 1;
            let others = if more > 0 { format!(" ({more} more cases failed)") } else { String::new() };
            Err(format!(
                "case {} ({}): expected {}, got {}{others}",
                case.number,
                case.name,
                clip(&case.expected),
                clip(&case.got)
            ))
        }
        None if began.elapsed() > limits.validate => Err(format!(
            "the cases took {:.0} s, the limit is {:.0} s (limits.validate)",
            began.elapsed().as_secs_f64(),
            limits.validate.as_secs_f64()
        )),
        None => Ok(()),
    };
    (Some(report), verdict.map_err(|reason| Stop::Ended(Outcome::Invalid { reason })))
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 160;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).chain("...".chars()).collect()
    }
}
