//! Cases 73 to 89: JSON bodies, and the tokens made of them.

use std::io::Write;
use std::time::Duration;

use crate::client::*;
use crate::server::Server;

const ANN: &str = r#""login":"ann","password":"Aa1""#;

fn quoted(token: &str) -> String {
    ok(&format!("\"{token}\""))
}

#[test]
fn nonces_come_back_escaped_as_published() {
    let server = Server::start();
    for (nonce, rest) in [
        (r#""n""#, TA.strip_prefix(H).unwrap()),
        (
            r#""\u00ff\ud83d\ude00""#,
            ".eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoiw7_wn5iAIn0.U6i35Z8nHjPznwpquQG4bcw-TD1kOGtjx8ISiGvtNVA",
        ),
        (
            r#""z\",\"login\":\"adm""#,
            ".eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoielwiLFwibG9naW5cIjpcImFkbSJ9.01uEYD5adDrhoNGCFPQI3ckqlJqybTPIngz4Bh76l18",
        ),
        (
            r#""\b\f\n\r\t\u0001\u001f\u007f/\u2028<>&'\"\\""#,
            ".eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoiXGJcZlxuXHJcdFx1MDAwMVx1MDAxZn8vXHUyMDI4XHUwMDNjXHUwMDNlXHUwMDI2J1wiXFwifQ.5alj1Po667ABq7Uc7jI7KZfxpE3ORyUiu5GZavtCG64",
        ),
        ("null", ".eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoiIn0.PxeCPr1DVlwZDCirZHponD050FZfrcyU19HcTF9RQBI"),
    ] {
        let token = format!("{H}{rest}");
        server.gives(&log_in(&format!("{{{ANN},\"nonce\":{nonce}}}")), &quoted(&token));
        server.gives(&get("10.1.0.1", &token), &ok(UA));
    }
}

#[test]
fn the_object_counts_and_not_what_looks_like_it() {
    let server = Server::start();
    for body in [
        r#"{"login":"bob","login":"ann","password":"Aa1","nonce":"n"}"#.to_owned(),
        format!(r#"{{{ANN},"login":null,"nonce":"n"}}"#),
        format!(r#"{{"a":{{"login":"bob"}},{ANN},"nonce":"n"}}"#),
        format!(r#" {{ "x" : [ 1e999 , -0.5E-3 , true , null ] , {ANN} , "nonce" : "\u006e" }} "#),
        format!("{{{ANN},\"nonce\":\"n\",\"x\":{}1{}}}", "[".repeat(63), "]".repeat(63)),
    ] {
        server.gives(&log_in(&body), &quoted(TA));
    }
    let answer = server.answer(log_in(&format!(r#"{{"nonce":"\"login\":\"bob\",\"password\":\"AaAa\"",{ANN}}}"#)));
    let token = answer.rsplit('"').nth(1).unwrap();
    server.gives(&get("10.1.0.1", token), &ok(UA));
}

#[test]
fn what_is_no_such_object_is_refused() {
    let server = Server::start();
    for body in ["", "[]", "null", "\"x\"", "{} x", "{}{}", "\u{feff}{}"] {
        server.gives(&log_in(body), &empty(400));
    }
    for member in [
        "",
        "\"x\":NaN",
        "\"x\":01",
        "\"x\":+1",
        "\"x\":1.",
        "\"x\":tru",
        "/**/\"x\":1",
        "'x':1",
        "\"x\":\"\t\"",
        "\"x\":\"\n\"",
        r#""x":"\x41""#,
        r#""x":"\u12G4""#,
        r#""nonce":5"#,
        r#""nonce":[]"#,
        r#""nonce":true"#,
        r#""nonce":"\ud83d""#,
        r#""nonce":"\ude00\ud83d""#,
        r#""nonce":"\ud83dx""#,
        r#""x":"\ud83d""#,
        r#""login":5"#,
    ] {
        server.gives(&log_in(&format!("{{{ANN},{member}}}")), &empty(400));
    }
    let deep = format!("{{{ANN},\"x\":{}{}}}", "[".repeat(64), "]".repeat(64));
    server.gives(&log_in(&deep), &empty(400));
    server.gives(&log_in(&"[".repeat(30_000)), &empty(400));
    for body in
        ["{}", r#"{"login":null}"#, r#"{"login":"ann","password":"aa1"}"#, r#"{"login":"bob","password":"AaAa"}"#]
    {
        server.gives(&log_in(body), &empty(403));
    }
}

#[test]
fn a_long_answer_arrives_whole_at_a_slow_reader() {
    let server = Server::start();
    let body = format!("{{{ANN},\"nonce\":\"{}\"}}", "<".repeat(60_000));
    let mut stream = connect(server.address);
    stream.write_all(log_in(&body).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    expect(&mut stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 480118\r\n\r\n\"");
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream).len(), 480_117);
}

#[test]
fn bodies_end_at_65536_bytes() {
    let server = Server::start();
    let fill = |length: usize| format!("{{{ANN},\"nonce\":\"n\"{}}}", " ".repeat(length - ANN.len() - 14));
    assert_eq!(fill(65_536).len(), 65_536);
    server.gives(&log_in(&fill(65_536)), &quoted(TA));
    let head = log_in(&fill(65_537)).split_once("\r\n\r\n").unwrap().0.to_owned() + "\r\n\r\n";
    assert_eq!(server.last_answer(head), closing(&empty(413)));
}
