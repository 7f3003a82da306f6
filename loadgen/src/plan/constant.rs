//! Plans of one request, sent again and again, with one answer: what a server that knows no contract can be held to.
//!
//! Such servers like to tell the time. The value of an answer's `Date` field may therefore be any of its length; every
//! other byte must be the given one.

use super::Plan;
use crate::workload::{Kind, Schedule, Workload};

/// In an answer with blanks, a byte that may be any.
pub(super) const BLANK: u8 = 0;

impl Plan {
    /// The plan that sends `request` as often and at the pace the workload says. Kinds, users and networks of the
    /// workload play no part.
    ///
    /// # Errors
    /// What is wrong with the request or the answer, for whoever wrote it.
    pub fn constant(seed: u64, workload: &Workload, request: &[u8], answer: &[u8]) -> Result<Plan, String> {
        whole("request", request)?;
        whole("answer", answer)?;
        if !answer.starts_with(b"HTTP/1.") || answer.contains(&BLANK) {
            return Err("the answer must begin with HTTP/1. and hold no zero byte".into());
        }
        if workload.schedule == Schedule::Churn {
            return Err("a server of one answer keeps its connections open: churn is not for it".into());
        }
        let answer = blanked(answer);
        let total = workload.warmup as usize + workload.requests as usize;
        let ends = |size: usize| -> Result<Vec<u32>, String> {
            let end = |index: usize| u32::try_from(size * (index + 1)).map_err(|_| too_large(size, total));
            (0..total).map(end).collect()
        };
        let share = |requests: u32| workload.share(requests) as usize;
        let rounds = |requests: u32| match workload.schedule {
            Schedule::Waves => vec![workload.pipelining as usize; share(requests) / workload.pipelining as usize],
            Schedule::ClosedLoop | Schedule::Churn => vec![share(requests); usize::from(requests > 0)],
        };
        let warmup = rounds(workload.warmup);
        Ok(Plan {
            seed,
            connections: workload.connections as usize,
            pipelining: workload.pipelining as usize,
            schedule: workload.schedule,
            warmup_rounds: warmup.len(),
            rounds: [warmup, rounds(workload.requests)].concat(),
            kinds: vec![Kind::Get; total],
            request_ends: ends(request.len())?,
            answer_ends: ends(answer.len())?,
            requests: request.repeat(total),
            answers: answer.repeat(total),
            blanks: answer.contains(&BLANK),
        })
    }
}

/// The text has a head that ends as heads end.
fn whole(what: &str, text: &[u8]) -> Result<(), String> {
    if text.windows(4).any(|four| four == b"\r\n\r\n") {
        return Ok(());
    }
    Err(format!("the {what} has no empty line after its fields: its lines must end in CR LF"))
}

/// The answer with its date blanked.
fn blanked(answer: &[u8]) -> Vec<u8> {
    const FIELD: &[u8] = b"\r\ndate: ";
    let mut answer = answer.to_vec();
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
    let named = answer[..head].windows(FIELD.len()).position(|at| at.eq_ignore_ascii_case(FIELD));
    if let Some(at) = named {
        answer[at + FIELD.len()..].iter_mut().take_while(|byte| **byte != b'\r').for_each(|byte| *byte = BLANK);
    }
    answer
}

fn too_large(size: usize, total: usize) -> String {
    format!("{total} times {size} bytes are more than a plan holds: ask for fewer requests")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const DATED: &[u8] = b"HTTP/1.1 200 OK\r\ndate: Mon\r\nContent-Length: 10\r\n\r\n\r\nDate: Sun";

    #[test]
    fn every_request_and_answer_is_the_given_one_in_whole_rounds() {
        for schedule in [Schedule::Waves, Schedule::ClosedLoop] {
            let workload =
                Workload { connections: 4, pipelining: 2, requests: 16, warmup: 8, schedule, ..Workload::default() };
            let plan = Plan::constant(3, &workload, REQUEST, PLAIN).unwrap();
            assert_eq!((plan.seed, plan.len()), (3, 24));
            assert!((0..24).all(|index| &plan.requests()[plan.request(index)] == REQUEST));
            assert!((0..24).all(|index| &plan.answers()[plan.answer(index)] == PLAIN));
            assert_eq!(plan.rounds.iter().sum::<usize>(), 6);
            assert_eq!(plan.rounds[..plan.warmup_rounds].iter().sum::<usize>(), 2);
        }
    }

    #[test]
    fn only_the_value_of_a_date_in_the_head_may_differ_also_after_encoding() {
        let workload = Workload { connections: 1, pipelining: 1, requests: 1, warmup: 0, ..Workload::default() };
        let plan = Plan::constant(3, &workload, REQUEST, DATED).unwrap();
        let plan = Plan::decode(&plan.encode()).unwrap();
        let right = plan.answers();
        let came = |from: &str, to: &str| String::from_utf8_lossy(DATED).replacen(from, to, 1).into_bytes();
        assert!(plan.fits(right, &came("Mon", "Tue")));
        assert!(!plan.fits(right, &came("Sun", "Tue")));
        assert!(!plan.fits(right, &came("200", "404")));
        let plain = Plan::constant(3, &workload, REQUEST, PLAIN).unwrap();
        assert!(!plain.fits(b"\0\0", b"ab"), "without a date nothing may differ");
    }

    #[test]
    fn a_text_that_no_server_could_be_asked_or_held_to_is_refused_with_the_reason() {
        let workload = Workload::default();
        let refused = |request: &[u8], answer: &[u8]| Plan::constant(1, &workload, request, answer).unwrap_err();
        assert!(refused(b"GET / HTTP/1.1\n\n", PLAIN).contains("request has no empty line"));
        assert!(refused(REQUEST, b"HTTP/1.1 200 OK\r\n").contains("answer has no empty line"));
        assert!(refused(REQUEST, b"200 OK\r\n\r\n").contains("begin with HTTP/1."));
        let many = Workload { requests: 3_999_744, warmup: 0, ..Workload::default() };
        let long = [PLAIN, &[b'x'; 2000]].concat();
        assert!(Plan::constant(1, &many, REQUEST, &long).unwrap_err().contains("fewer requests"));
    }
}
