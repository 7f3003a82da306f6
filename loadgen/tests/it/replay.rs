//! A server that knows the plan and answers from it, with one fault if wished: it does no work, so whatever the
//! checker finds is the fault.

use loadgen::plan::Plan;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// What is done wrong, once, on connection 3 in the given round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// One bit of one answer is other than it should be.
    Flip,
    /// A byte more behind the last answer of the round, in the same write.
    Extra,
    /// A byte more behind the last answer, a moment later.
    LateExtra,
    /// The last byte of the round's last answer never comes.
    Missing,
    /// A byte in the middle is left out.
    Dropped,
    /// Two answers in the wrong order.
    Swapped,
    /// The connection is closed before the round's last answer.
    Closed,
    /// The connection is closed after the round's last answer.
    ClosedAfter,
    /// Nothing comes.
    Silent,
    /// The first answer comes when only half of the requests can have been read.
    Early,
    /// Not HTTP at all.
    Noise,
}

/// Starts the server on a thread that ends with the test process.
pub fn serve(plan: &Arc<Plan>, fault: Fault, round: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let plan = Arc::clone(plan);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, plan) = (socket.unwrap(), Arc::clone(&plan));
            std::thread::spawn(move || connection(socket, &plan, fault, round));
        }
    });
    addr
}

fn connection(mut socket: TcpStream, plan: &Plan, fault: Fault, faulty: usize) {
    socket.set_nodelay(true).unwrap();
    // Which connection this is, its first bytes tell: no two requests are the same.
    let mut known = None;
    for round in 0..plan.rounds.len() {
        let depth = plan.pipelining.min(plan.rounds[round]);
        let mut at = 0;
        while at < plan.rounds[round] {
            let mut got = vec![0; 64];
            let first = match known {
                Some(connection) => plan.cell(round, connection).start + at,
                None => {
                    if socket.read_exact(&mut got).is_err() {
                        return;
                    }
                    let connection = (0..plan.connections)
                        .find(|&c| plan.requests()[plan.request(plan.cell(0, c).start).start..].starts_with(&got))
                        .expect("the first bytes are some connection's");
                    known = Some(connection);
                    plan.cell(0, connection).start
                }
            };
            let connection = known.unwrap();
            let many = depth.min(plan.rounds[round] - at);
            let last = first + many - 1;
            let already = if round == 0 && at == 0 { 64 } else { 0 };
            let bytes = plan.request(first).start + already..plan.request(last).end;
            let faulty = connection == 3 % plan.connections && round == faulty && at == 0;
            let mut answers: Vec<Vec<u8>> = (first..=last).map(|i| plan.answers()[plan.answer(i)].to_vec()).collect();
            let mut rest = vec![0; bytes.len()];
            if faulty && fault == Fault::Early {
                socket.read_exact(&mut rest[..1]).unwrap();
                socket.write_all(&answers.concat()).unwrap();
                return std::thread::sleep(Duration::from_secs(20));
            }
            if socket.read_exact(&mut rest).is_err() {
                return;
            }
            at += many;
            let end = answers.len() - 1;
            if faulty {
                match fault {
                    Fault::Flip => answers[end / 2][9] ^= 1,
                    Fault::Extra => answers[end].push(b'\n'),
                    Fault::Missing => drop(answers[end].pop()),
                    Fault::Dropped => drop(answers[end / 2].remove(20)),
                    Fault::Swapped => {
                        let other = (1..=end).find(|&i| answers[i] != answers[0]).expect("two answers differ");
                        answers.swap(0, other);
                    }
                    Fault::Closed => {
                        answers.pop();
                    }
                    Fault::Noise => answers[end / 2] = b"SSH-2.0-x\r\n".to_vec(),
                    Fault::Silent => return std::thread::sleep(Duration::from_secs(20)),
                    _ => {}
                }
            }
            if socket.write_all(&answers.concat()).is_err() {
                return;
            }
            if faulty && fault == Fault::LateExtra {
                std::thread::sleep(Duration::from_millis(5));
                let _ = socket.write_all(b"x");
            }
            if faulty && matches!(fault, Fault::Closed | Fault::ClosedAfter) {
                return;
            }
        }
    }
    // Held open until the load generator leaves.
    let _ = socket.read(&mut [0; 1]);
}
