//! Plays the cases a filter takes: which share a server, which need one of their own, and what is told of them.

use super::line::{Failure, Step, fail};
use super::splits::{Attempt, Form, Lanes, Splits};
use super::table::{Case, Effect, Exchange, Play, Stage};
use super::{CaseFilter, CaseReport, FailedCase, RunningServer, StartServer};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Servers at work at the same time.
const SERVERS: usize = 4;

/// Runs the cases the filter takes. `progress` is told each case's name as it ends.
pub fn run(start: &dyn StartServer, filter: &CaseFilter, progress: &mut dyn FnMut(&str)) -> CaseReport {
    let began = Instant::now();
    let (taken, left): (Vec<Case>, Vec<Case>) = super::all().into_iter().partition(|case| filter.takes(case));
    let queue = Mutex::new(jobs(taken).into_iter());
    let start = &OneAtATime { start, starting: Mutex::new(()) };
    let (tell, told) = channel();
    let mut report =
        CaseReport { passed: 0, failed: Vec::new(), left_out: left.len(), in_other_forms: 0, seconds: 0.0 };
    std::thread::scope(|scope| {
        for _ in 0..SERVERS {
            let (tell, queue) = (tell.clone(), &queue);
            scope.spawn(move || {
                loop {
                    let cases = queue.lock().expect("no one panics with the queue").next();
                    let Some(cases) = cases else { return };
                    let done = play(start, &cases, filter.splits);
                    // The receiver outlives all workers.
                    let _ = tell.send((cases, done));
                }
            });
        }
        drop(tell);
        for (cases, done) in told {
            report.in_other_forms += done.forms;
            for (case, failure) in cases.iter().zip(done.failures) {
                progress(&format!(
                    "{} {}: {}",
                    case.number,
                    case.name,
                    if failure.is_some() { "FAILED" } else { "passed" }
                ));
                match failure {
                    None => report.passed += 1,
                    Some((form, failure)) => report.failed.push(failed(case, form, failure)),
                }
            }
        }
    });
    report.failed.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
    report.seconds = began.elapsed().as_secs_f64();
    report
}

fn failed(case: &Case, form: Option<Form>, failure: Failure) -> FailedCase {
    let name = form.map_or_else(|| case.name.clone(), |form| format!("{} ({form})", case.name));
    FailedCase { number: case.number, name, sent: failure.sent, expected: failure.expected, got: failure.got }
}

/// Cases that share a server, together. Cases that change nothing do, the others get their own. Slow ones come first,
/// as they take longest.
fn jobs(cases: Vec<Case>) -> Vec<Vec<Case>> {
    let (shared, mut own): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.effect == Effect::None && !case.slow);
    own.sort_by_key(|case| !case.slow);
    let mut shares: Vec<Vec<Case>> = (0..SERVERS).map(|_| Vec::new()).collect();
    for (index, case) in shared.into_iter().enumerate() {
        shares[index % SERVERS].push(case);
    }
    own.into_iter().map(|case| vec![case]).chain(shares.into_iter().filter(|share| !share.is_empty())).collect()
}

/// What came of the cases of a job.
struct Done {
    /// For each case, why it failed, and in which form if not in its usual one.
    failures: Vec<Option<(Option<Form>, Failure)>>,
    /// Exchanges in other forms.
    forms: usize,
}

/// Plays cases one after the other on one server, then those that passed in other forms.
fn play(start: &dyn StartServer, cases: &[Case], splits: Splits) -> Done {
    let folder = tempfile::tempdir().map_err(anyhow::Error::from);
    let folder = folder.and_then(|folder| crate::dataset::fixture().write(folder.path()).map(|()| folder));
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => {
            let failure = |_| fail::<()>("a data folder", format!("{error:#}")).err().map(|failure| (None, failure));
            return Done { failures: cases.iter().map(failure).collect(), forms: 0 };
        }
    };
    let mut server = Server { start, folder: folder.path(), running: None, last: None };
    let mut failures: Vec<_> = (cases.iter())
        .map(|case| server.on(Some(case.number), |stage| case.play(stage)).err().map(|failure| (None, failure)))
        .collect();
    let mut forms = 0;
    if let [case @ Case { effect: Effect::Undone | Effect::Lasting, play: Play::Exchanges(steps), .. }] = cases {
        let longest = steps.iter().map(|step| step.request.len()).max().unwrap_or(0);
        for form in splits.of_row(longest, &case.name) {
            if failures[0].is_some() {
                break;
            }
            if case.effect == Effect::Lasting {
                server.running = None;
            }
            let result = server.on(None, |stage| Lanes::open(stage)?.row(steps, form));
            failures[0] = result.err().map(|failure| (Some(form), failure));
            forms += steps.len();
        }
    } else {
        let attempts = attempts(cases, splits, |case| failures[case].is_none());
        if !attempts.is_empty() {
            let mut found = vec![None; cases.len()];
            let lived =
                server.on(None, |stage| Lanes::open(stage).map(|mut lanes| lanes.attempt(&attempts, &mut found)));
            if let Err(failure) = lived {
                // Which case it was is not known: one of those in pieces.
                found[attempts[0].case].get_or_insert((attempts[0].form, failure));
            }
            for (failure, found) in failures.iter_mut().zip(found) {
                *failure = failure.take().or(found.map(|(form, failure)| (Some(form), failure)));
            }
            forms += attempts.len();
        }
    }
    Done { failures, forms }
}

/// All forms of the exchanges that change nothing. Those of one case are far apart, so that few are under way at the
/// same time.
fn attempts(cases: &[Case], splits: Splits, passed: impl Fn(usize) -> bool) -> Vec<Attempt<'_>> {
    let mut all: Vec<(usize, &Exchange, Vec<Form>)> = Vec::new();
    for (index, case) in cases.iter().enumerate().filter(|(index, _)| passed(*index)) {
        if let (Play::Exchanges(steps), Effect::None) = (&case.play, case.effect) {
            for (place, exchange) in steps.iter().enumerate() {
                let name = format!("{} {place}", case.name);
                all.push((index, exchange, splits.of_request(exchange.request.len(), steps.len(), &name)));
            }
        }
    }
    let most = all.iter().map(|(_, _, forms)| forms.len()).max().unwrap_or(0);
    (0..most)
        .flat_map(|turn| {
            all.iter().filter_map(move |(case, exchange, forms)| {
                Some(Attempt { case: *case, exchange, form: *forms.get(turn)? })
            })
        })
        .collect()
}

/// Starts servers one after the other: a free port is not kept between being found and being listened on, and two
/// servers that share it would not notice.
struct OneAtATime<'a> {
    start: &'a dyn StartServer,
    starting: Mutex<()>,
}

impl StartServer for OneAtATime<'_> {
    fn start(&self, data_dir: &Path) -> anyhow::Result<Box<dyn RunningServer>> {
        let _starting = self.starting.lock().expect("no one panics while a server starts");
        self.start.start(data_dir)
    }
}

/// A server that is started when it is needed, and again when it ended.
struct Server<'a> {
    start: &'a dyn StartServer,
    folder: &'a Path,
    running: Option<Box<dyn RunningServer>>,
    /// The case that was played on it last.
    last: Option<u16>,
}

impl Server<'_> {
    /// Plays something on the server, a case of that number where it is one; the server must live on.
    fn on(&mut self, number: Option<u16>, play: impl FnOnce(&Stage<'_>) -> Step) -> Step {
        let before = if self.running.is_some() { self.last } else { None };
        let mut running = match self.running.take().map_or_else(|| self.start.start(self.folder), Ok) {
            Ok(running) => running,
            Err(error) => return fail("a server that listens", format!("{error:#}")),
        };
        self.last = number.or(before);
        let result = play(&Stage { addr: running.addr(), pid: running.pid(), start: self.start });
        let Some(how) = ended(running.as_mut(), result.is_err()) else {
            self.running = Some(running);
            return result;
        };
        let after = before.map_or_else(String::new, |number| format!(" after case {number}"));
        let ended = format!("the server ended with {how}{after}");
        match result {
            Ok(()) => fail("a server that lives on", ended),
            Err(failure) => Err(Failure { got: format!("{}; {ended}", failure.got), ..failure }),
        }
    }
}

/// How a server ended, if it did. Its connections end a moment before its process: where something failed and it does not
/// answer any more, that moment is waited for.
fn ended(running: &mut dyn RunningServer, failed: bool) -> Option<String> {
    let how = running.ended();
    if how.is_some() || !failed || answers(running.addr()) {
        return how;
    }
    let deadline = Instant::now() + MOMENT;
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
        if let Some(how) = running.ended() {
            return Some(how);
        }
    }
    None
}

/// How long a server may take to answer, or to end.
const MOMENT: Duration = Duration::from_millis(500);

/// Whether a server answers at all.
fn answers(addr: SocketAddr) -> bool {
    let ask = || {
        let mut socket = TcpStream::connect_timeout(&addr, MOMENT)?;
        socket.set_read_timeout(Some(MOMENT))?;
        socket.write_all(b"GET /no/such/path HTTP/1.1\r\nHost: probe\r\n\r\n")?;
        socket.read(&mut [0])
    };
    ask().is_ok_and(|count| count > 0)
}
