//! Cases 107 to 122 about wrong requests: each has one framing fault, gets its status, and ends the connection.

use super::http::{fields, head_of_size};
use super::line::Step;
use super::request::{ANN, UA, auth, call, get};
use super::table::{Case, Stage, one, own};
use crate::model::answer::{Tail, go_on, ok, status_with};

/// The group.
pub fn cases() -> Vec<Case> {
    let code = |code: u16| status_with(code, Tail::Close);
    let bad = || code(400);
    let body = format!("{{{ANN},\"nonce\":\"n\"}}");
    let chunked =
        |chunks: &[u8]| [call("POST", "/auth").field("Transfer-Encoding: chunked").bytes(), chunks.to_vec()].concat();
    let with_length = |lines: &[&str]| {
        let request =
            lines.iter().fold(call("POST", "/auth"), |request, line| request.field(format!("Content-Length:{line}")));
        [request.bytes(), body.clone().into_bytes()].concat()
    };
    let encoding = |lines: &[&str]| {
        let request = lines
            .iter()
            .fold(call("POST", "/auth"), |request, line| request.field(format!("Transfer-Encoding: {line}")));
        [request.bytes(), b"0\r\n\r\n".to_vec()].concat()
    };
    let mut cases = vec![
        one(110, "the h2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), code(505)),
        one(110, "HTTP/2.0", get().line("GET /user HTTP/2.0"), code(505)),
        one(110, "HTTP/0.9", get().line("GET /user HTTP/0.9"), code(505)),
        one(110, "HTTP/3.1 on a bad target", get().line("GET user HTTP/3.1"), code(505)),
        own(110, "a TLS hello, without an end of line", |stage| {
            answered(stage, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x8f\xaa\x10\x00\x5c\x01", &[400])
        }),
        one(112, "a bare CR in a value", get().field("X: a\rb"), bad()),
        one(112, "NUL in a value", get().field("X: a\0b"), bad()),
        one(112, "01 in a value", get().field("X: a\u{1}b"), bad()),
        one(112, "DEL in a value", get().field("X: a\u{7f}b"), bad()),
        one(112, "NUL in the target", get().line("GET /user\0 HTTP/1.1"), bad()),
        one(112, "DEL in the target", get().line("GET /user\u{7f} HTTP/1.1"), bad()),
        one(112, "a bare LF behind a field", get().field("X: a\nY: b"), bad()),
        one(112, "a bare LF behind the request line", get().line("GET /user HTTP/1.1\nX: a"), bad()),
        one(112, "bare LFs only", b"GET /user HTTP/1.1\nHost: x\n\n".to_vec(), bad()),
        one(113, "a folded line", get().field("X: a\r\n b"), bad()),
        one(113, "a folded line with a tab", get().field("X: a\r\n\tb"), bad()),
        one(113, "the first field indented", get().line("GET /user HTTP/1.1\r\n X: a"), bad()),
        one(115, "two empty lines first", [b"\r\n\r\n".to_vec(), get().bytes()].concat(), bad()),
        one(116, "a huge length", with_length(&[" 99999999999999999999"]), code(413)),
        one(116, "a length of 2^64 + 44", with_length(&[" 18446744073709551660"]), code(413)),
        one(116, "65,537 with a leading zero", with_length(&[" 065537"]), code(413)),
        one(
            118,
            "chunked on HTTP/1.0",
            [
                call("POST", "/auth").line("POST /auth HTTP/1.0").field("Transfer-Encoding: chunked").bytes(),
                b"0\r\n\r\n".to_vec(),
            ]
            .concat(),
            bad(),
        ),
        one(
            118,
            "a length and chunked",
            [auth(&body).field("Transfer-Encoding: chunked").bytes(), b"0\r\n\r\n".to_vec()].concat(),
            bad(),
        ),
        one(121, "Expect of something else", auth(&body).field("Expect: foo"), code(417)),
        one(121, "an empty Expect", auth(&body).field("Expect:"), code(417)),
        one(121, "Expect twice", auth(&body).field("Expect: 100-continue").field("Expect: 100-continue"), code(417)),
        one(
            121,
            "Expect and a length of 70,000",
            call("POST", "/auth").field("Expect: 100-continue").field("Content-Length: 70000"),
            code(413),
        ),
        one(122, "a head of 16,385 bytes", head_of_size(16_385), code(431)),
        one(122, "101 fields", fields(101), code(431)),
        own(122, "1 MiB without an end of line", |stage| {
            let mut line = stage.open()?;
            let mut bytes = b"GET /user HTTP/1.1\r\nHost: x\r\nX: ".to_vec();
            bytes.resize(1 << 20, b'a');
            let sender = line.send_aside(bytes);
            line.expect(status_with(431, Tail::Close))?;
            // A server may have enough after 1 MiB; how it ends is not judged.
            let _ = line.socket().shutdown(std::net::Shutdown::Both);
            sender.join().expect("the sender does not panic");
            Ok(())
        }),
        own(122, "100,000 bytes of a target", |stage| {
            answered(stage, &[b"GET /".as_slice(), &[b'a'; 100_000]].concat(), &[400, 431])
        }),
        one(204, "no Host", get().no_host(), bad()),
        one(204, "two Hosts", get().field("Host: x"), bad()),
        one(204, "two Hosts on HTTP/1.0", get().line("GET /user HTTP/1.0").field("Host: x"), bad()),
        own(204, "the answers before a fault come first", |stage| {
            let mut line = stage.open()?;
            line.send([get().bytes(), get().bytes(), b"x\r\n\r\n".to_vec(), get().bytes()].concat())?;
            line.expect([ok(UA), ok(UA), status_with(400, Tail::Close)].concat())?;
            line.fin()
        }),
        own(204, "100 is never sent for a faulty request", |stage| {
            let mut line = stage.open()?;
            line.send(auth("x").field("Expect: 100-continue").field("Content-Length: 1").head())?;
            if line.expect_one_of(&[&status_with(400, Tail::Close), &go_on()])? == 1 {
                return super::line::fail("400 at once", "100 first");
            }
            line.fin()
        }),
        own(205, "trailers of 5,000 bytes", |stage| {
            let trailers = format!("0\r\nX: {}\r\n\r\n", "a".repeat(5_000));
            answered(
                stage,
                &[call("POST", "/auth").field("Transfer-Encoding: chunked").bytes(), trailers.into_bytes()].concat(),
                &[431],
            )
        }),
    ];
    for line in [
        "GET /user",
        "GET /user HTTP/1.10",
        "GET /user http/1.1",
        "GET /user HTTP/1",
        "GET /user HTTP/1.",
        "GET /user HTTP/1.x",
        "GET /user HTTP/11",
        "GET  /user HTTP/1.1",
        "GET /user  HTTP/1.1",
        "GET /user HTTP/1.1 ",
        " GET /user HTTP/1.1",
        "GET\t/user HTTP/1.1",
        "GET /us er HTTP/1.1",
        "GET",
        "/user HTTP/1.1",
        "GET /user XTTP/1.1",
        "G(T /user HTTP/1.1",
        "G\u{e9}T /user HTTP/1.1",
    ] {
        cases.push(one(110, format!("request line {line:?}"), get().line(line), bad()));
    }
    for line in [
        "GET * HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "CONNECT h:80 HTTP/1.1",
        "GET user HTTP/1.1",
        "GET /user#f HTTP/1.1",
        "GET ftp://h/user HTTP/1.1",
        "GET http:/user HTTP/1.1",
        "GET http:///user HTTP/1.1",
        "GET ?x HTTP/1.1",
        "GET /user% HTTP/1.1",
        "GET /user%2 HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET /user?a#b HTTP/1.1",
    ] {
        cases.push(one(107, format!("target of {line:?}"), get().line(line), bad()));
    }
    for field in ["X : a", ": a", "foo", "X(a): b", "X\u{e9}: a", "X a: b", "X\t: a", "\"X\": a", "X\0: a"] {
        cases.push(one(113, format!("field {field:?}"), get().field(field), bad()));
    }
    let exact = format!(" {}", body.len());
    for lines in [
        vec![exact.as_str(), exact.as_str()],
        vec![" 5", " 6"],
        vec![" 5, 5"],
        vec![" +5"],
        vec![" -1"],
        vec![" 0x5"],
        vec![""],
        vec![" 5 5"],
        vec![" 5.0"],
        vec![" 5;"],
        vec![" \u{661}"],
    ] {
        cases.push(one(116, format!("Content-Length {lines:?}"), with_length(&lines), bad()));
    }
    for lines in [
        vec!["gzip, chunked"],
        vec!["identity"],
        vec!["xchunked"],
        vec!["chunked", "chunked"],
        vec!["chunked, chunked"],
        vec!["chunked;q=1"],
        vec![""],
        vec!["chunked", "identity"],
    ] {
        cases.push(one(118, format!("Transfer-Encoding {lines:?}"), encoding(&lines), code(501)));
    }
    for (name, chunks, right) in [
        ("no digit", &b"\r\n\r\n"[..], 400),
        ("a bad digit", b"g\r\n", 400),
        ("0x", b"0x5\r\nabcde\r\n", 400),
        ("a minus", b"-1\r\n", 400),
        ("a blank before", b" 5\r\nabcde\r\n", 400),
        ("17 digits", b"00000000000000005\r\nabcde\r\n0\r\n\r\n", 400),
        ("no CRLF behind data", b"5\r\nabcdeX\r\n0\r\n\r\n", 400),
        ("a bare LF behind the size", b"5\nabcde\r\n0\r\n\r\n", 400),
        ("a bare LF behind data", b"5\r\nabcde\n0\r\n\r\n", 400),
        ("an extension without a semicolon", b"5 a\r\nabcde\r\n0\r\n\r\n", 400),
        ("NUL in an extension", b"5;a\0\r\nabcde\r\n0\r\n\r\n", 400),
        ("a size above the limit", b"10001\r\n", 413),
        ("a size that wraps", b"ffffffffffffffff\r\n", 413),
        ("sizes that wrap together", b"5\r\nabcde\r\nfffffffffffffffb\r\n", 413),
        ("a trailer without a colon", b"0\r\nfoo\r\n\r\n", 400),
        ("a folded trailer", b"0\r\nX: a\r\n b\r\n\r\n", 400),
        ("a bare LF in a trailer", b"0\r\nX: a\n\r\n", 400),
    ] {
        cases.push(one(205, format!("chunks: {name}"), chunked(chunks), code(right)));
    }
    let long = format!("5;{}\r\nabcde\r\n0\r\n\r\n", "a".repeat(255));
    cases.push(one(205, "chunks: a size line of 257 bytes", chunked(long.as_bytes()), bad()));
    cases
}

/// One of these statuses comes at once, then FIN or, as more than the server takes was sent, whatever.
fn answered(stage: &Stage<'_>, bytes: &[u8], codes: &[u16]) -> Step {
    let mut line = stage.open()?;
    line.send(bytes)?;
    let answers: Vec<Vec<u8>> = codes.iter().map(|code| status_with(*code, Tail::Close)).collect();
    line.expect_one_of(&answers.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    line.fin()
}
