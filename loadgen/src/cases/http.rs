//! Cases 103 to 125 about right requests: routes, methods, versions, bodies. Framing faults are in `faults.rs`.

use super::request::{ANN, UA, auth, by_admin, call, get, ta};
use super::table::{Case, one, own, row};
use crate::model::answer::{Tail, allow, go_on, head_of, method, ok, ok_with, status, status_with};
use crate::model::token::issued;
use std::time::Duration;

/// The group.
pub fn cases() -> Vec<Case> {
    let wrong = |allowed: &str| method(allowed, Tail::None);
    let nowhere = || status(404);
    let token = || ok(&format!("\"{}\"", issued("ann", "n")));
    let body = format!("{{{ANN},\"nonce\":\"n\"}}");
    let chunked = |chunks: &str| {
        let mut bytes = call("POST", "/auth").field("Transfer-Encoding: chunked").bytes();
        bytes.extend_from_slice(chunks.as_bytes());
        bytes
    };
    let single: String = body.chars().map(|c| format!("1\r\n{c}\r\n")).collect();
    let mut cases = vec![
        one(103, "GET /auth", call("GET", "/auth"), wrong(allow::AUTH)),
        one(103, "PUT /auth with a body", call("PUT", "/auth").body("{}"), wrong(allow::AUTH)),
        one(103, "GET of a blacklist path", call("GET", "/blacklist/user/ann"), wrong(allow::BLACKLIST)),
        one(103, "POST of a subnet that is none", call("POST", "/blacklist/subnet/x/y"), wrong(allow::BLACKLIST)),
        one(103, "a method without address", call("GET", "/auth").from_nowhere(), wrong(allow::AUTH)),
        row(
            103,
            "a method from a blocked subnet",
            vec![
                (by_admin("PUT", "subnet/77.0.0.0/8"), status(201)),
                (call("POST", "/user").from("77.1.1.1"), wrong(allow::USER)),
                (call("GET", "/nowhere").from("77.1.1.1"), nowhere()),
                (get().from("77.1.1.1"), status(403)),
            ],
        ),
        one(106, "HEAD /user", get().line("HEAD /user HTTP/1.1"), head_of(UA, Tail::None)),
        one(106, "HEAD /user, refused", call("HEAD", "/user"), status(403)),
        one(106, "HEAD /auth", call("HEAD", "/auth"), wrong(allow::AUTH)),
        one(106, "HEAD of nowhere", call("HEAD", "/nowhere"), nowhere()),
        own(106, "GET behind HEAD in a pipeline", |stage| {
            let mut line = stage.open()?;
            line.send([get().line("HEAD /user HTTP/1.1").bytes(), get().bytes()].concat())?;
            line.expect([head_of(UA, Tail::None), ok(UA)].concat())?;
            line.in_step()
        }),
        one(107, "absolute form", get().line("GET http://h/user HTTP/1.1"), ok(UA)),
        one(107, "absolute form, https and a port", get().line("GET HTTPS://h:1/user?x HTTP/1.1"), ok(UA)),
        one(107, "absolute form without a path", get().line("GET HTTP://h HTTP/1.1"), nowhere()),
        one(
            107,
            "absolute form whose authority ends at a question mark",
            get().line("GET http://h?x/user HTTP/1.1"),
            nowhere(),
        ),
        one(107, "a query", get().line("GET /user?a=/b%zz HTTP/1.1"), ok(UA)),
        one(109, "HTTP/1.0 without Host", get().no_host().line("GET /user HTTP/1.0"), ok_with(UA, Tail::Close)),
        one(
            109,
            "HTTP/1.0 with keep-alive",
            get().line("GET /user HTTP/1.0").field("Connection: Keep-Alive"),
            ok_with(UA, Tail::Keep),
        ),
        one(
            109,
            "HTTP/1.0 with keep-alive and close",
            get().line("GET /user HTTP/1.0").field("Connection: keep-alive, close"),
            ok_with(UA, Tail::Close),
        ),
        one(109, "HTTP/1.2", get().line("GET /user HTTP/1.2"), ok(UA)),
        one(109, "HTTP/1.9", get().line("GET /user HTTP/1.9"), ok(UA)),
        one(
            109,
            "HTTP/1.0 ignores Expect",
            get().line("GET /user HTTP/1.0").field("Expect: foo"),
            ok_with(UA, Tail::Close),
        ),
        one(112, "FF in a value", get().field(b"X: \xff"), ok(UA)),
        one(
            112,
            "every allowed byte in a value",
            get().field([b"X: ".to_vec(), (0x20..0x7f).chain(0x80..=0xff).collect(), b"\t".to_vec()].concat()),
            ok(UA),
        ),
        one(112, "every token character in a name", get().field("!#$%&'*+-.^_`|~09azAZ: a"), ok(UA)),
        one(115, "an empty line first", [b"\r\n".to_vec(), get().bytes()].concat(), ok(UA)),
        one(
            115,
            "an empty line before each request",
            [b"\r\n".to_vec(), get().bytes(), b"\r\n".to_vec(), get().bytes()].concat(),
            [ok(UA), ok(UA)].concat(),
        ),
        one(
            116,
            "leading zeros in the length",
            {
                let mut bytes = call("POST", "/auth").field(format!("Content-Length: 00{}", body.len())).bytes();
                bytes.extend_from_slice(body.as_bytes());
                bytes
            },
            token(),
        ),
        one(
            116,
            "no space before the length",
            [call("POST", "/auth").field(format!("content-length:{}", body.len())).bytes(), body.clone().into_bytes()]
                .concat(),
            token(),
        ),
        one(
            118,
            "chunked in other case",
            {
                let mut bytes = call("POST", "/auth").field("transfer-encoding: CHUNKED").bytes();
                bytes.extend_from_slice(format!("{:X}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
                bytes
            },
            token(),
        ),
        one(
            119,
            "chunks of one byte, with a trailer",
            chunked(&format!(
                "{single}0\r\nX-Forwarded-For: 10.2.0.1\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
            )),
            token(),
        ),
        one(
            119,
            "chunks with extensions",
            chunked(
                &format!(
                    "5;a=\"b\";c\r\n{}\r\n000{:x} ;x\r\n{}\r\n0;last\r\n\r\n",
                    &body[..5],
                    body.len() - 5,
                    &body[5..]
                )
                .replace(" ;x", ";x"),
            ),
            token(),
        ),
        one(
            119,
            "sixteen digits",
            chunked(&format!("{:016x}\r\n{body}\r\n0000000000000000\r\n\r\n", body.len())),
            token(),
        ),
        one(119, "no chunk at all", chunked("0\r\n\r\n"), status(400)),
        own(121, "Expect, wait, body", {
            let (head, body, right) = (auth(&body).field("Expect: 100-Continue").head(), body.clone(), token());
            move |stage| {
                let mut line = stage.open()?;
                line.send(&head)?;
                line.expect(go_on())?;
                line.quiet(Duration::from_millis(30))?;
                line.send(&body)?;
                line.expect(&right)?;
                line.in_step()
            }
        }),
        own(121, "Expect with the body behind it", {
            let (bytes, right) = (auth(&body).field("Expect: 100-continue").bytes(), token());
            move |stage| {
                let mut line = stage.open()?;
                line.send(&bytes)?;
                line.expect_one_of(&[&right, &[go_on(), right.clone()].concat()])?;
                line.in_step()
            }
        }),
        own(121, "Expect behind two pipelined GETs", {
            let (head, body, right) = (auth(&body).field("Expect: 100-continue").head(), body.clone(), token());
            move |stage| {
                let mut line = stage.open()?;
                line.send([get().bytes(), get().bytes(), head.clone()].concat())?;
                line.expect([ok(UA), ok(UA), go_on()].concat())?;
                line.send(&body)?;
                line.expect(&right)?;
                line.in_step()
            }
        }),
        own(121, "Expect on a path that does not exist", |stage| {
            let mut line = stage.open()?;
            line.send(call("POST", "/nowhere").field("Expect: 100-continue").body("abc").head())?;
            line.expect(go_on())?;
            line.send("abc")?;
            line.expect(status(404))?;
            line.in_step()
        }),
        own(121, "Expect with chunks", {
            let (body, right) = (body.clone(), token());
            move |stage| {
                let mut line = stage.open()?;
                line.send(
                    call("POST", "/auth").field("Expect: 100-continue").field("Transfer-Encoding: chunked").bytes(),
                )?;
                line.expect(go_on())?;
                line.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()))?;
                line.expect(&right)?;
                line.in_step()
            }
        }),
        one(121, "Expect without a body", get().field("Expect: 100-continue"), ok(UA)),
        one(122, "a head of 16,384 bytes", head_of_size(16_384), ok(UA)),
        one(122, "100 fields", fields(100), ok(UA)),
        one(
            124,
            "GET with a body",
            [get().body("GET /auth HTTP/1.1\r\n\r\n").bytes(), get().bytes()].concat(),
            [ok(UA), ok(UA)].concat(),
        ),
        one(
            124,
            "DELETE with a body",
            [by_admin("DELETE", "user/bob").body("xx").bytes(), get().bytes()].concat(),
            [status(404), ok(UA)].concat(),
        ),
        one(
            124,
            "nowhere with a body",
            [call("POST", "/nowhere").body("xx").bytes(), get().bytes()].concat(),
            [nowhere(), ok(UA)].concat(),
        ),
        one(
            124,
            "a refused request with a body",
            [auth(&body).from_nowhere().bytes(), get().bytes()].concat(),
            [status(403), ok(UA)].concat(),
        ),
        one(125, "POST without length", call("POST", "/auth"), status(400)),
        one(
            203,
            "fields that are ignored",
            get()
                .field("Content-Type: text/plain")
                .field("Accept: image/png")
                .field("Upgrade: h2c")
                .field("Range: bytes=0-1")
                .field("If-None-Match: *")
                .field("Accept-Encoding: gzip")
                .field("TE: trailers"),
            ok(UA),
        ),
        one(203, "an empty Host", get().no_host().field("Host:"), ok(UA)),
        one(203, "Connection: keep-alive", get().field("Connection: keep-alive"), ok(UA)),
        one(203, "Connection: xclose", get().field("Connection: xclose, close-not"), ok(UA)),
    ];
    for verb in ["POST", "DELETE", "BREW", "get", "OPTIONS", "TRACE", "Get", "G"] {
        cases.push(one(103, format!("{verb} /user"), call(verb, "/user").key(ta()), wrong(allow::USER)));
    }
    for path in [
        "/",
        "/USER",
        "/user/",
        "//user",
        "/./user",
        "/%75ser",
        "/auth/x",
        "/user/../user",
        "/blacklist",
        "/blacklist/",
        "/blacklist/user",
        "/blacklist/user/",
        "/blacklist/user/a/b",
        "/blacklist/subnet/1.2.3.4",
        "/blacklist/subnet//8",
        "/blacklist/subnet/1.2.3.4/8/",
        "/blacklist/subnet/1.2.3.4/8/9",
        "/use",
        "/users",
        "/user%2f",
        "/user%20",
    ] {
        cases.push(one(104, path, call("GET", path).key(ta()), nowhere()));
    }
    for value in ["close", "Close", "keep-alive, CLOSE", "x , close", "close,", "keep-alive,close;q=1,close"] {
        cases.push(one(
            128,
            format!("Connection: {value}"),
            get().field(format!("Connection: {value}")),
            ok_with(UA, Tail::Close),
        ));
    }
    cases.push(one(
        128,
        "close in the second field",
        get().field("Connection: keep-alive").field("Connection: close"),
        ok_with(UA, Tail::Close),
    ));
    cases.push(one(128, "close on 403", get().no_key().field("Connection: close"), status_with(403, Tail::Close)));
    cases.push(one(
        128,
        "close on 405",
        call("GET", "/auth").field("Connection: close"),
        method(allow::AUTH, Tail::Close),
    ));
    cases.push(one(128, "close on 404", call("GET", "/x").field("Connection: close"), status_with(404, Tail::Close)));
    cases
}

/// GET /user whose head has that many bytes.
pub fn head_of_size(size: usize) -> Vec<u8> {
    let plain = get().field("X: ").head().len();
    get().field(format!("X: {}", "a".repeat(size - plain))).head()
}

/// GET /user with that many fields.
pub fn fields(count: usize) -> Vec<u8> {
    (3..count).fold(get(), |request, index| request.field(format!("X{index}: a"))).bytes()
}
