//! The loads of native runs: churn and attack, against a server that knows every answer of the plan.

use super::replay::{Fault, serve};
use loadgen::attack::AttackReport;
use loadgen::dataset::DataSet;
use loadgen::drive::{Options, drive, drive_traced};
use loadgen::plan::{Phase, Plan};
use loadgen::workload::{Schedule, Workload};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

fn small() -> Workload {
    Workload { connections: 4, pipelining: 1, users: 200, networks: 300, ..Workload::default() }
}

/// Answers one request a connection; with `lazy` the last byte of each answer is forgotten.
fn serve_one_each(plan: &Plan, lazy: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let answer = |index| (plan.answers()[plan.answer(index)].to_vec(), plan.closes(index));
    let answers: HashMap<Vec<u8>, (Vec<u8>, bool)> =
        (0..plan.len()).map(|index| (plan.requests()[plan.request(index)].to_vec(), answer(index))).collect();
    let answers = Arc::new(answers);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, answers) = (socket.unwrap(), Arc::clone(&answers));
            std::thread::spawn(move || {
                let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
                loop {
                    let Ok(count @ 1..) = socket.read(&mut chunk) else { return };
                    request.extend_from_slice(&chunk[..count]);
                    let Some((answer, closes)) = answers.get(&request) else { continue };
                    let part = &answer[..answer.len() - usize::from(lazy)];
                    if socket.write_all(part).is_err() || lazy || *closes {
                        return;
                    }
                }
            });
        }
    });
    addr
}

#[test]
fn a_churn_takes_a_connection_a_request_and_checks_every_byte() {
    let workload = Workload { requests: 120, warmup: 0, schedule: Schedule::Churn, ..small() };
    workload.validate().unwrap();
    let plan = Plan::make(11, &workload, &DataSet::generate(11, &workload));
    let report = drive(&plan, serve_one_each(&plan, false), &Options::default()).unwrap();
    assert!(report.clean(), "{report:#?}");
    assert_eq!(report.window.verified, 120);
    let report = drive(&plan, serve_one_each(&plan, true), &Options::default()).unwrap();
    assert_eq!((report.window.verified, report.window.wrong + report.window.lost), (0, 120), "{report:#?}");
}

#[test]
fn an_attack_compares_each_quiet_round_with_one_under_attack() {
    let workload = Workload { pipelining: 5, requests: 960, schedule: Schedule::ClosedLoop, ..small() };
    let plan = Arc::new(Plan::attack(11, &workload, &DataSet::generate(11, &workload)).unwrap());
    let addr = serve(&plan, Fault::None, 0);
    let (report, mut trace) = drive_traced(&plan, addr, &Options::default(), std::process::id()).unwrap();
    // The server is a handful of threads of this process; what a real one would cost is made up: 40 requests a round,
    // 10 us for each that is answered and 5 us for each that is refused.
    for (index, round) in trace.rounds.iter_mut().enumerate() {
        let refused = if Phase::of(&plan, index) == Some(Phase::Attack) { 36 } else { 0 };
        round.server_cpu = Duration::from_micros((40 - refused) * 10 + refused * 5);
    }
    let attack = AttackReport::of(&plan, report, &trace).unwrap();
    assert_eq!((attack.quiet.requests, attack.quiet.refused), (480, 0));
    assert_eq!((attack.attack.requests, attack.attack.refused), (480, 432));
    assert!((attack.cost.median - 0.5).abs() < 1e-9, "{:?}", attack.cost);
}
