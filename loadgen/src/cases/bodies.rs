//! Neighbours of cases 116 to 125: lengths, chunks, trailers, bodies nobody wants, and `Expect`.

use super::json::padded;
use super::line::{Failure, Line, fail};
use super::request::{ANN, Request, UA, auth, by_admin, call, chunk, get, newcomer, put_user, ta, tm};
use super::table::{Case, Stage, each, fresh, own};
use crate::model::answer::{Tail, allow, go_on, head_of, method, ok, ok_with, status, status_with};
use crate::model::token::issued;
use std::time::Duration;

/// What a body is sent to, with the answer where the body does not matter or is none of the right ones.
fn routes() -> Vec<(Request, Vec<u8>)> {
    vec![
        (get(), ok(UA)),
        (get().line("HEAD /user HTTP/1.1"), head_of(UA, Tail::None)),
        (call("PUT", "/user"), status(400)),
        (call("PATCH", "/user").key(ta()), status(400)),
        (call("PATCH", "/user"), status(403)),
        (call("POST", "/auth"), status(400)),
        (call("POST", "/auth").nowhere(), status(403)),
        (call("GET", "/auth"), method(allow::AUTH, Tail::None)),
        (call("OPTIONS", "/user"), method(allow::USER, Tail::None)),
        (call("BREW", "/nowhere"), status(404)),
        (by_admin("DELETE", "user/bob"), status(404)),
        (by_admin("PUT", "user/nobody"), status(404)),
        (by_admin("PUT", "subnet/x/8"), status(400)),
        (by_admin("DELETE", "subnet/77.0.0.0/8"), status(404)),
    ]
}

/// The group.
pub fn cases() -> Vec<Case> {
    let bad = || status_with(400, Tail::Close);
    let body = format!("{{{ANN},\"nonce\":\"n\"}}");
    let token = |tail| ok_with(&format!("\"{}\"", issued("ann", "n")), tail);
    let post = || call("POST", "/auth");
    let twice = |requests: Vec<(Request, Vec<u8>)>| -> Vec<(Vec<u8>, Vec<u8>)> {
        let behind = |(request, answer): (Request, Vec<u8>)| {
            ([request.bytes(), get().bytes()].concat(), [answer, ok(UA)].concat())
        };
        requests.into_iter().map(behind).collect()
    };
    let all = |change: &dyn Fn(Request) -> Request| {
        routes().into_iter().map(|(request, answer)| (change(request), answer)).collect()
    };
    let refused = |code: u16, change: &dyn Fn(Request) -> Request| -> Vec<(Vec<u8>, Vec<u8>)> {
        routes().into_iter().map(|(request, _)| (change(request).bytes(), status_with(code, Tail::Close))).collect()
    };
    let sized = |length: &str| post().field(format!("Content-Length:{length}")).behind(&body);
    let size = body.len();
    let long = padded(65_536);
    let (first, rest) = body.split_at(5);
    let line_of =
        |length: usize| format!("5;{}\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n", "a".repeat(length - 2), rest.len());
    let ended = |end: &str| post().chunks(format!("{size:x}\r\n{body}\r\n{end}"));
    let trailers = |length: usize| ended(&format!("0\r\na:{}\r\n\r\n", "b".repeat(length - 4)));
    vec![
        each(
            116,
            "lengths that are right",
            [format!(" {size}"), format!(" {size:064}"), format!("\t{size}\t "), format!("{size}")]
                .map(|length| (sized(&length), token(Tail::None))),
        ),
        each(
            116,
            "a length on HTTP/1.0",
            [
                (auth(&body).line("POST /auth HTTP/1.0"), token(Tail::Close)),
                (sized(" x").line("POST /auth HTTP/1.0"), bad()),
            ],
        ),
        each(
            116,
            "lengths that are none",
            [
                " ,",
                " 44,",
                " ,44",
                " 44,44",
                " 4_4",
                " 44 44",
                " 44\t44",
                " 4e1",
                " 0x2c",
                " 2Ch",
                " -0",
                " +0",
                " -44",
                " 44.",
                " .44",
                " 44;x",
                " \"44\"",
                " \u{ff14}",
                " 0,0",
                " 44 ,",
                " NaN",
                " chunked",
                "\t",
                " 65537x",
                " -65537",
                " 65537 65537",
            ]
            .map(|length| (sized(length), bad())),
        ),
        each(
            116,
            "two lengths",
            [(" 44", " 44"), (" 44", " 0"), (" 0", " 0"), ("", ""), (" 44", "")].map(|(one, two)| {
                (
                    post()
                        .field(format!("Content-Length:{one}"))
                        .field("A: b")
                        .field(format!("CONTENT-LENGTH:{two}"))
                        .behind(&body),
                    bad(),
                )
            }),
        ),
        each(
            116,
            "lengths beyond the limit",
            [
                "65537",
                "00065537",
                "65546",
                "100000",
                "655360",
                "2147483648",
                "4294967295",
                "4294967296",
                "4294967340",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "18446744073709551616",
                "18446744073709551660",
                "340282366920938463463374607431768211500",
            ]
            .map(|length| (sized(&format!(" {length}")), status_with(413, Tail::Close))),
        ),
        each(
            116,
            "a length with a hundred digits",
            [
                (sized(&format!(" {}", "9".repeat(100))), status_with(413, Tail::Close)),
                (sized(&format!(" {size:0100}")), token(Tail::None)),
            ],
        ),
        each(
            89,
            "65,537 bytes announced to every route",
            refused(413, &|request| request.field("Content-Length: 65537")),
        ),
        each(89, "65,536 bytes on every route", twice(all(&|request| request.body("x".repeat(65_536))))),
        each(
            89,
            "65,536 bytes in chunks",
            [
                (post().chunks(chunk(&long)), token(Tail::None)),
                (
                    post().chunks(format!("ffff\r\n{}\r\n1\r\n{}\r\n0\r\n\r\n", &long[..65_535], &long[65_535..])),
                    token(Tail::None),
                ),
                (
                    post().chunks(format!("1\r\n{}\r\nffff\r\n{}\r\n0\r\n\r\n", &long[..1], &long[1..])),
                    token(Tail::None),
                ),
                (post().chunks(format!("10000\r\n{long}\r\n1\r\n")), status_with(413, Tail::Close)),
                (post().chunks(format!("1\r\n{}\r\n10000\r\n", &long[..1])), status_with(413, Tail::Close)),
                (post().chunks(format!("8000\r\n{}\r\n8001\r\n", &long[..0x8000])), status_with(413, Tail::Close)),
                (get().chunks("10001\r\n"), status_with(413, Tail::Close)),
                (call("POST", "/nowhere").chunks("10001\r\n"), status_with(413, Tail::Close)),
            ],
        ),
        each(
            118,
            "codings that are not chunked",
            [
                "gzip",
                "deflate",
                "compress",
                "chunked, gzip",
                "gzip,chunked",
                ",chunked",
                "chunked,",
                "chunked x",
                "chunke",
                "chunkedd",
                "chunked;",
                "\"chunked\"",
                "identity, chunked",
                "trailers",
                "\u{441}hunked",
            ]
            .map(|coding| {
                (
                    post().field(format!("Transfer-Encoding: {coding}")).behind(chunk(&body)),
                    status_with(501, Tail::Close),
                )
            }),
        ),
        each(
            118,
            "a coding that is not chunked, on every route",
            refused(501, &|request| request.field("Transfer-Encoding: gzip")),
        ),
        each(
            118,
            "chunked on HTTP/1.0, on every method",
            ["GET /user", "PUT /user", "POST /auth", "GET /x"]
                .map(|line| (get().line(format!("{line} HTTP/1.0")).chunks("0\r\n\r\n"), bad())),
        ),
        each(
            118,
            "a length and chunked, in both orders",
            [
                post().field("Content-Length: 5").chunks("0\r\n\r\n"),
                post().chunks("0\r\n\r\n").field("Content-Length: 5"),
                post().chunks("0\r\n\r\n").field("Content-Length: 0"),
                get().field("Content-Length: 0").chunks("0\r\n\r\n"),
            ]
            .map(|request| (request, bad())),
        ),
        each(
            118,
            "chunked with blanks around",
            ["Transfer-Encoding:chunked", "Transfer-Encoding: \tchunked \t", "TRANSFER-ENCODING: cHuNkEd"]
                .map(|field| (post().field(field).behind(chunk(&body)), token(Tail::None))),
        ),
        each(
            119,
            "chunks as they may be",
            [
                chunk(&body),
                format!("{size:X}\r\n{body}\r\n0\r\n\r\n").into_bytes(),
                format!("{size:016x}\r\n{body}\r\n0000000000000000\r\n\r\n").into_bytes(),
                format!("{size:x};\r\n{body}\r\n0;\r\n\r\n").into_bytes(),
                format!("{size:x};a=b;c=\"d e\";f\r\n{body}\r\n000\r\n\r\n").into_bytes(),
                format!("{size:x}; \t=\u{e9}\r\n{body}\r\n0;0\r\n\r\n").into_bytes(),
                line_of(256).into_bytes(),
            ]
            .map(|chunks| (post().chunks(chunks), token(Tail::None))),
        ),
        each(
            119,
            "trailers as they may be",
            [
                "0\r\nA: b\r\nC:\r\nD: \u{e9}\t\r\n\r\n".to_string(),
                "0\r\nX-Forwarded-For: 10.2.0.1\r\nX-API-Key: x\r\nHost: y\r\nHost: z\r\n\r\n".into(),
                "0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nExpect: foo\r\nConnection: close\r\n\r\n".into(),
                format!("0\r\n{}\r\n", "a:\r\n".repeat(1_000)),
            ]
            .map(|end| (ended(&end), token(Tail::None))),
        ),
        each(
            119,
            "a trailer does not give what the head lacks",
            [
                (
                    post().nowhere().chunks(format!("{size:x}\r\n{body}\r\n0\r\nX-Forwarded-For: 10.1.0.1\r\n\r\n")),
                    status(403),
                ),
                (get().no_key().chunks(format!("0\r\nX-API-Key: {}\r\n\r\n", ta())), status(403)),
                (get().no_host().chunks("0\r\nHost: x\r\n\r\n"), bad()),
            ],
        ),
        each(
            205,
            "trailers of 4,096 bytes and one more",
            [
                (trailers(4_095), token(Tail::None)),
                (trailers(4_096), token(Tail::None)),
                (trailers(4_097), status_with(431, Tail::Close)),
            ],
        ),
        each(
            205,
            "many trailers that are too long together",
            [
                (ended(&format!("0\r\n{}\r\n", "a: b\r\n".repeat(800))), status_with(431, Tail::Close)),
                (ended(&format!("0\r\na: {}", "b".repeat(4_200))), status_with(431, Tail::Close)),
            ],
        ),
        each(
            205,
            "trailers that are none",
            [
                "0\r\n A: b\r\n\r\n",
                "0\r\nA : b\r\n\r\n",
                "0\r\n: b\r\n\r\n",
                "0\r\nA: b\r\n c\r\n\r\n",
                "0\r\nA\r\n\r\n",
                "0\r\nA: \0\r\n\r\n",
                "0\r\nA: \u{7f}\r\n\r\n",
                "0\r\nA: a\rb\r\n\r\n",
                "0\r\nA: b\r\r\n\r\n",
                "0\r\nA: b\r\n\n",
                "0\r\n\n",
                "0\r\nA: b\n\r\n",
                "0\r\nA(: b\r\n\r\n",
                "0\r\n\tA: b\r\n\r\n",
                "0\r\n\rX: a\r\n",
            ]
            .map(|end| (ended(&format!("{end}\r\n\r\n")), bad())),
        ),
        each(
            205,
            "chunks that are none",
            [
                "g\r\n",
                "-5\r\n",
                "+5\r\n",
                "0x5\r\n",
                "5h\r\n",
                " 5\r\n",
                "\t5\r\n",
                "5 \r\n",
                "5\t\r\n",
                "5 ;a\r\n",
                "5,\r\n",
                "5=a\r\n",
                ";\r\n",
                ";a\r\n",
                "\r\n",
                "\n",
                "5\n",
                "5\rabcde",
                "5;a\n",
                "5;a\rb\r\n",
                "5;\u{7f}\r\n",
                "5;\0\r\n",
                "00000000000000005\r\n",
                "00000000000000000\r\n\r\n",
                "5\r\nabcdef\r\n",
                "5\r\nabcde0\r\n",
                "5\r\nabcde\n\r",
                "5\r\nabcde\r\r\n",
                "5\r\nabcde\rx",
                "5\r\nabcde \r\n",
                "\u{665}\r\n",
            ]
            .map(|chunks| (post().chunks(format!("{chunks}\r\n0\r\n\r\n")), bad())),
        ),
        each(
            205,
            "two other bytes in the place of the CRLF behind data",
            ["xx", "\n\n", "\r\r", "\n\r", "\rx", "x\n", "\0\0", "  ", "00", "0;"]
                .map(|end| (post().chunks(format!("{size:x}\r\n{body}{end}0\r\n\r\n")), bad())),
        ),
        each(
            205,
            "a size line of 257 bytes",
            [(post().chunks(line_of(257)), bad()), (post().chunks(format!("5;{}", "a".repeat(300))), bad())],
        ),
        each(
            205,
            "sizes that wrap around",
            [
                "10001\r\n",
                "0000000000010001\r\n",
                "100000005\r\n",
                "7fffffffffffffff\r\n",
                "8000000000000000\r\n",
                "FFFFFFFFFFFFFFFF\r\n",
                "fffffffffffffff0\r\n",
                "5\r\nabcde\r\nffffffffffffffff\r\n",
                "5\r\nabcde\r\n10000\r\n",
            ]
            .map(|chunks| (post().chunks(chunks), status_with(413, Tail::Close))),
        ),
        each(124, "a body on every route", twice(all(&|request| request.body("GET /x HTTP/1.1\r\nHost: y\r\n\r\n")))),
        each(
            124,
            "a chunked body on every route",
            twice(all(&|request| request.chunks(chunk("PUT /user HTTP/1.1\r\n\r\n")))),
        ),
        each(124, "an empty body on every route", twice(all(&|request| request.body("")))),
        each(124, "an empty chunked body on every route", twice(all(&|request| request.chunks("0\r\n\r\n")))),
        each(125, "no length on any route", twice(all(&|request| request))),
        each(
            121,
            "expectations that are none",
            [
                "foo",
                "100",
                "100-continu",
                "100-continue2",
                "100-continue, foo",
                "100-continue,",
                "100-continue;x",
                "200-ok",
                "\"100-continue\"",
                "",
            ]
            .into_iter()
            .flat_map(|value| {
                let field = format!("Expect: {value}");
                [
                    auth("{}").field(&field),
                    get().field(&field),
                    call("GET", "/x").field(&field),
                    auth("{}").nowhere().field(&field),
                ]
            })
            .map(|request| (request, status_with(417, Tail::Close))),
        ),
        each(
            121,
            "Expect on HTTP/1.0",
            ["100-continue", "foo", ""].map(|value| {
                (auth(&body).line("POST /auth HTTP/1.0").field(format!("Expect: {value}")), token(Tail::Close))
            }),
        ),
        each(
            121,
            "Expect without a body, in other letters",
            [get(), get().body(""), get().field("Connection: keep-alive")]
                .map(|request| (request.field("expect: 100-CONTINUE"), ok(UA))),
        ),
        each(
            121,
            "Expect on faulty requests gets no 100",
            [
                (auth("").no_host(), 400),
                (call("POST", "/auth").field("Content-Length: +5"), 400),
                (call("POST", "/auth").field("Content-Length: 5").field("X : a"), 400),
                (call("POST", "/auth").field("Transfer-Encoding: gzip"), 501),
                (call("POST", "/auth").field("Content-Length: 5").chunks(""), 400),
                (call("POST", "/auth").field("Content-Length: 65537"), 413),
                (call("POST", "/auth").field("Content-Length: 5").line("POST /auth HTTP/2.0"), 505),
                (call("POST", "auth").field("Content-Length: 5"), 400),
                (call("POST", "/auth").field("Content-Length: 5").field("Expect: 100-continue"), 417),
            ]
            .map(|(request, code)| (request.field("Expect: 100-continue"), status_with(code, Tail::Close))),
        ),
        own(121, "100 on every route, once, and then the answer", |stage| {
            for (request, answer) in routes() {
                for (request, body) in [
                    (request.clone().field("Content-Length: 3"), &b"abc"[..]),
                    (request.chunks(""), b"3\r\nabc\r\n0\r\n\r\n"),
                ] {
                    let mut line = stage.open()?;
                    awaited(&mut line, &[], &request.field("Expect: 100-continue").bytes(), body, &answer)?;
                    line.in_step()?;
                }
            }
            Ok(())
        }),
        own(121, "100 behind other requests", |stage| {
            let head = get().field("Expect: 100-continue").field("Content-Length: 1").bytes();
            let mut line = stage.open()?;
            for _ in 0..3 {
                awaited(
                    &mut line,
                    &[(call("GET", "/x").bytes(), status(404)), (get().bytes(), ok(UA))],
                    &head,
                    b"x",
                    &ok(UA),
                )?;
            }
            line.in_step()
        }),
        own(121, "100 and a close", {
            let (head, body, right) = (
                auth(&body).field("Expect: 100-continue").field("Connection: close").head(),
                body.clone(),
                token(Tail::Close),
            );
            move |stage| {
                let mut line = stage.open()?;
                awaited(&mut line, &[], &head, body.as_bytes(), &right)?;
                line.fin()
            }
        }),
        own(121, "no 100 on HTTP/1.0", {
            let (head, body, right) = (
                auth(&body).line("POST /auth HTTP/1.0").field("Expect: 100-continue").head(),
                body.clone(),
                token(Tail::Close),
            );
            move |stage| {
                let mut line = stage.open()?;
                line.send(&head)?;
                line.quiet(Duration::from_millis(50))?;
                line.send(&body)?;
                line.expect(&right)?;
                line.fin()
            }
        }),
        own(121, "Expect, cut after every byte", {
            let (head, body, right) =
                (auth(&body).field("Expect: 100-continue").head(), body.clone(), token(Tail::None));
            move |stage| every_cut(stage, &head, body.as_bytes(), &right)
        }),
        fresh(206, "a body's last byte lets every change happen, and nothing before it", |stage| {
            let changes = [
                (call("PATCH", "/user").key(ta()).body(r#"{"name":"Late"}"#), 202),
                (put_user(newcomer("late", "France")), 201),
                (by_admin("PUT", "user/no1").body("x"), 201),
                (by_admin("PUT", "subnet/77.0.0.0/8").body("x"), 201),
                (by_admin("DELETE", "user/no1").body("x"), 204),
                (by_admin("DELETE", "subnet/77.0.0.0/8").chunks("0\r\n\r\n"), 204),
            ];
            let mut other = stage.open()?;
            let seen = |other: &mut Line| -> Result<Vec<bool>, Failure> {
                let no1 = r#"{"login":"no1","name":"N","phone":"+6","country":"Atlantis"}"#;
                let late = r#"{"login":"late","name":"New","phone":"+7","country":"France"}"#;
                [
                    (get(), UA),
                    (get().key(issued("late", "")), late),
                    (get().key(issued("no1", "")).from("99.0.0.1"), no1),
                    (get().key(tm()).from("77.0.0.1"), super::request::UM),
                ]
                .into_iter()
                .map(|(request, body)| {
                    other.send(request.bytes())?;
                    other
                        .expect_one_of(&[&ok(body), &ok(&UA.replace("\"Ann\"", "\"Late\"")), &status(403)])
                        .map(|which| which == 0)
                })
                .collect()
            };
            for (request, code) in changes {
                let bytes = request.bytes();
                let before = seen(&mut other)?;
                let mut line = stage.open()?;
                line.send(&bytes[..bytes.len() - 1])?;
                line.quiet(Duration::from_millis(20))?;
                if seen(&mut other)? != before {
                    return fail("no effect before the last byte", format!("one of {}", bytes.escape_ascii()));
                }
                line.send(&bytes[bytes.len() - 1..])?;
                line.expect(status(code))?;
                if seen(&mut other)? == before {
                    return fail("an effect after the answer", format!("none of {}", bytes.escape_ascii()));
                }
            }
            Ok(())
        }),
    ]
}

/// Other requests and a head that expects go out together; when 100 has come behind their answers the body follows, byte
/// by byte, and gets its answer.
fn awaited(
    line: &mut Line,
    before: &[(Vec<u8>, Vec<u8>)],
    head: &[u8],
    body: &[u8],
    right: &[u8],
) -> super::line::Step {
    let (requests, answers): (Vec<_>, Vec<_>) = before.iter().cloned().unzip();
    line.send([requests.concat(), head.to_vec()].concat())?;
    line.expect([answers.concat(), go_on()].concat())?;
    body.chunks(1).try_for_each(|byte| line.send(byte))?;
    line.expect(right)
}

/// A head that expects and its body in two pieces: 100 comes where no byte of the body came with the head, and may come
/// where some did.
fn every_cut(stage: &Stage<'_>, head: &[u8], body: &[u8], right: &[u8]) -> super::line::Step {
    let bytes = [head, body].concat();
    let mut line = stage.open()?;
    for cut in 1..bytes.len() {
        if cut <= head.len() {
            line.send(&bytes[..cut])?;
            line.send(&head[cut..])?;
            line.expect(go_on())?;
            line.send(body)?;
            line.expect(right)?;
        } else {
            line.send(&bytes[..cut])?;
            line.send(&bytes[cut..])?;
            line.expect_one_of(&[right, &[go_on(), right.to_vec()].concat()])?;
        }
    }
    line.in_step()
}
