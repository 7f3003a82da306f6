//! Neighbours of cases 103 to 122 within a head: every byte at every kind of place, versions, names, sizes.

use super::http::{fields, head_of_size};
use super::request::{ANN, UA, auth, call, get, ta, tb};
use super::table::{Case, each, one};
use crate::model::answer::{Tail, allow, method, ok, ok_with, status, status_with};
use crate::model::token::issued;

/// Bytes beyond ASCII, some of all kinds.
const HIGH: [u8; 4] = [0x80, 0xa0, 0xc3, 0xff];

/// The group.
pub fn cases() -> Vec<Case> {
    let bad = || status_with(400, Tail::Close);
    let fine = |request: Vec<u8>| (request, ok(UA));
    let refused = |request: Vec<u8>| (request, bad());
    let control = || (0..0x20u8).chain([0x7f]);
    let no_token = || control().chain(*b" \"(),/:;<=>?@[\\]{}").chain(HIGH);
    let with = |before: &str, byte: u8, after: &str| [before.as_bytes(), &[byte], after.as_bytes()].concat();
    let named = |spell: fn(&str) -> String| {
        let body = format!("{{{ANN}}}");
        let (host, from, length) = (spell("Host"), spell("X-Forwarded-For"), spell("Content-Length"));
        let (end, coding) = (spell("Connection"), spell("Transfer-Encoding"));
        let head = format!("POST /auth HTTP/1.1\r\n{host}: x\r\n{from}: 10.1.0.1\r\n");
        let token = |tail| ok_with(&format!("\"{}\"", issued("ann", "")), tail);
        vec![
            (format!("{head}{length}: {}\r\n\r\n{body}", body.len()), token(Tail::None)),
            (format!("{head}{coding}: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()), token(Tail::None)),
            (format!("{head}{length}: {}\r\n{end}: close\r\n\r\n{body}", body.len()), token(Tail::Close)),
            (format!("{head}{}: x\r\n\r\n", spell("Expect")), status_with(417, Tail::Close)),
        ]
    };
    let mixed = |name: &str| {
        name.chars()
            .enumerate()
            .map(|(at, c)| if at % 2 == 0 { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() })
            .collect()
    };
    vec![
        each(
            110,
            "a method with a byte that is none of a token's",
            no_token().map(|byte| refused(get().line(with("G", byte, "T /user HTTP/1.1")).bytes())),
        ),
        each(
            110,
            "a byte no request begins with, alone",
            no_token().filter(|byte| *byte != b'\r').map(|byte| refused(vec![byte])),
        ),
        each(110, "a CR and something else than LF", [b"\rG", b"\r\r", b"\r "].map(|bytes| refused(bytes.to_vec()))),
        each(
            103,
            "methods of every token character",
            ["!#$%&'*+-.^_`|~", "0", "GETT", "GE", "gET", "PUTS", "PATCHx", "Post"]
                .map(|verb| (call(verb, "/user"), method(allow::USER, Tail::None))),
        ),
        each(
            103,
            "any method of an unknown path",
            ["BREW", "GET", "OPTIONS", "HEAD"].map(|verb| (call(verb, "/x"), status(404))),
        ),
        each(
            110,
            "versions that are none",
            [
                "",
                "HTTP",
                "HTTP/",
                "HTTP/1.1x",
                "HTTP/1.1.1",
                "HTTP/1,1",
                "HTTP1.1",
                "HTTPS/1.1",
                "Http/1.1",
                "HTTP/01.1",
                "HTTP/1.01",
                "HTTP/a.1",
                "HTTP/1.a",
                "HTTP/+1.1",
                "HTTP/1.-1",
                "HTTP/2",
                "HTTP/2.",
                "HTTP/2.00",
                "HTTP/20.0",
                "HTTP/-2.0",
                "/1.1",
                "HTTP/1.1\t",
                "HTTP/ 1.1",
                "HTTP\\1.1",
                "ICY/1.1",
                "1.1",
                "\u{661}",
                "HTTP/1.\u{661}",
            ]
            .map(|version| refused(get().line(format!("GET /user {version}")).bytes())),
        ),
        each(
            110,
            "other major versions, whatever else is wrong",
            ["0.0", "0.9", "2.0", "2.1", "3.0", "9.9"].into_iter().flat_map(|version| {
                let line = |target: &str| get().line(format!("GET {target} HTTP/{version}"));
                [
                    line("/user"),
                    line("user"),
                    line("/user#"),
                    line("/%"),
                    line("/user").no_host(),
                    line("/user").field("X : a"),
                    line("/user").field("Content-Length: x"),
                ]
                .map(|request| (request.bytes(), status_with(505, Tail::Close)))
            }),
        ),
        each(
            109,
            "later minor versions",
            (1..=9).map(|minor| fine(get().line(format!("GET /user HTTP/1.{minor}")).bytes())),
        ),
        each(
            109,
            "later minor versions need Host",
            (1..=9).map(|minor| refused(get().no_host().line(format!("GET /user HTTP/1.{minor}")).bytes())),
        ),
        each(
            112,
            "a control byte within a value",
            control().filter(|byte| *byte != b'\t').map(|byte| refused(get().field(with("X: a", byte, "b")).bytes())),
        ),
        each(
            112,
            "a control byte before a value",
            control().filter(|byte| *byte != b'\t').map(|byte| refused(get().field(with("X:", byte, "b")).bytes())),
        ),
        each(
            112,
            "a control byte behind a value",
            control().filter(|byte| *byte != b'\t').map(|byte| refused(get().field(with("X: a", byte, "")).bytes())),
        ),
        each(
            112,
            "a control byte in the value of Host",
            [0, 1, b'\r', b'\n', 0x7f].map(|byte| refused(get().no_host().field(with("Host: x", byte, "")).bytes())),
        ),
        each(
            112,
            "a byte that no target has",
            control()
                .chain(*b" #")
                .chain(HIGH)
                .map(|byte| refused(get().line(with("GET /user?x", byte, "y HTTP/1.1")).bytes())),
        ),
        each(
            112,
            "odd bytes a target may have",
            ["\"", "<>", "\\", "^", "`", "{|}", "[]", "!$&'()*+,;=:@~-._"]
                .map(|text| (call("GET", &format!("/user{text}")), status(404))),
        ),
        each(
            112,
            "line ends of other kinds",
            [
                "GET /user HTTP/1.1\r\nHost: x\r\n\n",
                "GET /user HTTP/1.1\r\nHost: x\n\r\n",
                "GET /user HTTP/1.1\r\r\nHost: x\r\n\r\n",
                "GET /user HTTP/1.1\r\nHost: x\r\r\n\r\n",
                "GET /user HTTP/1.1\rHost: x\r\n\r\n",
                "GET /user HTTP/1.1\n",
                "GET /user HTTP/1.1\r\nHost: x\n",
                "GET /user\r\nHost: x\r\n\r\n",
                "\n",
            ]
            .map(|text| refused(text.as_bytes().to_vec())),
        ),
        each(
            113,
            "a name with a byte that is none of a token's",
            no_token().filter(|byte| *byte != b':').map(|byte| refused(get().field(with("X", byte, "Y: a")).bytes())),
        ),
        each(
            113,
            "folds",
            [
                "X: a\r\n ",
                "X: a\r\n\t",
                "X: a\r\n \r\nY: b",
                "X: a\r\n  b: c",
                "X-Forwarded-For: 10.1.0.1\r\n x",
                "X:\r\n a",
                "X: a\r\n\x0bb",
            ]
            .map(|field| refused(get().field(field).bytes())),
        ),
        each(
            113,
            "the first field indented with a tab",
            [
                refused(get().line("GET /user HTTP/1.1\r\n\tX: a").bytes()),
                refused(get().line("GET /user HTTP/1.1\r\n ").bytes()),
            ],
        ),
        each(
            113,
            "values that are fine",
            ["X:", "X: ", "X:\t \t", "X:a", "X: a b", "X: :", "X: a: b", "X: \"a", "X::", "X: \u{e9}"]
                .map(|field| fine(get().field(field).bytes())),
        ),
        each(
            115,
            "empty lines",
            [
                ([get().bytes(), b"\r\n".to_vec(), get().bytes()].concat(), [ok(UA), ok(UA)].concat()),
                ([get().bytes(), b"\r\n\r\n".to_vec(), get().bytes()].concat(), [ok(UA), bad()].concat()),
                ([get().bytes(), b"\n".to_vec(), get().bytes()].concat(), [ok(UA), bad()].concat()),
                (
                    [b"\r\n".to_vec(), auth("{}").bytes(), b"\r\n".to_vec(), get().bytes()].concat(),
                    [status(403), ok(UA)].concat(),
                ),
                (b"\r\n\r\n".to_vec(), bad()),
                ([b"\r\n\n".to_vec(), get().bytes()].concat(), bad()),
                ([b"\n".to_vec(), get().bytes()].concat(), bad()),
                ([b"\r\n ".to_vec(), get().bytes()].concat(), bad()),
            ],
        ),
        each(47, "names in capitals", named(str::to_ascii_uppercase)),
        each(47, "names in small letters", named(str::to_ascii_lowercase)),
        each(47, "names in both", named(mixed)),
        each(
            47,
            "a key by any spelling of its name",
            ["X-API-KEY", "x-api-key", "X-Api-Key", "x-API-kEY"]
                .map(|name| fine(get().no_key().field(format!("{name}: {}", ta())).bytes())),
        ),
        each(
            35,
            "twice, spelled otherwise",
            [
                (get().field("x-forwarded-for: 10.1.0.1"), status(403)),
                (get().field("X-FORWARDED-FOR:"), status(403)),
                (get().field(format!("x-api-key: {}", ta())), status(403)),
                (get().field("host: x"), bad()),
                (get().field("HOST:"), bad()),
                (get().field("content-length: 0").field("Content-Length: 0"), bad()),
                (get().field("transfer-encoding: chunked").chunks("0\r\n\r\n"), status_with(501, Tail::Close)),
                (get().field("expect: 100-continue").field("Expect: 100-continue"), status_with(417, Tail::Close)),
            ],
        ),
        each(
            203,
            "names that only look alike",
            [
                format!("X-API-Key2: {}", tb()),
                format!("X-API-Ke: {}", tb()),
                format!("XX-API-Key: {}", tb()),
                format!("X_API_Key: {}", tb()),
                "X-Forwarded-Fo: ::1".into(),
                "X-Forwarded-Fort: 10.2.0.1".into(),
                "X_Forwarded_For: 10.2.0.1".into(),
                "X-Forwarded: 10.2.0.1".into(),
                "Forwarded: for=10.2.0.1".into(),
                "X-Real-IP: 10.2.0.1".into(),
                "Hos: y".into(),
                "Hosts: y".into(),
                "Content-Lengt: 9".into(),
                "Content-Length2: 9".into(),
                "Content_Length: 9".into(),
                "Transfer-Encodin: gzip".into(),
                "Connection2: close".into(),
                "Proxy-Connection: close".into(),
                "Keep-Alive: timeout=1".into(),
                "Expects: foo".into(),
                "X-HTTP-Method-Override: DELETE".into(),
                format!("Authorization: Bearer {}", tb()),
                format!("Cookie: X-API-Key={}", tb()),
            ]
            .map(|field| fine(get().field(field).bytes())),
        ),
        each(
            203,
            "fields in other places",
            [
                fine(
                    call("GET", "/user")
                        .nowhere()
                        .no_host()
                        .field(format!("X-API-Key: {}", ta()))
                        .field("A: b")
                        .field("X-Forwarded-For: 10.1.0.1")
                        .field("Host: x")
                        .bytes(),
                ),
                fine(
                    call("GET", "/user")
                        .nowhere()
                        .no_host()
                        .field("X-Forwarded-For: 10.1.0.1")
                        .field("Host: x")
                        .field(format!("X-API-Key:\t {}\t ", ta()))
                        .bytes(),
                ),
                fine(get().no_key().field(format!("X-API-Key:{}", ta())).bytes()),
                fine(get().nowhere().field("X-Forwarded-For:10.1.0.1").bytes()),
            ],
        ),
        each(
            204,
            "values of Host",
            ["", "a b", ",", "x:1", "[::1]", "\u{e9}", "http://x/"]
                .map(|value| fine(get().no_host().field(format!("Host: {value}")).bytes())),
        ),
        each(
            122,
            "heads of 16,384 bytes and one more",
            (0..2).flat_map(|more| {
                let answer = move |right: Vec<u8>| if more == 0 { right } else { status_with(431, Tail::Close) };
                let size = 16_384 + more;
                let short = get().bytes().len();
                let pad = "a".repeat(size - short);
                let old = get().line("GET /user HTTP/1.0").field("X: ").head().len();
                [
                    ([b"\r\n".to_vec(), head_of_size(size)].concat(), answer(ok(UA))),
                    (get().line(format!("GET /user?{} HTTP/1.1", &pad[1..])).bytes(), answer(ok(UA))),
                    (get().line(format!("GET /user{pad} HTTP/1.1")).bytes(), answer(status(404))),
                    (get().field(format!("{}: x", &pad[5..])).bytes(), answer(ok(UA))),
                    (get().line(format!("{}GET /user HTTP/1.1", pad)).bytes(), answer(method(allow::USER, Tail::None))),
                    (
                        get().line("GET /user HTTP/1.0").field(format!("X: {}", "a".repeat(size - old))).bytes(),
                        answer(ok_with(UA, Tail::Close)),
                    ),
                ]
            }),
        ),
        each(
            122,
            "a head that is too long before its end",
            [
                (get().field("X: ").head()[..get().field("X: ").head().len() - 4].to_vec(), 16_384),
                (b"GET /user?".to_vec(), 16_384),
                (b"G".to_vec(), 16_384),
                (b"GET /user HTTP/1.1\r\nHost: x\r\nX".to_vec(), 16_384),
            ]
            .map(|(mut bytes, size)| {
                bytes.resize(size, b'a');
                (bytes, status_with(431, Tail::Close))
            }),
        ),
        each(
            122,
            "numbers of fields",
            [
                (fields(99), ok(UA)),
                ([b"\r\n".to_vec(), fields(100)].concat(), ok(UA)),
                (fields(102), status_with(431, Tail::Close)),
                (fields(1_000), status_with(431, Tail::Close)),
                ((4..=100).fold(get(), |request, _| request.field("X: a")).bytes(), ok(UA)),
                ((4..=101).fold(get(), |request, _| request.field("X: a")).bytes(), status_with(431, Tail::Close)),
            ],
        ),
        one(
            122,
            "a field too many before the end of the head",
            {
                let head = fields(102);
                head[..head.len() - 2].to_vec()
            },
            status_with(431, Tail::Close),
        ),
    ]
}
