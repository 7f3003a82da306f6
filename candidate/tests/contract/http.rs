//! Cases 103 to 125: requests as HTTP has them.

use crate::client::*;
use crate::server::Server;

/// The usual request with something in the place of `Host: x`.
fn with_fields(fields: &str) -> String {
    get("10.1.0.1", TA).replace("Host: x", fields)
}

#[test]
fn routes_and_methods_come_before_everything_else() {
    let server = Server::start();
    for method in ["BREW", "get", "OPTIONS", "TRACE", "POST", "DELETE"] {
        server.gives(&format!("{method} /user HTTP/1.1\r\nHost: x\r\n\r\n"), &not_allowed(USER_METHODS));
    }
    for method in ["GET", "HEAD", "PUT"] {
        server.gives(&request(method, "/auth", "10.1.0.1", "", ""), &not_allowed("POST"));
    }
    server.gives(&request("GET", "/blacklist/user/ann", "", "", ""), &not_allowed("DELETE, PUT"));
    for target in ["/", "/USER", "/user/", "//user", "/./user", "/%75ser", "/auth/x", "HTTP://h", "http://h?x/user"] {
        server.gives(&request("GET", target, "10.1.0.1", TA, ""), &empty(404));
    }
    for target in ["http://h/user", "HTTPS://h:1/user?x=%zz", "/user?"] {
        server.gives(&request("GET", target, "10.1.0.1", TA, ""), &ok(UA));
    }
    for target in ["*", "h:80", "user", "/user#f", "/%", "/\0", "/\u{f6}"] {
        server.gives(&request("GET", target, "10.1.0.1", TA, ""), &closing(&empty(400)));
    }
    let head = ok(UA).strip_suffix(UA).unwrap().to_owned();
    let pipeline = request("HEAD", "/user", "10.1.0.1", TA, "") + &get("10.1.0.1", TA);
    server.gives(&pipeline, &(head + &ok(UA)));
}

#[test]
fn versions_are_told_apart() {
    let server = Server::start();
    let old = |more: &str| format!("GET /user HTTP/1.0\r\nX-Forwarded-For: 10.1.0.1\r\nX-API-Key: {TA}\r\n{more}\r\n");
    assert_eq!(server.last_answer(old("")), closing(&ok(UA)));
    assert_eq!(server.last_answer(old("Connection: keep-alive, close\r\n")), closing(&ok(UA)));
    let kept = old("Connection: Keep-Alive\r\nExpect: foo\r\n");
    server.gives(&kept.repeat(2), &with_connection(&ok(UA), "keep-alive").repeat(2));
    server.gives(&get("10.1.0.1", TA).replace("HTTP/1.1", "HTTP/1.2"), &ok(UA));
    for bytes in ["GET /user HTTP/2.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /\u{f6} HTTP/3.0\r\n\r\n"] {
        assert_eq!(server.last_answer(bytes), closing(&empty(505)), "{bytes}");
    }
    for bytes in [
        "GET /user\r\n\r\n",
        "GET /user HTTP/1.10\r\n\r\n",
        "GET /user http/1.1\r\n\r\n",
        "\x16\x03\x01\x02",
        "GET  /user HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(server.last_answer(bytes), closing(&empty(400)), "{bytes:?}");
    }
}

#[test]
fn heads_are_strict() {
    let server = Server::start();
    for fields in [
        "Host: a\rb",
        "Host: \0",
        "Host: \x01",
        "Host: \x7f",
        "Host: x\r\n y",
        " Host: x",
        "Host : x",
        ": x",
        "Host: x\r\nfoo",
        "Host: x\r\nX(a): b",
        "Host: x\nA: b",
        "A: b",
        "Host: x\r\nhost: x",
    ] {
        assert_eq!(server.last_answer(with_fields(fields)), closing(&empty(400)), "{fields:?}");
    }
    let high = with_fields("Host: x\r\nA: ?")
        .into_bytes()
        .iter()
        .map(|byte| if *byte == b'?' { 0xff } else { *byte })
        .collect::<Vec<u8>>();
    assert_eq!(server.answer(high), ok(UA));
    server.gives(&format!("\r\n{}", get("10.1.0.1", TA)), &ok(UA));
    assert_eq!(server.last_answer("\r\n\r\n"), closing(&empty(400)));
}

#[test]
fn heads_have_16384_bytes_and_100_fields() {
    let server = Server::start();
    let base = with_fields("Host: x\r\nA: ").len();
    let sized = |length: usize| with_fields(&format!("Host: x\r\nA: {}", "a".repeat(length - base)));
    server.gives(&sized(16_384), &ok(UA));
    server.gives(&sized(16_385), &closing(&empty(431)));
    let fields = |count: usize| with_fields(&format!("Host: x{}", "\r\nA: b".repeat(count - 3)));
    server.gives(&fields(100), &ok(UA));
    server.gives(&fields(101), &closing(&empty(431)));
    server.gives(&"A".repeat(100_000), &closing(&empty(431)));
}

#[test]
fn lengths_are_strict() {
    let server = Server::start();
    let body = r#"{"login":"ann","password":"Aa1","nonce":"n"}"#;
    assert_eq!(body.len(), 44);
    let ann = ok(&format!("\"{TA}\""));
    server.gives(&log_in(body).replace("Length: 44", "Length: 0044"), &ann);
    for length in ["44\r\nContent-Length: 44", "5, 5", "+5", "-1", "0x5", "", "5 5", "44\r\nTransfer-Encoding: chunked"]
    {
        let text = log_in(body).replace("Length: 44", &format!("Length: {length}"));
        assert_eq!(server.last_answer(text), closing(&empty(400)), "{length}");
    }
    assert_eq!(
        server.last_answer(with_fields("Host: x\r\nContent-Length: 99999999999999999999")),
        closing(&empty(413))
    );
    for coding in ["gzip, chunked", "identity", "xchunked", "chunked\r\nTransfer-Encoding: chunked"] {
        let text = with_fields(&format!("Host: x\r\nTransfer-Encoding: {coding}"));
        assert_eq!(server.last_answer(text), closing(&empty(501)), "{coding}");
    }
    let head = log_in("").replace("\r\n\r\n", "\r\nTransfer-Encoding: Chunked\r\n\r\n");
    let chunks: String = body.chars().map(|byte| format!("1;x=\"y\"\r\n{byte}\r\n")).collect();
    let chunked = format!("{head}{chunks}000\r\nX-Forwarded-For: 10.2.0.1\r\nContent-Length: 9\r\n\r\n");
    server.gives(&chunked.repeat(2), &ann.repeat(2));
    assert_eq!(server.last_answer(chunked.replace("HTTP/1.1", "HTTP/1.0")), closing(&empty(400)));
    for bad in ["x\r\n", "\r\n", "1\na\r\n", "1\r\nab", "10000000000000001\r\n", "0\r\nfoo\r\n"] {
        assert_eq!(server.last_answer(format!("{head}{bad}")), closing(&empty(400)), "{bad:?}");
    }
    assert_eq!(server.last_answer(format!("{head}10001\r\n")), closing(&empty(413)));
    assert_eq!(server.last_answer(format!("{head}0\r\nA: {}", "a".repeat(4_096))), closing(&empty(431)));
}

#[test]
fn unwanted_bodies_are_skipped_and_missing_ones_are_empty() {
    let server = Server::start();
    let next = get("10.1.0.1", TA);
    server.gives(&(request("GET", "/user", "10.1.0.1", TA, "GET / HTTP/1.1") + &next), &ok(UA).repeat(2));
    server.gives(&(request("DELETE", "/user", "10.1.0.1", TA, "abc") + &next), &(not_allowed(USER_METHODS) + &ok(UA)));
    server.gives(&(log_in("") + &next), &(empty(400) + &ok(UA)));
}
