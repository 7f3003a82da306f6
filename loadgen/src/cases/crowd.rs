//! Cases 70, 71, 134 to 139: many connections, and clients that behave badly towards others.

use super::connection::pipeline;
use super::line::{Failure, Line, PATIENCE, Step, fail};
use super::request::{ANN, UA, auth, by_admin, call, get, newcomer, patch, put_user, tb};
use super::table::{Case, Exchange, Stage, fresh, own, slow};
use crate::dial::pile_up;
use crate::model::answer::{ok, status};
use crate::model::token::issued;
use crate::place::across_cores;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The group.
pub fn cases() -> Vec<Case> {
    vec![
        fresh(70, "64 equal PUTs of a subnet", |stage| contest(stage, &by_admin("PUT", "subnet/77.99.0.0/16").bytes())),
        fresh(70, "64 equal PUTs of a user", |stage| contest(stage, &put_user(newcomer("x", "France")).bytes())),
        fresh(70, "64 equal blocks of a user", |stage| contest(stage, &by_admin("PUT", "user/bob").bytes())),
        fresh(71, "a blocked user is blocked on every other connection at once", |stage| {
            let mut lines = open(stage, 64)?;
            let mut admin = stage.open()?;
            for _ in 0..10 {
                for (change, code, answer) in [("PUT", 201, status(403)), ("DELETE", 204, ok(super::request::UB))] {
                    admin.send(by_admin(change, "user/bob").bytes())?;
                    admin.expect(status(code))?;
                    for line in &mut lines {
                        line.send(get().key(tb()).from("10.2.0.1").bytes())?;
                    }
                    for line in &mut lines {
                        line.expect(&answer)?;
                    }
                }
            }
            Ok(())
        }),
        fresh(71, "a blocked subnet is blocked on every other connection at once", |stage| {
            let mut lines = open(stage, 64)?;
            let mut admin = stage.open()?;
            for (change, code, answer) in [("PUT", 201, status(403)), ("DELETE", 204, ok(UA))] {
                admin.send(by_admin(change, "subnet/77.99.0.0/16").bytes())?;
                admin.expect(status(code))?;
                for line in &mut lines {
                    line.send(get().from("77.99.1.1").bytes())?;
                }
                for line in &mut lines {
                    line.expect(&answer)?;
                }
            }
            Ok(())
        }),
        fresh(71, "thousands of changes on one connection are seen on every other at once", |stage| {
            const CHANGES: usize = 4_500;
            let mut lines = open(stage, 16)?;
            let mut admin = stage.open()?;
            let ask = |lines: &mut Vec<Line>, answers: &[Vec<u8>]| -> Step {
                for line in lines.iter_mut() {
                    line.send([get().key(tb()).from("10.2.0.1").bytes(), get().bytes()].concat())?;
                }
                lines.iter_mut().try_for_each(|line| line.expect(answers.concat()))
            };
            ask(&mut lines, &[ok(super::request::UB), ok(UA)])?;
            // The first of them and the last are looked for: what falls out between is what came first.
            let changes = (1..=CHANGES).flat_map(|number| patch(format!("{{\"phone\":\"{number}\"}}")).bytes());
            let sender = admin.send_aside(by_admin("PUT", "user/bob").bytes().into_iter().chain(changes).collect());
            admin.expect([status(201), status(202).repeat(CHANGES)].concat())?;
            sender.join().expect("the sender does not panic");
            ask(&mut lines, &[status(403), ok(&UA.replace("+331", &CHANGES.to_string()))])
        }),
        slow(134, "10,000 requests by a client that does not read for 5 s", |stage| {
            let Exchange { request: requests, answer: answers } = pipeline(10_000);
            let before = resident(stage.pid);
            let mut line = stage.open()?;
            let sender = line.send_aside(requests);
            let start = Instant::now();
            let mut worst = Duration::ZERO;
            while start.elapsed() < Duration::from_secs(5) {
                let asked = Instant::now();
                let mut other = stage.open()?;
                other.send(get().bytes())?;
                other.expect(ok(UA))?;
                worst = worst.max(asked.elapsed());
                std::thread::sleep(Duration::from_millis(50));
            }
            if worst > Duration::from_secs(1) {
                return fail("others served within 1 s", format!("{worst:?}"));
            }
            let grown = resident(stage.pid).saturating_sub(before);
            if grown > 64 * 1024 {
                return fail("memory within 64 MiB of what it was", format!("{} MiB more", grown / 1024));
            }
            line.expect(answers)?;
            sender.join().expect("the sender does not panic");
            line.in_step()
        }),
        fresh(136, "1,000 clients that reset in mid-response", |stage| {
            for _ in 0..20 {
                let mut lines = open(stage, 50)?;
                for line in &mut lines {
                    rustix::net::sockopt::set_socket_linger(line.socket(), Some(Duration::ZERO))
                        .expect("a socket can linger for no time");
                    // The server may be faster than this client: then there is nobody left to write to.
                    let _ = line.socket().write_all(&pipeline(20).request);
                }
                drop(lines);
                for mut line in open(stage, 3)? {
                    line.send(get().bytes())?;
                    line.expect(ok(UA))?;
                    line.in_step()?;
                }
            }
            let left = || std::fs::read_dir(format!("/proc/{}/fd", stage.pid)).map_or(0, Iterator::count);
            let start = Instant::now();
            while left() > 100 && start.elapsed() < Duration::from_secs(3) {
                std::thread::sleep(Duration::from_millis(20));
            }
            if left() > 100 { fail("at most 100 open descriptors", left().to_string()) } else { Ok(()) }
        }),
        slow(137, "10,000 connections at once", |stage| {
            let mut lines = open(stage, 10_000)?;
            for line in &mut lines {
                line.send(get().bytes())?;
            }
            for line in &mut lines {
                line.expect(ok(UA))?;
            }
            Ok(())
        }),
        slow(139, "9,999 idle connections do not slow busy ones", |stage| {
            let busy = |lines: &mut [Line]| -> Result<Duration, Failure> {
                let start = Instant::now();
                for _ in 0..500 {
                    for line in lines.iter_mut() {
                        line.send(get().bytes())?;
                        line.expect(ok(UA))?;
                    }
                }
                Ok(start.elapsed())
            };
            let mut two = open(stage, 2)?;
            let alone = busy(&mut two)?;
            let _idle = open(stage, 9_999)?;
            let among = busy(&mut two)?;
            if among > alone * 3 + Duration::from_millis(200) {
                return fail(format!("about {alone:?} for 1,000 requests"), format!("{among:?}"));
            }
            Ok(())
        }),
        slow(139, "busy connections on all cores share what they change among 9,900 idle ones", |stage| {
            let _idle = open(stage, 9_900)?;
            shared(stage)
        }),
        fresh(139, "busy connections on all cores share what they change", shared),
        fresh(211, "a connection that floods starves nobody", |stage| {
            let Exchange { request, answer } = pipeline(20_000);
            let mut flood = stage.open()?;
            let sender = flood.send_aside(request);
            // Taken while the others are served, so that the flood goes on.
            let (others, flooded) = std::thread::scope(|scope| {
                let taken = scope.spawn(|| flood.expect(answer));
                (open(stage, 16).and_then(served), taken.join().expect("the reader does not panic"))
            });
            sender.join().expect("the sender does not panic");
            others.and(flooded)
        }),
        fresh(211, "a flood without end starves nobody", |stage| {
            // Much work for few bytes of answer, so that it is the server that cannot keep up.
            let body = b"1\r\nx\r\n".repeat(10_000);
            let flood = call("POST", "/x").chunks([&body[..], b"0\r\n\r\n"].concat()).bytes();
            let lines = open(stage, 16)?;
            let floods = open(stage, 4)?;
            let over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for line in &floods {
                    scope.spawn(|| {
                        while !over.load(Relaxed) {
                            if line.socket().write_all(&flood).is_err() {
                                return;
                            }
                        }
                    });
                    scope.spawn(|| {
                        let mut answers = vec![0; 1 << 18];
                        while line.socket().read(&mut answers).is_ok_and(|count| count > 0) {
                            if over.load(Relaxed) {
                                return;
                            }
                        }
                    });
                }
                std::thread::sleep(Duration::from_millis(100));
                let others = served(lines);
                over.store(true, Relaxed);
                for line in &floods {
                    // Wakes who waits for it.
                    let _ = line.socket().shutdown(Shutdown::Both);
                }
                others
            })
        }),
        own(211, "answers taken bit by bit while more is asked", |stage| {
            let nonces = (0..3_000).map(|number| format!("{number}{}", "<".repeat(500)));
            let (mut requests, mut answers) = (Vec::new(), Vec::new());
            for nonce in nonces {
                requests.extend(auth(format!("{{{ANN},\"nonce\":\"{nonce}\"}}")).bytes());
                answers.extend(ok(&format!("\"{}\"", issued("ann", &nonce))));
            }
            let mut line = stage.open()?;
            set_socket_recv_buffer_size(line.socket(), 32_768).expect("a socket's buffer has a size");
            let sender = line.send_aside(requests);
            std::thread::sleep(Duration::from_millis(100));
            for piece in answers.chunks(10_000) {
                line.expect(piece)?;
                std::thread::sleep(Duration::from_micros(100));
            }
            sender.join().expect("the sender does not panic");
            line.in_step()
        }),
        own(211, "more comes at once than a server has room to receive", |stage| {
            let Exchange { request, answer } = pipeline(1_000);
            let mut lines = open(stage, 100)?;
            let senders: Vec<_> = lines.iter_mut().map(|line| line.send_aside(request.clone())).collect();
            for line in &mut lines {
                line.patience = 4 * PATIENCE;
                line.expect(&answer)?;
                line.in_step()?;
            }
            senders.into_iter().for_each(|sender| sender.join().expect("a sender does not panic"));
            Ok(())
        }),
        fresh(211, "answers nobody takes stop the reading, not the memory's growth", |stage| {
            let nonce = "<".repeat(60_000);
            let request = auth(format!("{{{ANN},\"nonce\":\"{nonce}\"}}")).bytes();
            let before = resident(stage.pid);
            let mut line = stage.open()?;
            let sender = line.send_aside(request.repeat(150));
            // Until it has all it will take, however slow it is.
            let (mut last, mut grown) = (u64::MAX, 0);
            while grown != last {
                std::thread::sleep(Duration::from_millis(400));
                (last, grown) = (grown, resident(stage.pid).saturating_sub(before));
                if grown > 32 * 1024 {
                    return fail("memory within 32 MiB of what it was", format!("{} MiB more", grown / 1024));
                }
            }
            let answer = ok(&format!("\"{}\"", issued("ann", &nonce)));
            for _ in 0..150 {
                line.expect(&answer)?;
            }
            sender.join().expect("the sender does not panic");
            line.in_step()
        }),
        fresh(212, "out of descriptors: no spinning, the others go on, accepting resumes", exhausted),
    ]
}

/// That many connections, as many from each core as from the others. The file limit is raised as far as it goes.
fn open(stage: &Stage<'_>, count: usize) -> Result<Vec<Line>, Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, opening says so.
    let _ = setrlimit(Resource::Nofile, limit);
    across_cores(count, || stage.open())
}

/// Each of them is served, more than once.
fn served(mut lines: Vec<Line>) -> Step {
    for _ in 0..4 {
        for line in &mut lines {
            line.send(get().bytes())?;
            line.expect(ok(UA))?;
        }
    }
    Ok(())
}

/// Of 64 equal requests on 64 connections one gets 201 and the others 409.
fn contest(stage: &Stage<'_>, request: &[u8]) -> Step {
    let mut lines = open(stage, 64)?;
    for line in &mut lines {
        line.send(request)?;
    }
    let (won, lost) = (status(201), status(409));
    let mut winners = 0;
    for line in &mut lines {
        winners += usize::from(line.expect_one_of(&[&won, &lost])? == 0);
        line.in_step()?;
    }
    if winners == 1 { Ok(()) } else { fail("201 once", format!("{winners} times")) }
}

/// Memory a process holds, in KiB; 0 if the kernel does not say.
fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Changes made on one of many connections are seen at once on all of them: with 32, some are served by every core.
fn shared(stage: &Stage<'_>) -> Step {
    let mut lines = open(stage, 32)?;
    for turn in 0..lines.len() {
        let block = if turn % 2 == 0 { ("PUT", 201) } else { ("DELETE", 204) };
        lines[turn].send(
            [by_admin(block.0, "user/bob").bytes(), patch(format!(r#"{{"phone":"+{turn}"}}"#)).bytes()].concat(),
        )?;
        lines[turn].expect([status(block.1), status(202)].concat())?;
        let bob = if turn % 2 == 0 { status(403) } else { ok(super::request::UB) };
        let ann = ok(&UA.replace("+331", &format!("+{turn}")));
        for line in &mut lines {
            line.send([get().key(tb()).from("10.2.0.1").bytes(), get().bytes()].concat())?;
        }
        for line in &mut lines {
            line.expect([&bob[..], &ann].concat())?;
        }
    }
    Ok(())
}

/// The process's hard limit of descriptors; none if there is none.
fn hard_limit(pid: u32) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The server's limit of descriptors is lowered until only a few more connections fit.
fn exhausted(stage: &Stage<'_>) -> Step {
    const FIT: u64 = 10;
    let files = || std::fs::read_dir(format!("/proc/{}/fd", stage.pid)).map_or(0, Iterator::count) as u64;
    let spent = || {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", stage.pid)).unwrap_or_default();
        let times = text.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
        times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    let mut first = open(stage, 2)?;
    for line in &mut first {
        line.send(get().bytes())?;
        line.expect(ok(UA))?;
    }
    let pid = i32::try_from(stage.pid).ok().and_then(Pid::from_raw);
    // Raising the hard limit takes a privilege that even root may lack.
    let limit = Rlimit { current: Some(files() + FIT), maximum: hard_limit(stage.pid) };
    if let Err(error) = prlimit(pid, Resource::Nofile, limit) {
        return fail("a server whose limit of descriptors can be lowered", error.to_string());
    }
    let held = files();
    pile_up(stage.addr, stage.pid).or_else(|error| fail("room for many connections", format!("{error:#}")))?;
    // Who comes now stands behind that pile: what it costs is not to be taken for spinning below.
    for mut line in open(stage, 8)? {
        line.patience = 4 * PATIENCE;
        line.send(get().bytes())?;
        line.expect(ok(UA))?;
    }
    let start = Instant::now();
    while files() > held {
        if start.elapsed() > 4 * PATIENCE {
            return fail(
                "connections that close when their clients do",
                format!("{} more descriptors", files() - held),
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut more = open(stage, 60)?;
    for line in &mut more {
        line.send(get().bytes())?;
    }
    for line in &mut first {
        line.send(get().bytes())?;
        line.expect(ok(UA))?;
    }
    let before = spent();
    std::thread::sleep(Duration::from_secs(1));
    // In ticks of 10 ms: a thread that spins spends 100 of them, unless others leave it none.
    let ticks = spent() - before;
    if ticks > 30 {
        return fail(
            "a server that waits while it is out of descriptors",
            format!("{} ms of CPU time in 1 s", ticks * 10),
        );
    }
    // Each that is served makes room for the next.
    let mut last = Instant::now();
    while !more.is_empty() {
        let mut waiting = Vec::new();
        let before = more.len();
        for mut line in more {
            if !line.try_expect(ok(UA), Duration::from_millis(2))? {
                waiting.push(line);
            }
        }
        if waiting.len() < before {
            last = Instant::now();
        } else if last.elapsed() > PATIENCE {
            return fail(
                "accepting that resumes when a connection closes",
                format!("{before} connections that nobody accepts"),
            );
        }
        more = waiting;
    }
    for line in &mut first {
        line.in_step()?;
    }
    Ok(())
}
