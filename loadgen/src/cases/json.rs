//! Cases 73 to 89: JSON bodies.

use super::line::fail;
use super::request::{ANN, UA, auth, get};
use super::table::{Case, one, own};
use crate::model::answer::{Tail, ok, status, status_with};
use crate::model::token::issued;
use std::io::Read;
use std::time::Duration;

fn token(login: &str, nonce: &str) -> Vec<u8> {
    ok(&format!("\"{}\"", issued(login, nonce)))
}

/// The group.
pub fn cases() -> Vec<Case> {
    let bad = || status(400);
    let no = || status(403);
    let nonce = |raw: &str| auth(format!("{{{ANN},\"nonce\":\"{raw}\"}}"));
    let with = |member: &str| auth(format!("{{{ANN},{member}}}"));
    let mut cases = vec![
        one(73, "escapes above ASCII", nonce("\\u00ff\\ud83d\\ude00"), token("ann", "ÿ😀")),
        one(
            75,
            "a nonce that tries to be a claim",
            nonce(r#"z\",\"login\":\"adm"#),
            token("ann", "z\",\"login\":\"adm"),
        ),
        one(75, "the token of that nonce", get().key(issued("ann", "z\",\"login\":\"adm")), ok(UA)),
        one(
            76,
            "every escape",
            nonce(r#"\b\f\n\r\t\u0001\u001f\u007f/\u2028<>&'\"\\"#),
            token("ann", "\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}/\u{2028}<>&'\"\\"),
        ),
        one(76, "a zero character", nonce("a\\u0000b"), token("ann", "a\0b")),
        one(76, "letters that need no escape, escaped", nonce("\\u0041\\/\\u2029"), token("ann", "A/\u{2029}")),
        one(77, "no nonce", auth(format!("{{{ANN}}}")), token("ann", "")),
        one(77, "nonce null", with("\"nonce\":null"), token("ann", "")),
        one(
            79,
            "quoted keys inside a value",
            auth(format!(r#"{{"nonce":"\"login\":\"bob\",\"password\":\"AaAa\"",{ANN}}}"#)),
            token("ann", r#""login":"bob","password":"AaAa""#),
        ),
        one(
            80,
            "bob, then ann",
            auth(r#"{"login":"bob","login":"ann","password":"Aa1","nonce":"n"}"#),
            token("ann", "n"),
        ),
        one(80, "ann, then null", with("\"login\":null,\"nonce\":\"n\""), token("ann", "n")),
        one(80, "a number, then ann", auth(format!("{{\"login\":5,{ANN}}}")), bad()),
        one(80, "ann, then a number", with("\"login\":5"), bad()),
        one(80, "the password twice", auth(r#"{"password":"Aa1","login":"ann","password":"Aa2"}"#), no()),
        one(82, "an empty object", auth("{}"), no()),
        one(82, "login null", auth(r#"{"login":null}"#), no()),
        one(82, "an empty body", auth(""), bad()),
        one(82, "an array", auth("[]"), bad()),
        one(82, "null", auth("null"), bad()),
        one(82, "a string", auth("\"x\""), bad()),
        one(82, "Login in another case", auth(r#"{"Login":"ann","password":"Aa1"}"#), no()),
        one(
            82,
            "a key spelled with an escape",
            auth(r#"{"\u006cogin":"ann","password":"Aa1","nonce":"n"}"#),
            token("ann", "n"),
        ),
        one(
            85,
            "64 deep",
            with(&format!("\"nonce\":\"n\",\"x\":{}{}", "[".repeat(63), "]".repeat(63))),
            token("ann", "n"),
        ),
        one(85, "65 deep", with(&format!("\"x\":{}{}", "[".repeat(64), "]".repeat(64))), bad()),
        one(85, "65 deep in objects", with(&format!("\"x\":{}1{}", "{\"a\":".repeat(64), "}".repeat(64))), bad()),
        one(85, "30,000 deep", auth("[".repeat(30_000)), bad()),
        one(85, "30,000 deep in an ignored member", with(&format!("\"x\":{}", "[".repeat(30_000))), bad()),
        one(
            86,
            "login also inside",
            auth(format!(r#"{{"a":{{"login":"bob"}},{ANN},"nonce":"n"}}"#)),
            token("ann", "n"),
        ),
        one(
            86,
            "spaces everywhere",
            auth("\t{ \"login\" :\r\n\"ann\" , \"password\":\"Aa1\",\n\"nonce\" : \"n\" } \r\n"),
            token("ann", "n"),
        ),
        one(
            86,
            "ignored members of every type",
            with(
                r#""nonce":"n","a":-0.5e+10,"b":true,"c":null,"d":[1,{}],"e":{"f":"\ud83d\ude00"},"g":123456789012345678901234567890"#,
            ),
            token("ann", "n"),
        ),
        own(88, "a long answer to a slow reader", |stage| {
            let mut line = stage.open()?;
            let right = token("ann", &"<".repeat(60_000));
            line.send(auth(format!("{{{ANN},\"nonce\":\"{}\"}}", "<".repeat(60_000))).bytes())?;
            let mut got = vec![0; 20_000];
            for slow in 0..10 {
                std::thread::sleep(Duration::from_millis(20));
                let part = &right[slow * 20_000..(slow + 1) * 20_000];
                if line.socket().read_exact(&mut got).is_err() || got != part {
                    return fail("200 with 480118 bytes", format!("other bytes around {}", slow * 20_000));
                }
            }
            line.expect(&right[200_000..])?;
            line.in_step()
        }),
        one(89, "65,536 bytes", auth(padded(65_536)), token("ann", "n")),
        one(89, "65,537 bytes announced", auth(padded(65_537)).head(), status_with(413, Tail::Close)),
    ];
    for raw in ["\\ud83d", "\\ude00\\ud83d", "\\ud83dx", "\\ud83d\\u0041", "\\ude00"] {
        cases.push(one(74, format!("half a pair: {raw}"), nonce(raw), bad()));
    }
    for value in ["5", "[]", "true", "{}", "false"] {
        cases.push(one(77, format!("nonce {value}"), with(&format!("\"nonce\":{value}")), bad()));
    }
    let ann = format!("{{{ANN}}}");
    for body in [
        format!("{{{ANN},}}"),
        "{'login':'ann'}".into(),
        format!("{{{ANN}/*x*/}}"),
        format!("\u{feff}{ann}"),
        format!("{ann} x"),
        format!("{ann}{ann}"),
        format!("{{,{ANN}}}"),
        ann[..ann.len() - 1].into(),
        format!("{ann}}}"),
        "{\"login\" \"ann\"}".into(),
        "{\"login\":}".into(),
        "{login:\"ann\"}".into(),
    ] {
        cases.push(one(83, format!("not JSON: {body}"), auth(&body), bad()));
    }
    for value in [
        "NaN",
        "01",
        "+1",
        "1.",
        "tru",
        ".5",
        "1e",
        "-",
        "Infinity",
        "0x1",
        "nul",
        "[1,]",
        "{\"a\":1,}",
        "[1 2]",
        "\"\t\"",
        "\"\n\"",
        "\"\\x41\"",
        "\"\\u12G4\"",
        "\"\\u123\"",
        "\"\\ud83d\"",
        "\"",
    ] {
        cases.push(one(83, format!("an ignored member of {value:?}"), with(&format!("\"x\":{value}")), bad()));
    }
    for raw in ["a\tb", "a\nb", "\\x41", "\\u12G4"] {
        cases.push(one(83, format!("nonce {raw:?}"), nonce(raw), bad()));
    }
    for (name, bytes) in [
        ("FF", &b"\xff"[..]),
        ("an overlong form", b"\xc0\x80"),
        ("an encoded surrogate", b"\xed\xa0\x80"),
        ("above U+10FFFF", b"\xf4\x90\x80\x80"),
        ("half a character", b"\xc3"),
    ] {
        let mut body = format!("{{{ANN},\"x\":\"").into_bytes();
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\"}");
        cases.push(one(83, format!("not UTF-8: {name}"), auth(body), bad()));
    }
    cases
}

/// ann's login in that many bytes.
pub fn padded(length: usize) -> String {
    let start = format!("{{{ANN},\"nonce\":\"n\",\"x\":\"");
    format!("{start}{}\"}}", "x".repeat(length - start.len() - 2))
}
