//! Neighbours of cases 109 and 127 to 134: what keeps a connection, what ends it, and how it ends; the slow clocks.

use super::connection::{pipeline, timed, until};
use super::line::{Line, Step, fail};
use super::request::{ANN, Request, UA, auth, by_admin, call, get, newcomer, patch, put_user, tb};
use super::table::{Case, Exchange, Stage, each, fresh, own, round, row, slow};
use crate::model::answer::{Tail, allow, closes, method, ok, ok_with, status, status_with};
use crate::model::token::issued;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// The group.
pub fn cases() -> Vec<Case> {
    let old = |request: Request, line: &str| request.line(format!("{line} HTTP/1.0"));
    let keep = |request: Request| request.field("Connection: keep-alive");
    let connection = |version: &str, lines: &[&str], tail| {
        let request = lines.iter().fold(get().line(format!("GET /user HTTP/{version}")), |request, line| {
            request.field(format!("Connection:{line}"))
        });
        (request, ok_with(UA, tail))
    };
    let every = |tail: Tail| {
        vec![
            (get(), "GET /user", ok_with(UA, tail)),
            (get().line(""), "HEAD /user", crate::model::answer::head_of(UA, tail)),
            (auth(format!("{{{ANN}}}")), "POST /auth", ok_with(&format!("\"{}\"", issued("ann", "")), tail)),
            (auth("x"), "POST /auth", status_with(400, tail)),
            (patch("{}"), "PATCH /user", status_with(202, tail)),
            (get().no_key(), "GET /user", status_with(403, tail)),
            (get(), "GET /x", status_with(404, tail)),
            (get(), "BREW /auth", method(allow::AUTH, tail)),
            (put_user(newcomer("ann", "France")), "PUT /user", status_with(409, tail)),
        ]
    };
    let blocks = |change: fn(Request, &str) -> Request, tail: Tail| -> Vec<(Request, Vec<u8>)> {
        let codes = [("PUT", 201), ("PUT", 409), ("DELETE", 204), ("DELETE", 404)];
        let asked = |path: &str, verb: &str| change(by_admin(verb, path), &format!("{verb} /blacklist/{path}"));
        ["user/bob", "subnet/77.0.0.0/8"]
            .into_iter()
            .flat_map(|path| codes.map(|(verb, code)| (asked(path, verb), status_with(code, tail))))
            .collect()
    };
    vec![
        each(
            109,
            "HTTP/1.0 and what it says of the connection",
            [
                (&[][..], Tail::Close),
                (&[" keep-alive"], Tail::Keep),
                (&["KEEP-ALIVE"], Tail::Keep),
                (&["\tkeep-Alive\t"], Tail::Keep),
                (&[" x, keep-alive"], Tail::Keep),
                (&[" , keep-alive ,"], Tail::Keep),
                (&[" x", " keep-alive"], Tail::Keep),
                (&[" keep-alive", " x"], Tail::Keep),
                (&[" keep-alive,keep-alive"], Tail::Keep),
                (&[" close"], Tail::Close),
                (&[" close, keep-alive"], Tail::Close),
                (&[" keep-alive, close"], Tail::Close),
                (&[" keep-alive", " close"], Tail::Close),
                (&[" close", " keep-alive"], Tail::Close),
                (&[" xkeep-alive"], Tail::Close),
                (&[" keep-alives"], Tail::Close),
                (&[" keep-alive;x"], Tail::Close),
                (&[" keep alive"], Tail::Close),
                (&[" \"keep-alive\""], Tail::Close),
                (&[""], Tail::Close),
                (&[" keep-alive, xclose"], Tail::Keep),
            ]
            .map(|(lines, tail)| connection("1.0", lines, tail)),
        ),
        each(
            128,
            "HTTP/1.1 and what it says of the connection",
            ["1.1", "1.5"].into_iter().flat_map(|version| {
                [
                    (&[][..], Tail::None),
                    (&[" keep-alive"], Tail::None),
                    (&[" xclose"], Tail::None),
                    (&[" closex"], Tail::None),
                    (&[" close;q=1"], Tail::None),
                    (&[" close x"], Tail::None),
                    (&[" \"close\""], Tail::None),
                    (&[""], Tail::None),
                    (&[" ,"], Tail::None),
                    (&[" clos"], Tail::None),
                    (&[" x-close, not-close"], Tail::None),
                    (&["close"], Tail::Close),
                    (&[" cLoSe"], Tail::Close),
                    (&["\tclose\t"], Tail::Close),
                    (&[" ,close"], Tail::Close),
                    (&[" close ,"], Tail::Close),
                    (&[" close\t,\tx"], Tail::Close),
                    (&[" x,y,close,z"], Tail::Close),
                    (&[" keep-alive, close"], Tail::Close),
                    (&[" close, keep-alive"], Tail::Close),
                    (&[" x", " close"], Tail::Close),
                    (&[" close", " x"], Tail::Close),
                    (&[" close", " close"], Tail::Close),
                    (&["", " close"], Tail::Close),
                    (&[" keep-alive", " x", " close"], Tail::Close),
                ]
                .map(|(lines, tail)| connection(version, lines, tail))
            }),
        ),
        each(
            128,
            "a close after every answer",
            every(Tail::Close).into_iter().map(|(request, line, answer)| {
                (request.line(format!("{line} HTTP/1.1")).field("Connection: close"), answer)
            }),
        ),
        each(
            109,
            "HTTP/1.0 with every answer",
            every(Tail::Close).into_iter().map(|(request, line, answer)| (old(request, line), answer)),
        ),
        each(
            109,
            "HTTP/1.0 that stays with every answer",
            every(Tail::Keep).into_iter().map(|(request, line, answer)| (keep(old(request, line)), answer)),
        ),
        each(
            109,
            "versions in one pipeline",
            [(
                [keep(old(get(), "GET /user")).bytes(), get().bytes(), old(get(), "GET /user").bytes()].concat(),
                [ok_with(UA, Tail::Keep), ok(UA), ok_with(UA, Tail::Close)].concat(),
            )],
        ),
        each(
            109,
            "HTTP/1.0 and two Hosts, or none",
            [
                (old(get().field("Host: y"), "GET /user"), status_with(400, Tail::Close)),
                (keep(old(get().no_host(), "GET /user")), ok_with(UA, Tail::Keep)),
            ],
        ),
        round(
            109,
            "changes by HTTP/1.0 that stays",
            blocks(
                |request, line| request.line(format!("{line} HTTP/1.0")).field("Connection: keep-alive"),
                Tail::Keep,
            ),
        ),
        row(
            128,
            "a change and a close: 201",
            vec![(put_user(newcomer("x", "France")).field("Connection: close"), status_with(201, Tail::Close))],
        ),
        row(
            128,
            "a change and a close: 201 for a user",
            vec![(by_admin("PUT", "user/bob").field("Connection: close"), status_with(201, Tail::Close))],
        ),
        row(
            128,
            "a change and a close: 204",
            vec![
                (by_admin("PUT", "user/bob"), status(201)),
                (by_admin("DELETE", "user/bob").field("Connection: close"), status_with(204, Tail::Close)),
            ],
        ),
        row(
            128,
            "a change by HTTP/1.0: 204",
            vec![
                (by_admin("PUT", "user/bob"), status(201)),
                (by_admin("DELETE", "").line("DELETE /blacklist/user/bob HTTP/1.0"), status_with(204, Tail::Close)),
            ],
        ),
        each(
            128,
            "what stands behind an end is not answered",
            [
                (get().field("Connection: close").behind("x\0y"), ok_with(UA, Tail::Close)),
                (get().field("Connection: close").behind("\r\n\r\n\r\n"), ok_with(UA, Tail::Close)),
                (
                    get().field("Connection: close").behind(get().field("Connection: close").bytes()),
                    ok_with(UA, Tail::Close),
                ),
                (old(get(), "GET /user").behind(get().bytes()), ok_with(UA, Tail::Close)),
                (get().line("GET user HTTP/1.1").behind(get().bytes()), status_with(400, Tail::Close)),
                (
                    call("POST", "/auth").field("Content-Length: 70000").behind(get().bytes()),
                    status_with(413, Tail::Close),
                ),
                (get().field("Connection: close").behind("x".repeat(60_000)), ok_with(UA, Tail::Close)),
            ],
        ),
        own(133, "the end of input at every byte of three requests", |stage| {
            let Exchange { request, answer } = pipeline(3);
            let ends: Vec<Exchange> = (1..=3).map(pipeline).collect();
            for cut in (0..request.len()).step_by(3) {
                let whole = ends
                    .iter()
                    .rposition(|end| end.request.len() <= cut)
                    .map_or(&answer[..0], |last| &ends[last].answer);
                let mut line = stage.open()?;
                line.send(&request[..cut])?;
                line.half_close()?;
                line.expect(whole)?;
                line.fin()?;
            }
            Ok(())
        }),
        own(133, "a close, then the end", |stage| {
            for (request, answer) in [
                (get().field("Connection: close").bytes(), ok_with(UA, Tail::Close)),
                (get().line("GET user HTTP/1.1").bytes(), status_with(400, Tail::Close)),
                (call("POST", "/auth").field("Content-Length: 70000").bytes(), status_with(413, Tail::Close)),
                (
                    super::http::fields(101)[..super::http::fields(101).len() - 2].to_vec(),
                    status_with(431, Tail::Close),
                ),
            ] {
                let mut line = stage.open()?;
                line.send(&request)?;
                line.half_close()?;
                line.expect(answer)?;
                line.fin()?;
            }
            Ok(())
        }),
        fresh(133, "half a change, then the end: no effect", |stage| {
            for request in [
                by_admin("PUT", "user/bob").body("xx").bytes(),
                by_admin("PUT", "user/bob").chunks("1\r\nx\r\n0\r\n\r\n").bytes(),
            ] {
                for less in 1..3 {
                    let mut line = stage.open()?;
                    line.send(&request[..request.len() - less])?;
                    line.half_close()?;
                    line.fin()?;
                }
            }
            let mut other = stage.open()?;
            other.send(get().key(tb()).from("10.2.0.1").bytes())?;
            other.expect(ok(super::request::UB))
        }),
        fresh(128, "no change behind any end has an effect", |stage| {
            for end in [
                get().field("Connection: close"),
                get().line("GET /user HTTP/1.0"),
                get().line("GET /user HTTP/2.0"),
                get().line("GET * HTTP/1.1"),
                get().field("X : a"),
                call("POST", "/auth").field("Transfer-Encoding: gzip"),
                call("POST", "/auth").field("Expect: foo"),
                call("POST", "/auth").field("Content-Length: x"),
                call("POST", "/auth").chunks("g\r\n"),
            ] {
                let mut line = stage.open()?;
                let changes = [
                    by_admin("PUT", "user/bob").bytes(),
                    put_user(newcomer("late", "France")).bytes(),
                    patch(r#"{"name":"x"}"#).bytes(),
                ];
                line.send([end.bytes(), changes.concat()].concat())?;
                let ended = [200, 400, 417, 501, 505]
                    .map(|code| if code == 200 { ok_with(UA, Tail::Close) } else { status_with(code, Tail::Close) });
                line.expect_one_of(&ended.each_ref().map(Vec::as_slice))?;
                line.fin()?;
                let mut other = stage.open()?;
                other.send(
                    [get().key(tb()).from("10.2.0.1").bytes(), get().key(issued("late", "")).bytes(), get().bytes()]
                        .concat(),
                )?;
                other.expect([ok(super::request::UB), status(403), ok(UA)].concat())?;
            }
            Ok(())
        }),
        own(130, "900 KB behind a close do not cost the answer", |stage| {
            lingering(stage, &get().field("Connection: close").bytes(), &ok_with(UA, Tail::Close), 900_000)
        }),
        own(131, "900 KB behind a fault do not cost the answer", |stage| {
            lingering(stage, &get().line("GET * HTTP/1.1").bytes(), &status_with(400, Tail::Close), 900_000)
        }),
        own(131, "a body that is too long does not cost the answer", |stage| {
            lingering(
                stage,
                &call("POST", "/auth").field("Content-Length: 900000").bytes(),
                &status_with(413, Tail::Close),
                900_000,
            )
        }),
        own(130, "a client that goes on writing after the FIN sees no RST", |stage| {
            let mut line = stage.open()?;
            line.send(get().field("Connection: close").bytes())?;
            line.expect(ok_with(UA, Tail::Close))?;
            line.fin()?;
            for _ in 0..20 {
                line.send([b'x'; 1_000])?;
                std::thread::sleep(Duration::from_millis(10));
            }
            if reset(&mut line) { fail("input thrown away for 5 s after FIN", "RST") } else { Ok(()) }
        }),
        slow(207, "10 s for chunks", |stage| {
            timed(stage, &call("POST", "/auth").chunks("5\r\nabc").bytes(), 9.0..12.0, Some(408))
        }),
        slow(207, "10 s for trailers", |stage| {
            timed(stage, &call("POST", "/auth").chunks("0\r\nA: b\r\n").bytes(), 9.0..12.0, Some(408))
        }),
        slow(207, "10 s for a body that is expected", |stage| {
            let mut line = stage.open()?;
            line.send(auth("abc").field("Expect: 100-continue").head())?;
            line.expect(crate::model::answer::go_on())?;
            until(&mut line, 9.0..12.0, Some(408))
        }),
        slow(207, "10 s for a head behind an answer", |stage| {
            let mut line = stage.open()?;
            line.send([get().bytes(), b"GET /".to_vec()].concat())?;
            line.expect(ok(UA))?;
            until(&mut line, 9.0..12.0, Some(408))
        }),
        slow(207, "10 s for a body count from the end of the head", |stage| {
            let bytes = auth("abc").bytes();
            let head = auth("abc").head().len();
            let mut line = stage.open()?;
            line.send(&bytes[..head - 1])?;
            line.quiet(Duration::from_secs(6))?;
            line.send(&bytes[head - 1..head])?;
            until(&mut line, 9.0..12.0, Some(408))
        }),
        slow(208, "an empty line is no byte of a request", |stage| timed(stage, b"\r\n", 73.0..79.0, None)),
        slow(208, "requests that come slowly but in time", |stage| {
            let mut line = stage.open()?;
            for _ in 0..3 {
                let bytes = auth(format!("{{{ANN}}}")).bytes();
                let head = auth(format!("{{{ANN}}}")).head().len();
                line.quiet(Duration::from_secs(11))?;
                for piece in [&bytes[..20], &bytes[20..head], &bytes[head..head + 1]] {
                    line.send(piece)?;
                    line.quiet(Duration::from_secs(4))?;
                }
                line.send(&bytes[head + 1..])?;
                line.expect(ok(&format!("\"{}\"", issued("ann", ""))))?;
            }
            line.in_step()
        }),
        slow(209, "a peer that takes no output for 27 s loses nothing", |stage| {
            let (mut line, right) = stuffed(stage)?;
            std::thread::sleep(Duration::from_secs(27));
            line.expect(right)?;
            line.in_step()
        }),
        slow(209, "a peer that takes no output for 36 s is cut, or loses nothing", |stage| {
            let (line, right) = stuffed(stage)?;
            std::thread::sleep(Duration::from_secs(36));
            let mut come = Vec::new();
            line.socket().set_read_timeout(Some(Duration::from_secs(5))).expect("5 s are a timeout");
            // Cut or not, it ends: what matters is what came before.
            let _ = line.socket().take(right.len() as u64).read_to_end(&mut come);
            if right.starts_with(&come) {
                Ok(())
            } else {
                fail("the right answers, or their beginning", format!("other bytes among {}", come.len()))
            }
        }),
        slow(130, "after FIN the server waits 5 s and no longer", |stage| {
            let mut line = stage.open()?;
            line.send(get().field("Connection: close").bytes())?;
            line.expect(ok_with(UA, Tail::Close))?;
            line.fin()?;
            std::thread::sleep(Duration::from_secs(3));
            line.send("x")?;
            if reset(&mut line) {
                return fail("input thrown away for 5 s after FIN", "RST after 3 s");
            }
            std::thread::sleep(Duration::from_secs(6));
            // The first byte after the close is answered by RST.
            let _ = line.send("x");
            if reset(&mut line) { Ok(()) } else { fail("a closed connection 9 s after FIN", "one that takes bytes") }
        }),
    ]
}

/// A request that ends the connection with that much behind it: the answer and FIN come, and no RST.
fn lingering(stage: &Stage<'_>, request: &[u8], answer: &[u8], more: usize) -> Step {
    assert!(closes(answer), "the request ends the connection");
    let mut line = stage.open()?;
    // Written whole, or the server has reset before it has all.
    line.send([request, &vec![b'x'; more]].concat())?;
    // All of it has been sent, and some of it may lie unread: a server that simply closed would have reset by now.
    std::thread::sleep(Duration::from_millis(50));
    line.expect(answer)?;
    line.fin()?;
    if reset(&mut line) { fail(format!("{more} bytes thrown away"), "RST") } else { Ok(()) }
}

/// Whether the peer has reset, as writing or reading now tells.
fn reset(line: &mut Line) -> bool {
    std::thread::sleep(Duration::from_millis(50));
    let broken = |error: std::io::Error| matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
    line.socket().write(b"x").is_err_and(broken)
}

/// A connection on which far more answers wait than a server holds or a kernel takes.
fn stuffed(stage: &Stage<'_>) -> Result<(Line, Vec<u8>), super::line::Failure> {
    let nonce = "<".repeat(60_000);
    let request = auth(format!("{{{ANN},\"nonce\":\"{nonce}\"}}")).bytes();
    let answer = ok(&format!("\"{}\"", issued("ann", &nonce)));
    let mut line = stage.open()?;
    line.patience = Duration::from_secs(30);
    line.send_aside(request.repeat(60));
    Ok((line, answer.repeat(60)))
}
