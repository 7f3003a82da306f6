//! The bookkeeping of a drive: what was sent, what came, when, and the first errors. Knows no socket.

use super::check::Event;
use crate::plan::Plan;
use crate::report::{Counts, Error, Failure, Latency, Report, escaped};
use crate::workload::Kind;
use std::collections::BTreeMap;
use std::time::Instant;

/// Errors kept in full.
const ERRORS: usize = 10;

/// What was counted.
pub struct Book<'a> {
    plan: &'a Plan,
    pub round: usize,
    parts: [Counts; 2],
    errors: Vec<Error>,
    failures: BTreeMap<(&'static str, Kind), u64>,
    pub unasked: u64,
    /// The server is held: the clock stands at 0.
    pub held: bool,
    /// When the round was let go; when each request was sent and how long it took, in microseconds.
    pub start: Instant,
    sent_at: Vec<u32>,
    taken: Vec<u32>,
}

impl<'a> Book<'a> {
    /// Nothing sent yet.
    pub fn new(plan: &'a Plan) -> Book<'a> {
        let planned = |rounds: &[usize]| Counts {
            planned: (rounds.iter().sum::<usize>() * plan.connections) as u64,
            ..Counts::default()
        };
        let (warmup, window) = plan.rounds.split_at(plan.warmup_rounds);
        Book {
            plan,
            round: 0,
            parts: [planned(warmup), planned(window)],
            errors: Vec::with_capacity(ERRORS),
            failures: BTreeMap::new(),
            unasked: 0,
            held: false,
            start: Instant::now(),
            sent_at: vec![0; plan.len()],
            taken: vec![u32::MAX; plan.len()],
        }
    }

    /// The first byte of a request was written at `now`.
    pub fn sent(&mut self, request: usize, now: u32) {
        self.sent_at[request] = now;
        self.part(request).sent += 1;
    }

    pub fn now(&self) -> u32 {
        if self.held {
            return 0;
        }
        u32::try_from(self.start.elapsed().as_micros()).unwrap_or(u32::MAX - 1)
    }

    pub fn part(&mut self, request: usize) -> &mut Counts {
        let window = request as u64 >= self.parts[0].planned;
        &mut self.parts[usize::from(window)]
    }

    /// What was found on a connection in bytes that came at `now`.
    pub fn tell(&mut self, connection: usize, event: Event, now: u32) {
        match event {
            Event::Right(request) => {
                self.part(request).verified += 1;
                self.taken[request] = now.saturating_sub(self.sent_at[request]);
            }
            Event::Wrong(request, what, got) => {
                self.part(request).wrong += 1;
                self.note(connection, request, what, got);
            }
            Event::Undone(request, what, got) => {
                let part = self.part(request);
                part.verified -= 1;
                part.wrong += 1;
                self.taken[request] = u32::MAX;
                self.note(connection, request, what, got);
            }
            Event::Unasked => self.unasked += 1,
        }
    }

    pub fn note(&mut self, connection: usize, request: usize, what: &'static str, got: String) {
        *self.failures.entry((what, self.plan.kind(request))).or_default() += 1;
        if self.errors.len() == ERRORS {
            return;
        }
        let plan = self.plan;
        let (round, position) = plan.place(request);
        self.errors.push(Error {
            what: what.into(),
            kind: plan.kind(request).name().into(),
            part: if round < plan.warmup_rounds { "warm-up" } else { "window" }.into(),
            connection,
            round,
            position,
            request: escaped(&plan.requests()[plan.request(request)], 1200),
            expected: escaped(&plan.answers()[plan.answer(request)], 600),
            got,
        });
    }

    /// Answers that came, right or wrong, and answers that are lost.
    pub fn settled(&self) -> u64 {
        self.parts.iter().map(|part| part.verified + part.wrong + part.lost).sum()
    }

    /// The report, and each request's time to its right answer in microseconds.
    pub fn report(self, seconds: f64, stopped: bool) -> (Report, Vec<Option<u32>>) {
        let [warmup, window] = self.parts;
        let taken: Vec<Option<u32>> =
            self.taken.into_iter().map(|taken| (taken != u32::MAX).then_some(taken)).collect();
        let failure =
            |((what, kind), count): ((&str, Kind), u64)| Failure { what: what.into(), kind: kind.name().into(), count };
        let mut report = Report {
            seed: self.plan.seed,
            warmup,
            window,
            errors: self.errors,
            failures: self.failures.into_iter().map(failure).collect(),
            unasked: self.unasked,
            stopped,
            seconds,
            requests_per_second: if seconds > 0.0 { window.verified as f64 / seconds } else { 0.0 },
            latency_us: Latency::of(taken[warmup.planned as usize..].iter().flatten().map(|taken| u64::from(*taken))),
            server: None,
            saturation: None,
            score: None,
        };
        report.score = (!stopped).then(|| seconds + report.errors_in_all() as f64);
        (report, taken)
    }
}
