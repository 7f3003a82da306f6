//! What the checker finds, and that its counts add up whatever it finds.

use super::replay::{Fault, serve};
use loadgen::dataset::DataSet;
use loadgen::drive::{Marks, Options, drive};
use loadgen::plan::Plan;
use loadgen::report::Report;
use loadgen::workload::{Schedule, Workload};
use std::sync::Arc;
use std::time::Duration;

fn plan(schedule: Schedule) -> Arc<Plan> {
    let workload = Workload {
        connections: 8,
        pipelining: 4,
        requests: 128,
        warmup: 64,
        users: 200,
        networks: 300,
        schedule,
        ..Workload::default()
    };
    workload.validate().unwrap();
    Arc::new(Plan::make(11, &workload, &DataSet::generate(11, &workload)))
}

fn report(schedule: Schedule, fault: Fault, round: usize) -> Report {
    let plan = plan(schedule);
    let addr = serve(&plan, fault, round);
    let options = Options { timeout: Duration::from_millis(400), window: Some(&Marks), ..Options::default() };
    let report = drive(&plan, addr, &options).unwrap();
    for part in [&report.warmup, &report.window] {
        assert_eq!(part.sent, part.verified + part.wrong + part.lost, "{fault:?}: {report:#?}");
    }
    report
}

#[test]
fn a_right_server_is_found_right_under_both_schedules() {
    for schedule in [Schedule::Waves, Schedule::ClosedLoop] {
        let report = report(schedule, Fault::None, 0);
        assert!(report.clean(), "{report:#?}");
        assert_eq!((report.warmup.verified, report.window.verified), (64, 128));
        assert_eq!(report.errors, []);
        assert!(report.latency_us.max >= report.latency_us.p50);
    }
}

#[test]
fn a_flipped_bit_is_one_wrong_answer_and_those_behind_it_are_still_judged() {
    for (round, part) in [(0, "warm-up"), (3, "window")] {
        let report = report(Schedule::Waves, Fault::Flip, round);
        assert!(!report.clean());
        assert_eq!((report.warmup.wrong + report.window.wrong, report.warmup.lost + report.window.lost), (1, 0));
        let error = &report.errors[0];
        assert_eq!((error.part.as_str(), error.connection, error.round, error.position), (part, 3, round, 1));
        assert_ne!(error.expected, error.got);
        assert!(error.request.contains("HTTP/1."));
    }
}

#[test]
fn an_extra_byte_spoils_the_answer_before_it_at_once_or_late() {
    for fault in [Fault::Extra, Fault::LateExtra] {
        for round in [1, 5] {
            let report = report(Schedule::Waves, fault, round);
            assert!(!report.clean(), "{fault:?} {round}");
            assert_eq!(report.warmup.wrong + report.window.wrong, 1, "{fault:?} {round} {report:#?}");
        }
    }
}

#[test]
fn a_missing_last_byte_is_a_lost_answer() {
    let report = report(Schedule::Waves, Fault::Missing, 5);
    assert_eq!((report.window.wrong, report.window.lost), (0, 1));
    assert_eq!(report.errors[0].what, "no complete answer in time");
    let (expected, got) = (&report.errors[0].expected, &report.errors[0].got);
    assert!(expected.starts_with(got.as_str()) && expected != got);
}

#[test]
fn a_byte_left_out_in_the_middle_is_found() {
    let report = report(Schedule::Waves, Fault::Dropped, 4);
    assert!(!report.clean());
    assert!(report.window.wrong >= 1);
    assert_eq!(report.errors[0].position, 1);
}

#[test]
fn swapped_answers_are_two_wrong_ones() {
    let report = report(Schedule::Waves, Fault::Swapped, 4);
    assert_eq!((report.window.wrong, report.window.lost), (2, 0), "{report:#?}");
}

#[test]
fn a_closed_connection_loses_what_it_owed_and_the_rest_is_not_sent() {
    let report = report(Schedule::Waves, Fault::Closed, 4);
    assert_eq!((report.window.lost, report.window.wrong), (1, 0), "{report:#?}");
    assert_eq!(report.window.sent, report.window.planned - 4);
    assert_eq!(report.errors[0].what, "the connection was closed");
}

#[test]
fn a_connection_closed_when_nothing_was_owed_is_not_clean() {
    let report = report(Schedule::Waves, Fault::ClosedAfter, 5);
    assert!(!report.clean());
    assert_eq!((report.unasked, report.window.lost + report.window.wrong), (1, 0), "{report:#?}");
    // In the middle the next wave may be on its way already, and is lost then.
    let report = self::report(Schedule::Waves, Fault::ClosedAfter, 4);
    assert!(!report.clean());
    assert_eq!(report.unasked * 4 + report.window.lost, 4, "{report:#?}");
}

#[test]
fn a_silent_server_loses_all_that_was_sent_to_it() {
    let report = report(Schedule::Waves, Fault::Silent, 4);
    assert_eq!((report.window.lost, report.window.wrong), (4, 0));
    let closed = self::report(Schedule::ClosedLoop, Fault::Silent, 1);
    assert_eq!((closed.window.lost, closed.window.wrong), (4, 0));
    assert_eq!(closed.window.sent, closed.window.planned - 12);
}

#[test]
fn noise_is_wrong_and_ends_the_connection() {
    let report = report(Schedule::Waves, Fault::Noise, 4);
    assert_eq!((report.window.wrong, report.window.lost), (1, 2), "{report:#?}");
    assert_eq!(report.errors[0].what, "not an HTTP answer");
}

#[test]
fn answers_that_come_before_their_requests_are_wrong() {
    let report = report(Schedule::ClosedLoop, Fault::Early, 1);
    assert!(!report.clean());
}

#[test]
fn a_drive_can_be_stopped_from_outside() {
    use std::sync::atomic::AtomicBool;
    let plan = plan(Schedule::Waves);
    let addr = serve(&plan, Fault::None, 0);
    let stop = AtomicBool::new(true);
    let report = drive(&plan, addr, &Options { stop: Some(&stop), ..Options::default() }).unwrap();
    assert!(report.stopped && !report.clean());
    assert_eq!(report.window.sent, 0);
}

#[test]
fn nobody_listening_is_an_error_that_says_what_to_do() {
    let plan = plan(Schedule::Waves);
    let error = drive(&plan, "127.0.0.1:1".parse().unwrap(), &Options::default()).unwrap_err();
    assert!(format!("{error:#}").contains("is the server listening"));
}
