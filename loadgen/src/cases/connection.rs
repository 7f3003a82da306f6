//! Cases 127 to 133 and the clocks of 10.5: how one connection begins, is cut into pieces, and ends.

use super::line::{Line, Step, fail};
use super::request::{ANN, UA, UM, auth, by_admin, call, get, newcomer, patch, put_user, tb, tm};
use super::table::{Case, Exchange, Stage, fresh, own, slow};
use crate::model::answer::{Tail, allow, head_of, method, ok, ok_with, status, status_with};
use crate::model::token::issued;
use std::time::{Duration, Instant};

/// Requests that change nothing, with their answers: all routes, with and without bodies.
pub fn mixed() -> Vec<(Vec<u8>, Vec<u8>)> {
    let token = |nonce: &str| ok(&format!("\"{}\"", issued("ann", nonce)));
    let json = format!("{{{ANN},\"nonce\":\"c\"}}");
    let (first, second) = json.split_at(4);
    let mut chunked = call("POST", "/auth").field("Transfer-Encoding: chunked").bytes();
    chunked
        .extend_from_slice(format!("4\r\n{first}\r\n{:x};x\r\n{second}\r\n0\r\nT: t\r\n\r\n", second.len()).as_bytes());
    vec![
        (get().bytes(), ok(UA)),
        (auth(format!("{{{ANN},\"nonce\":\"1\"}}")).bytes(), token("1")),
        (get().key("x").bytes(), status(403)),
        (chunked, token("c")),
        (get().line("HEAD /user HTTP/1.1").bytes(), head_of(UA, Tail::None)),
        (call("GET", "/auth").bytes(), method(allow::AUTH, Tail::None)),
        (put_user(newcomer("ann", "France")).bytes(), status(409)),
        (call("GET", "/nowhere").bytes(), status(404)),
        (by_admin("DELETE", "user/bob").bytes(), status(404)),
        (patch("x").bytes(), status(400)),
        (get().key(tm()).bytes(), ok(UM)),
    ]
}

/// Requests and answers, each in one piece, `count` of them.
pub fn pipeline(count: usize) -> Exchange {
    let pairs = mixed();
    let taken = || pairs.iter().cycle().take(count);
    Exchange {
        request: taken().flat_map(|pair| pair.0.clone()).collect(),
        answer: taken().flat_map(|pair| pair.1.clone()).collect(),
    }
}

/// The group.
pub fn cases() -> Vec<Case> {
    vec![
        own(127, "1,000 mixed requests in one write", |stage| {
            let Exchange { request: requests, answer: answers } = pipeline(1000);
            let mut line = stage.open()?;
            let sender = line.send_aside(requests);
            line.expect(answers)?;
            sender.join().expect("the sender does not panic");
            line.in_step()
        }),
        own(127, "3,000 short requests in one write", |stage| {
            let mut line = stage.open()?;
            let sender = line.send_aside(b"GET /x HTTP/1.1\r\nHost:\r\n\r\n".repeat(3_000));
            line.expect(status(404).repeat(3_000))?;
            sender.join().expect("the sender does not panic");
            line.in_step()
        }),
        own(127, "three requests cut after every byte", |stage| {
            let pairs = mixed();
            let requests = [&pairs[1].0[..], &pairs[3].0, &pairs[0].0].concat();
            let answers = [&pairs[1].1[..], &pairs[3].1, &pairs[0].1].concat();
            for cut in 1..requests.len() {
                let mut line = stage.open()?;
                line.send(&requests[..cut])?;
                std::thread::sleep(Duration::from_micros(500));
                line.send(&requests[cut..])?;
                line.expect(&answers).map_err(|mut failure| {
                    failure.got = format!("cut after {cut} bytes: {}", failure.got);
                    failure
                })?;
            }
            Ok(())
        }),
        own(127, "byte by byte", |stage| {
            let Exchange { request: requests, answer: answers } = pipeline(11);
            let mut line = stage.open()?;
            for byte in requests.chunks(1) {
                line.send(byte)?;
            }
            line.expect(answers)?;
            line.in_step()
        }),
        fresh(101, "reading and changing by turns in one write", |stage| {
            let bob = || get().key(tb()).from("10.2.0.1").bytes();
            let named = |name: &str| patch(format!("{{\"name\":\"{name}\"}}")).bytes();
            let ann = |name: &str| ok(&UA.replace("\"Ann\"", &format!("\"{name}\"")));
            let late = || get().key(issued("late", "")).bytes();
            let subnet = |method| by_admin(method, "subnet/77.99.0.0/16").bytes();
            let there = || get().from("77.99.1.1").bytes();
            let steps = [
                (get().bytes(), ok(UA)),
                (named("B"), status(202)),
                (get().bytes(), ann("B")),
                (bob(), ok(super::request::UB)),
                (by_admin("PUT", "user/bob").bytes(), status(201)),
                (bob(), status(403)),
                (by_admin("DELETE", "user/bob").bytes(), status(204)),
                (bob(), ok(super::request::UB)),
                (there(), ann("B")),
                (subnet("PUT"), status(201)),
                (there(), status(403)),
                (subnet("DELETE"), status(204)),
                (there(), ann("B")),
                (late(), status(403)),
                (put_user(newcomer("late", "France")).bytes(), status(201)),
                (late(), ok(r#"{"login":"late","name":"New","phone":"+7","country":"France"}"#)),
                (named("Ann"), status(202)),
                (get().bytes(), ok(UA)),
            ];
            let mut line = stage.open()?;
            line.send(steps.iter().flat_map(|step| step.0.clone()).collect::<Vec<u8>>())?;
            for (_, answer) in steps {
                line.expect(answer)?;
            }
            line.in_step()
        }),
        own(115, "a second empty line that comes by itself", |stage| {
            let mut line = stage.open()?;
            line.send("\r\n")?;
            line.quiet(Duration::from_millis(60))?;
            line.send("\r\n")?;
            line.expect(status_with(400, Tail::Close))?;
            line.fin()
        }),
        fresh(206, "half a body has no answer and no effect", |stage| {
            let bytes = put_user(newcomer("late", "France")).bytes();
            let (mut line, mut other) = (stage.open()?, stage.open()?);
            line.send(&bytes[..bytes.len() - 1])?;
            line.quiet(Duration::from_millis(60))?;
            other.send(get().key(issued("late", "")).bytes())?;
            other.expect(status(403))?;
            line.send(&bytes[bytes.len() - 1..])?;
            line.expect(status(201))?;
            line.in_step()
        }),
        own(206, "a head without its end has no answer", |stage| {
            let bytes = get().bytes();
            let mut line = stage.open()?;
            line.send(&bytes[..bytes.len() - 1])?;
            line.quiet(Duration::from_millis(60))?;
            line.send(&bytes[bytes.len() - 1..])?;
            line.expect(ok(UA))?;
            line.in_step()
        }),
        fresh(128, "what stands behind Connection: close has no effect", |stage| {
            let mut line = stage.open()?;
            line.send([get().field("Connection: close").bytes(), by_admin("PUT", "user/bob").bytes()].concat())?;
            line.expect(ok_with(UA, Tail::Close))?;
            line.fin()?;
            let mut other = stage.open()?;
            other.send(get().key(tb()).from("10.2.0.1").bytes())?;
            other.expect(ok(super::request::UB))
        }),
        fresh(128, "what stands behind a fault has no effect", |stage| {
            let mut line = stage.open()?;
            line.send([get().line("GET user HTTP/1.1").bytes(), by_admin("PUT", "user/bob").bytes()].concat())?;
            line.expect(status_with(400, Tail::Close))?;
            line.fin()?;
            let mut other = stage.open()?;
            other.send(get().key(tb()).from("10.2.0.1").bytes())?;
            other.expect(ok(super::request::UB))
        }),
        own(130, "51 answers, then FIN, though 100 KB lie unread", |stage| {
            let Exchange { request: mut requests, answer: mut answers } = pipeline(50);
            requests.extend(get().field("Connection: close").bytes());
            answers.extend(ok_with(UA, Tail::Close));
            requests.extend(vec![b'x'; 100_000]);
            let mut line = stage.open()?;
            let sender = line.send_aside(requests);
            sender.join().expect("the sender does not panic");
            // The kernel would turn unread input into an RST now, if the server simply closed.
            std::thread::sleep(Duration::from_millis(50));
            line.expect(answers)?;
            line.fin()
        }),
        own(131, "a fault's answer is readable while 60 KB of body still come", |stage| {
            let mut line = stage.open()?;
            line.send(call("POST", "/auth").field("X : a").field("Content-Length: 60000").bytes())?;
            for _ in 0..6 {
                line.send([b'x'; 10_000])?;
                std::thread::sleep(Duration::from_millis(5));
            }
            line.expect(status_with(400, Tail::Close))?;
            line.fin()
        }),
        own(133, "half a head, then the end", |stage| ended(stage, &get().bytes()[..40], &[])),
        own(133, "half a body, then the end", |stage| {
            let bytes = auth(format!("{{{ANN}}}")).bytes();
            ended(stage, &bytes[..bytes.len() - 3], &[])
        }),
        own(133, "half a chunk, then the end", |stage| {
            ended(
                stage,
                &[call("POST", "/auth").field("Transfer-Encoding: chunked").bytes(), b"5\r\nabc".to_vec()].concat(),
                &[],
            )
        }),
        own(133, "nothing, then the end", |stage| ended(stage, b"", &[])),
        own(133, "whole requests, then the end", |stage| {
            let Exchange { request: requests, answer: answers } = pipeline(30);
            ended(stage, &requests, &answers)
        }),
        own(133, "whole requests and a half, then the end", |stage| {
            let Exchange { request: requests, answer: answers } = pipeline(30);
            ended(stage, &[requests, get().bytes()[..20].to_vec()].concat(), &answers)
        }),
        slow(207, "10 s for a head", |stage| timed(stage, b"GET /user HTTP/1.1\r\nHost: x\r\n", 9.0..12.0, Some(408))),
        slow(207, "10 s for a body", |stage| timed(stage, &auth("{}").head(), 9.0..12.0, Some(408))),
        slow(207, "10 s for a head though bytes drip", |stage| {
            let mut line = stage.open()?;
            let start = Instant::now();
            line.send("GET /user HTTP/1.1\r\nX: ")?;
            while start.elapsed() < Duration::from_millis(8_800) {
                line.quiet(Duration::from_millis(200))?;
                line.send("a")?;
            }
            line.expect(status_with(408, Tail::Close))?;
            line.fin()
        }),
        slow(208, "75 s without a request", |stage| timed(stage, b"", 73.0..79.0, None)),
        slow(208, "75 s after an answer", |stage| {
            let mut line = stage.open()?;
            line.send(get().bytes())?;
            line.expect(ok(UA))?;
            until(&mut line, 73.0..79.0, None)
        }),
    ]
}

/// Sends bytes and the end: exactly these answers come, then FIN.
fn ended(stage: &Stage<'_>, bytes: &[u8], answers: &[u8]) -> Step {
    let mut line = stage.open()?;
    line.send(bytes)?;
    line.half_close()?;
    line.expect(answers)?;
    line.fin()
}

/// Sends bytes and waits: the connection ends within these seconds, with that status or without any.
pub fn timed(stage: &Stage<'_>, bytes: &[u8], seconds: std::ops::Range<f64>, code: Option<u16>) -> Step {
    let mut line = stage.open()?;
    line.send(bytes)?;
    until(&mut line, seconds, code)
}

/// Waits: the connection ends within these seconds, with that status or without any.
pub fn until(line: &mut Line, seconds: std::ops::Range<f64>, code: Option<u16>) -> Step {
    let start = Instant::now();
    line.quiet(Duration::from_secs_f64(seconds.start))?;
    line.patience = Duration::from_secs_f64(seconds.end - seconds.start);
    if let Some(code) = code {
        line.expect(status_with(code, Tail::Close))?;
    }
    line.fin()?;
    if start.elapsed().as_secs_f64() > seconds.end + 0.5 {
        return fail(format!("the end within {seconds:?} s"), format!("{:?}", start.elapsed()));
    }
    Ok(())
}
