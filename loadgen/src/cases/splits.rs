//! The exchanges of cases once more: cut in two after a byte, byte by byte, and in a pipeline with other requests.
//! The answers must not differ. Which of these forms are tried is decided here, and how they are sent.

use super::connection::pipeline;
use super::line::{Failure, Line, PATIENCE, Step, fail};
use super::table::{Exchange, Stage, play_row};
use crate::chance::Chance;
use crate::model::answer::{closes, status};
use std::time::{Duration, Instant};

/// How many of the forms are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splits {
    /// None: requests are sent whole and alone.
    #[default]
    None,
    /// Some, chosen by this seed.
    Some(u64),
    /// Every one. Bodies too long for that are cut after every byte of their start and end, and here and there between.
    All,
}

/// A form in which requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In two pieces, the first of that many bytes. In a row, every request that is longer.
    Cut(usize),
    /// Byte by byte.
    Bytes,
    /// In one piece, behind the other requests of this place in [`BEHIND`], and before one.
    Behind(usize),
    /// All requests of the row in one piece.
    Pipeline,
}

impl std::fmt::Display for Form {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Form::Cut(at) => write!(out, "cut after {at} bytes"),
            Form::Bytes => write!(out, "byte by byte"),
            Form::Behind(place) => write!(out, "behind {} other requests and before one", BEHIND[*place]),
            Form::Pipeline => write!(out, "all requests in one write"),
        }
    }
}

/// Cuts of one request where not all are tried.
const SOME_CUTS: usize = 8;
/// Requests longer than this are not cut after every byte.
const LONG: usize = 1_024;
/// Requests longer than this are not sent byte by byte.
const LONGEST_IN_BYTES: usize = 512;
/// Other requests before the one that is tried.
const BEHIND: [usize; 3] = [0, 1, 5];
/// Connections that are served at the same time.
const LANES: usize = 64;
/// Connections that ask whether the server has got as far. Several, as it may serve them in several threads.
const PROBES: usize = 6;

impl Splits {
    /// The forms of a row whose longest request is that long; `name` is the case's.
    pub fn of_row(self, longest: usize, name: &str) -> Vec<Form> {
        let cuts = self.cuts(longest, SOME_CUTS, name).into_iter().map(Form::Cut);
        if self == Splits::None { Vec::new() } else { cuts.chain([Form::Bytes, Form::Pipeline]).collect() }
    }

    /// The forms of a request of that length, one of `many` of a case; `name` tells it from others. The more there are,
    /// the fewer are tried of each where not all are.
    pub fn of_request(self, length: usize, many: usize, name: &str) -> Vec<Form> {
        let bytes = (length <= LONGEST_IN_BYTES).then_some(Form::Bytes);
        let behind = (0..BEHIND.len()).map(Form::Behind);
        let cuts = self.cuts(length, (SOME_CUTS / many).max(1), name).into_iter().map(Form::Cut);
        match self {
            Splits::None => Vec::new(),
            Splits::Some(seed) if many > 1 => {
                let others: Vec<Form> = bytes.into_iter().chain(behind).collect();
                cuts.chain([*Chance::new(seed, name).pick(&others)]).collect()
            }
            _ => cuts.chain(bytes).chain(behind).collect(),
        }
    }

    fn cuts(self, length: usize, some: usize, name: &str) -> Vec<usize> {
        match self {
            Splits::Some(seed) if length > 1 => {
                let mut chance = Chance::new(seed, name);
                (0..some).map(|_| chance.between(1, length - 1)).collect()
            }
            Splits::All => (1..length).filter(|at| *at < LONG || length - at < 64 || at % 997 == 0).collect(),
            _ => Vec::new(),
        }
    }
}

/// An exchange that changes nothing, in one form.
pub struct Attempt<'a> {
    /// The case's place in the job.
    pub case: usize,
    /// What is sent and must come.
    pub exchange: &'a Exchange,
    /// How it is sent.
    pub form: Form,
}

/// Connections that are used again and again, and those that tell when the server has read what was sent.
pub struct Lanes<'a> {
    stage: &'a Stage<'a>,
    lines: Vec<Option<Line>>,
    /// The case each of them served last.
    last: Vec<usize>,
    probes: Vec<Line>,
    /// Requests that stand before others, with their answers, and one that stands behind.
    before: Vec<Exchange>,
    behind: Exchange,
}

impl<'a> Lanes<'a> {
    /// Opens the probes; the rest as it is needed.
    pub fn open(stage: &'a Stage<'a>) -> Result<Lanes<'a>, Failure> {
        let probes = (0..PROBES).map(|_| stage.open()).collect::<Result<_, _>>()?;
        let before = BEHIND.map(pipeline).to_vec();
        let lines = (0..LANES).map(|_| None).collect();
        Ok(Lanes { stage, lines, last: vec![0; LANES], probes, before, behind: pipeline(1) })
    }

    /// Returns when a request sent now has been answered on every probe: a server that serves who is ready has then read
    /// what was sent before. No clock is needed, and nothing is wrong where it has not: then the cut was not seen.
    fn settle(&mut self) -> Step {
        for probe in &mut self.probes {
            probe.send("GET /no/such/path HTTP/1.1\r\nHost: probe\r\n\r\n")?;
        }
        self.probes.iter_mut().try_for_each(|probe| probe.expect(status(404)))
    }

    /// Makes the attempts, many at a time, but none of a case that has failed.
    pub fn attempt(&mut self, attempts: &[Attempt<'_>], failures: &mut [Option<(Form, Failure)>]) {
        for batch in attempts.chunks(LANES) {
            let batch: Vec<&Attempt<'_>> = batch.iter().filter(|attempt| failures[attempt.case].is_none()).collect();
            let begun: Vec<Step> = batch.iter().enumerate().map(|(lane, attempt)| self.begin(lane, attempt)).collect();
            let settled = self.settle();
            let sent: Vec<Step> = (batch.iter().zip(begun).enumerate())
                .map(|(lane, (attempt, begun))| begun.and_then(|()| self.go_on(lane, attempt)))
                .collect();
            let deadline = Instant::now() + PATIENCE;
            for (lane, (attempt, sent)) in batch.iter().zip(sent).enumerate() {
                let result = sent.and_then(|()| self.end(lane, attempt, deadline)).and(settled.clone());
                if let Err(failure) = result {
                    self.lines[lane] = None;
                    failures[attempt.case].get_or_insert((attempt.form, failure));
                }
            }
        }
        for (line, case) in self.lines.iter_mut().zip(&self.last) {
            if let Some(Err(failure)) = line.as_mut().map(Line::in_step) {
                failures[*case].get_or_insert((Form::Behind(0), failure));
            }
        }
    }

    /// What is sent first.
    fn begin(&mut self, lane: usize, attempt: &Attempt<'_>) -> Step {
        self.last[lane] = attempt.case;
        let line = match &mut self.lines[lane] {
            Some(line) => line,
            none => none.insert(self.stage.open()?),
        };
        let request = &attempt.exchange.request;
        match attempt.form {
            Form::Cut(at) => line.send(&request[..at]),
            Form::Bytes => request[..request.len() - 1].chunks(1).try_for_each(|byte| line.send(byte)),
            Form::Behind(place) => line.send([&self.before[place].request[..], request, &self.behind.request].concat()),
            Form::Pipeline => Ok(()),
        }
    }

    /// What is sent when the server has read that.
    fn go_on(&mut self, lane: usize, attempt: &Attempt<'_>) -> Step {
        let request = &attempt.exchange.request;
        match (attempt.form, &mut self.lines[lane]) {
            (Form::Cut(at), Some(line)) => line.send(&request[at..]),
            (Form::Bytes, Some(line)) => line.send(&request[request.len() - 1..]),
            _ => Ok(()),
        }
    }

    /// What must come.
    fn end(&mut self, lane: usize, attempt: &Attempt<'_>, deadline: Instant) -> Step {
        let Some(line) = &mut self.lines[lane] else {
            return fail("a connection", "none");
        };
        line.patience = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(10));
        let answer = &attempt.exchange.answer;
        let last = closes(answer);
        match attempt.form {
            Form::Behind(place) if last => line.expect([&self.before[place].answer[..], answer].concat())?,
            Form::Behind(place) => {
                line.expect([&self.before[place].answer[..], answer, &self.behind.answer].concat())?;
            }
            _ => line.expect(answer)?,
        }
        if last {
            line.fin()?;
            self.lines[lane] = None;
        }
        Ok(())
    }

    /// Plays a row in one form, on a connection of its own.
    pub fn row(&mut self, steps: &[Exchange], form: Form) -> Step {
        let mut line = self.stage.open()?;
        match form {
            Form::Pipeline => {
                let all =
                    |of: fn(&Exchange) -> &[u8]| steps.iter().flat_map(|step| of(step).to_vec()).collect::<Vec<u8>>();
                let (request, answer) = (all(|step| &step.request), all(|step| &step.answer));
                play_row(&mut line, &[Exchange { request, answer }], |line, request| line.send(request))
            }
            Form::Bytes => {
                play_row(&mut line, steps, |line, request| request.chunks(1).try_for_each(|byte| line.send(byte)))
            }
            Form::Cut(at) => play_row(&mut line, steps, |line, request| {
                let at = at.min(request.len());
                line.send(&request[..at])?;
                self.settle()?;
                line.send(&request[at..])
            }),
            Form::Behind(_) => fail("a row", "a form that rows do not have"),
        }
    }
}
