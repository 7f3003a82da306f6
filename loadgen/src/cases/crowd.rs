//! Cases 70, 71, 134 to 139: many connections, and clients that behave badly towards others.

use super::connection::pipeline;
use super::line::{Failure, Line, Step, fail};
use super::request::{UA, by_admin, get, newcomer, put_user, tb};
use super::table::{Case, Exchange, Stage, fresh, slow};
use crate::model::answer::{ok, status};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::Write;
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
        slow(139, "9,999 idle connections do not slow two busy ones", |stage| {
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
            let idle = open(stage, 9_999)?;
            let among = busy(&mut two)?;
            drop(idle);
            if among > alone * 3 + Duration::from_millis(200) {
                return fail(format!("about {alone:?} for 1,000 requests"), format!("{among:?}"));
            }
            Ok(())
        }),
    ]
}

/// That many connections. The file limit is raised as far as it goes.
fn open(stage: &Stage<'_>, count: usize) -> Result<Vec<Line>, Failure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, opening says so.
    let _ = setrlimit(Resource::Nofile, limit);
    (0..count).map(|_| stage.open()).collect()
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
