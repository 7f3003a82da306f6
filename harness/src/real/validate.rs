//! The validate phase: the contract's cases, byte for byte. The first half is native; the second, in the emulated machine,
//! are those about how connections end, over a network with distance, and those that wait for a clock, which cost no time
//! there. It takes the longer, so only what the screen pairs have not rejected gets to it.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use loadgen::cases::{self, CLOCKS, CLOSING, CaseFilter, CaseReport, Splits};
use serde::Serialize;

use super::measure::Fault;
use super::measure::vm::{Network, VmMeter};
use super::servers::Servers;
use crate::data::definition::Limits;
use crate::judge::outcome::{Outcome, Phase};
use crate::lab::{Phased, Stop};
use crate::os::signals;

/// What validation found: kept in the attempt's folder whatever its outcome. The native stage's fields come first, beside
/// them those of the stages that were reached.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Natively, on plain loopback.
    #[serde(flatten)]
    pub native: CaseReport,
    /// In the machine, with 20 ms of round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Emulated>,
    /// In the machine, waiting for clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Emulated>,
    /// What could not be tried, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

/// A stage in the machine.
#[derive(Debug, Serialize)]
pub struct Emulated {
    /// What it found. Its seconds are the machine's.
    #[serde(flatten)]
    pub report: CaseReport,
    /// Seconds it took here.
    pub host_seconds: f64,
}

/// What is needed to validate.
pub struct Validator<'a> {
    /// Times and sizes.
    pub limits: &'a Limits,
    /// The emulated machine, or why there is none.
    pub machine: Result<&'a VmMeter, &'a str>,
    /// Set when the person wants to stop.
    pub stop: &'a Arc<AtomicBool>,
}

impl Validator<'_> {
    /// Both halves; the first that fails ends it. Whatever was found is in the report.
    ///
    /// # Errors
    /// `Invalid` with the first failed case when there is one, or when the limit is exceeded.
    pub fn whole(&self, server: &Path, seed: u64) -> (Option<Report>, Phased<()>) {
        match self.natively(server, seed) {
            (Some(mut report), Ok(())) => {
                let verdict = self.in_machine(server, &mut report);
                (Some(report), verdict)
            }
            ended => ended,
        }
    }

    /// The first half: natively, on plain loopback. The seed chooses which exchanges are sent in pieces and in pipelines as
    /// well, and where they are cut. No report when it was interrupted.
    ///
    /// # Errors
    /// As [`Validator::whole`].
    pub fn natively(&self, server: &Path, seed: u64) -> (Option<Report>, Phased<()>) {
        let began = Instant::now();
        let native = self.native(server, seed, began + self.limits.validate);
        if signals::stopped(self.stop) {
            return (None, Err(interrupted()));
        }
        let mut verdict = judged(&native, "");
        if verdict.is_ok() && began.elapsed() > self.limits.validate {
            verdict = Err(invalid(format!(
                "the cases took {:.0} s, the limit is {:.0} s (limits.validate)",
                began.elapsed().as_secs_f64(),
                self.limits.validate.as_secs_f64()
            )));
        }
        (Some(Report { native, distance: None, clocks: None, unchecked: None }), verdict)
    }

    /// The second half, in the emulated machine: distance and clocks. Without a machine the report says what was left out.
    ///
    /// # Errors
    /// As [`Validator::whole`].
    pub fn in_machine(&self, server: &Path, report: &mut Report) -> Phased<()> {
        match self.machine {
            Ok(machine) => self.emulated(machine, server, self.limits.validate, report),
            Err(why) => {
                report.unchecked = Some(unchecked(why));
                Ok(())
            }
        }
    }

    /// The cases that take under five seconds each. They have their own time limits; when the time is over, those left
    /// fail at their start.
    fn native(&self, server: &Path, seed: u64, until: Instant) -> CaseReport {
        let servers = Servers {
            path: server.to_owned(),
            limits: self.limits.clone(),
            cpus: Vec::new(),
            until: Some(until),
            stop: Arc::clone(self.stop),
            silent: OnceLock::new(),
        };
        let filter = CaseFilter { splits: Splits::Some(seed), ..CaseFilter::default() };
        cases::run(&servers, &filter, &mut |_| ())
    }

    /// Both stages of the machine side by side: an emulator is one thread.
    fn emulated(&self, machine: &VmMeter, server: &Path, limit: Duration, report: &mut Report) -> Phased<()> {
        let play = |network, numbers| {
            let began = Instant::now();
            let report = machine.cases(server, network, numbers, limit, self.stop)?;
            Ok(Emulated { report, host_seconds: began.elapsed().as_secs_f64() })
        };
        let (distance, clocks) = std::thread::scope(|scope| {
            let distance = scope.spawn(|| play(Network::Distant, CLOSING));
            let clocks = play(Network::Loopback, CLOCKS);
            (distance.join().expect("a stage does not panic"), clocks)
        });
        let mut verdict = Ok(());
        for (stage, place, found) in [
            (&mut report.distance, " over a network with 20 ms of round trip", distance),
            (&mut report.clocks, " in the emulated machine", clocks),
        ] {
            let judged = match found {
                Ok(found) => judged(&stage.insert(found).report, place),
                Err(fault) => Err(stop_of(fault, place)),
            };
            verdict = verdict.and(judged);
        }
        verdict
    }
}

/// What is left out without the machine.
pub fn unchecked(why: &str) -> String {
    format!("neither a network with distance (cases {CLOSING}) nor clocks (cases {CLOCKS}) were tried: {why}")
}

fn judged(report: &CaseReport, place: &str) -> Phased<()> {
    let Some(case) = report.failed.first() else { return Ok(()) };
    let more = report.failed.len() - 1;
    let others = if more > 0 { format!(" ({more} more cases failed)") } else { String::new() };
    Err(invalid(format!(
        "case {} ({}){place}: expected {}, got {}{others}",
        case.number,
        case.name,
        clip(&case.expected),
        clip(&case.got)
    )))
}

fn stop_of(fault: Fault, place: &str) -> Stop {
    match fault {
        Fault::Invalid(reason) | Fault::Unsound(reason) => invalid(format!("the cases{place}: {reason}")),
        Fault::Interrupted => interrupted(),
        Fault::Own(error) => Stop::Own(error),
    }
}

fn invalid(reason: String) -> Stop {
    Stop::Ended(Outcome::Invalid { reason })
}

fn interrupted() -> Stop {
    Stop::Ended(Outcome::Interrupted { phase: Phase::Validate })
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 160;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(failed: serde_json::Value) -> CaseReport {
        let value = json!({ "passed": 3, "failed": failed, "left_out": 5, "in_other_forms": 0, "seconds": 0.5 });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_kept_report_has_the_native_stage_at_its_top_and_only_stages_that_were_reached() {
        let distance = Some(Emulated { report: report(json!([])), host_seconds: 4.5 });
        let kept = Report { native: report(json!([])), distance, clocks: None, unchecked: None };
        let kept = serde_json::to_value(kept).unwrap();
        assert_eq!((&kept["passed"], &kept["distance"]["passed"]), (&json!(3), &json!(3)));
        assert_eq!(kept["distance"]["host_seconds"], json!(4.5));
        assert!(kept.get("clocks").is_none() && kept.get("unchecked").is_none());
    }

    #[test]
    fn the_reason_names_the_first_failed_case_and_where_it_failed() {
        let case = |number| json!({ "number": number, "name": "n", "sent": "", "expected": "FIN", "got": "RST" });
        let Err(Stop::Ended(outcome)) = judged(&report(json!([case(210), case(211)])), " over a network") else {
            panic!("two cases failed");
        };
        assert_eq!(outcome.reason(), "case 210 (n) over a network: expected FIN, got RST (1 more cases failed)");
        assert!(judged(&report(json!([])), "").is_ok());
    }
}
