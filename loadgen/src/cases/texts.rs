//! Neighbours of cases 73 to 86: the same good and bad JSON in the body of every route, and in both halves of a token.

use super::json::padded;
use super::request::{ANN, Request, UA, auth, call, get, patch, put_user, ta};
use super::table::{Case, each, one, round};
use crate::model::answer::{ok, status};
use crate::model::json::quote;
use crate::model::token::{HEADER, issued, sealed, segment};

/// Values of a member that is ignored, which are JSON.
const GOOD: &[&str] = &[
    "1",
    "0",
    "-0",
    "-0.0",
    "1e5",
    "1E+5",
    "1e-5",
    "0.1",
    "-10.01e+10",
    "1e400",
    "-1e400",
    "123456789012345678901234567890",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[1 , \"a\" ,null]",
    "{\"a\" : [ {} ] , \"b\":0}",
    "\"\"",
    "\" \"",
    r#""\"\\\/\b\f\n\r\t""#,
    r#""\u0000""#,
    r#""\uD83D\uDE00""#,
    r#""\ud83D\uDe00\u00fF""#,
    "\"\u{7f}\"",
    "\"\u{2028}\u{85}\"",
    "\"😀\u{fffe}\u{10ffff}\u{d7ff}\u{e000}\"",
    "{\"a\":1,\"a\":2}",
    "{\"\":1}",
    "\"[{\"",
    "\"\\\\\"",
    "\"\\\\\\\"\"",
    "\"//\"",
    "\t1\r\n",
];

/// Values that are not.
const BAD: &[&str] = &[
    "",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "undefined",
    "00",
    "01",
    "-01",
    "+1",
    "1.",
    ".5",
    "-.5",
    "-",
    "--1",
    "1.e5",
    "1e",
    "1e+",
    "1e5.0",
    "1.0.0",
    "1_0",
    "1,0",
    "0x1",
    "0b1",
    "1f",
    "1 2",
    "tru",
    "truee",
    "True",
    "TRUE",
    "nul",
    "nulL",
    "fals",
    "[",
    "]",
    "[1",
    "[1,",
    "[,]",
    "[,1]",
    "[1,]",
    "[1,,2]",
    "[1 2]",
    "[1:2]",
    "{",
    "}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{\"a\":1 \"b\":2}",
    "{\"a\" 1}",
    "{\"a\":1:2}",
    "{a:1}",
    "{1:2}",
    "{null:1}",
    "{'a':1}",
    "[}",
    "{]",
    "[{]}",
    "'x'",
    "`x`",
    "x",
    "\"",
    "\"\\",
    "\"\\\"",
    r#""\a""#,
    r#""\0""#,
    r#""\x41""#,
    r#""\U0041""#,
    r#""\'""#,
    r#""\u""#,
    r#""\u1""#,
    r#""\u12""#,
    r#""\u123""#,
    r#""\u12G4""#,
    r#""\u 123""#,
    r#""\u+123""#,
    r#""\u-123""#,
    r#""\u{41}""#,
    r#""\ud83d""#,
    r#""\ud83d\ud83d""#,
    r#""\ud83d\u0041""#,
    r#""\ud83d\n""#,
    r#""\ud83dx""#,
    r#""\ude00""#,
    r#""\ude00\ud83d""#,
    r#""a\udfff""#,
    "\"a\tb\"",
    "\"a\nb\"",
    "\"a\rb\"",
    "\"\0\"",
    "\"\u{1f}\"",
    "/**/1",
    "1/**/",
    "1//x",
    "#",
    "1;",
    "\u{a0}1",
    "\u{b}1",
    "1\u{c}",
    "\u{feff}1",
    "\u{2028}1",
    "1\0",
];

/// Bytes of a string that are UTF-8, and such that are not.
const TEXT: &[(&[u8], bool)] = &[
    (b"\xc2\x80", true),
    (b"\xdf\xbf", true),
    (b"\xe0\xa0\x80", true),
    (b"\xed\x9f\xbf", true),
    (b"\xee\x80\x80", true),
    (b"\xef\xbf\xbf", true),
    (b"\xf0\x90\x80\x80", true),
    (b"\xf4\x8f\xbf\xbf", true),
    (b"\xff", false),
    (b"\xfe", false),
    (b"\x80", false),
    (b"\xbf", false),
    (b"\xc0\x80", false),
    (b"\xc0\xaf", false),
    (b"\xc1\xbf", false),
    (b"\xc3", false),
    (b"\xc3(", false),
    (b"\xe0\x80\x80", false),
    (b"\xe0\x9f\xbf", false),
    (b"\xe2\x82", false),
    (b"\xe2\x82x", false),
    (b"\xed\xa0\x80", false),
    (b"\xed\xbf\xbf", false),
    (b"\xed\xa0\xbd\xed\xb8\x80", false),
    (b"\xf0\x80\x80\x80", false),
    (b"\xf0\x8f\xbf\xbf", false),
    (b"\xf0\x9f\x98", false),
    (b"\xf4\x90\x80\x80", false),
    (b"\xf5\x80\x80\x80", false),
    (b"\xf8\x88\x80\x80\x80", false),
    (b"\xc3\xbc\xfc", false),
];

/// A member is put where each route reads JSON: the requests, each with its answer if that is an object and if not. In
/// its right place everything is as if the member were not there, and nothing is changed.
fn everywhere(member: &[u8]) -> Vec<(Request, Vec<u8>, Vec<u8>)> {
    let first = |rest: &str| [b"{", member, b",", rest.as_bytes(), b"}"].concat();
    let last = |rest: &str| [b"{", rest.as_bytes(), b",", member, b"}"].concat();
    let all = format!("{ANN},\"name\":\"n\",\"phone\":\"1\",\"country\":\"France\"");
    let token = ok(&format!("\"{}\"", issued("ann", "")));
    let header = HEADER.trim_matches(['{', '}']);
    let (bad, no) = (status(400), status(403));
    vec![
        (auth(last(ANN)), token.clone(), bad.clone()),
        (auth(first(ANN)), token, bad.clone()),
        (put_user(last(&all)), status(409), bad.clone()),
        (put_user(first(&all)), status(409), bad.clone()),
        (patch(last("\"name\":\"Ann\"")), status(202), bad.clone()),
        (patch(first("\"phone\":\"+331\"")), status(202), bad),
        (get().key(sealed(&format!("{}.{}", segment(HEADER), segment(last("\"login\":\"ann\""))))), ok(UA), no.clone()),
        (get().key(sealed(&format!("{}.{}", segment(last(header)), segment("{\"login\":\"ann\"}")))), ok(UA), no),
    ]
}

fn good(member: impl AsRef<[u8]>) -> Vec<(Request, Vec<u8>)> {
    everywhere(member.as_ref()).into_iter().map(|(request, right, _)| (request, right)).collect()
}

fn bad(member: impl AsRef<[u8]>) -> Vec<(Request, Vec<u8>)> {
    everywhere(member.as_ref()).into_iter().map(|(request, _, wrong)| (request, wrong)).collect()
}

/// The group.
pub fn cases() -> Vec<Case> {
    let deep = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("\"x\":{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let token = |nonce: &str| ok(&format!("\"{}\"", issued("ann", nonce)));
    let said = |nonce: &str| auth(format!("{{{ANN},\"nonce\":{nonce}}}"));
    let escaped = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    let tops = [
        "",
        " ",
        "null",
        "[]",
        "5",
        "\"x\"",
        "true",
        "{",
        "}",
        "{}{}",
        "{} {}",
        "{}x",
        "{},",
        "[{}]",
        "\0{}",
        "{}\0",
        "\u{feff}{}",
        "{}\u{feff}",
        "\u{b}{}",
        "{}//",
        "// \n{}",
    ];
    let characters: Vec<char> = ('\0'..='\u{a0}')
        .chain("ÿ\u{7ff}\u{800}\u{2027}\u{2028}\u{2029}\u{202a}\u{d7ff}\u{e000}\u{fffd}\u{ffff}😀\u{10ffff}".chars())
        .collect();
    let text: String = characters.iter().collect();
    vec![
        each(86, "values that are ignored, everywhere", GOOD.iter().flat_map(|value| good(format!("\"x\":{value}")))),
        each(83, "values that are not JSON, everywhere", BAD.iter().flat_map(|value| bad(format!("\"x\":{value}")))),
        each(
            83,
            "members that are not JSON, everywhere",
            [
                "",
                "\"x\"",
                "x:1",
                "\"x\"=1",
                "\"x\":1,",
                "\"x\":1;\"y\":2",
                "'x':1",
                "5:1",
                "\"x\" \"y\":1",
                "\"\\ud83d\":1",
                "\"a\nb\":1",
                "\"\\q\":1",
                ":1",
                "null:1",
                "{}:1",
            ]
            .into_iter()
            .flat_map(bad),
        ),
        each(
            83,
            "what is UTF-8 and what is not, everywhere",
            TEXT.iter().flat_map(|(bytes, right)| {
                let members = [[b"\"x\":\"", *bytes, b"\""].concat(), [b"\"x", *bytes, b"\":1"].concat()];
                members.into_iter().flat_map(|member| if *right { good(member) } else { bad(member) })
            }),
        ),
        each(
            83,
            "every control byte in a string",
            (0..0x20u8).flat_map(|byte| bad([b"\"x\":\"", &[byte][..], b"\""].concat())),
        ),
        each(
            85,
            "63 below the object, everywhere",
            [("[", "", "]"), ("{\"a\":", "1", "}"), ("[{\"a\":", "1", "}]")]
                .into_iter()
                .flat_map(|(open, inner, close)| good(deep(open, inner, close, if close.len() > 1 { 31 } else { 63 }))),
        ),
        each(
            85,
            "64 below the object, everywhere",
            [("[", "", "]"), ("{\"a\":", "1", "}"), ("[{\"a\":", "1", "}]")]
                .into_iter()
                .flat_map(|(open, inner, close)| bad(deep(open, inner, close, if close.len() > 1 { 32 } else { 64 }))),
        ),
        each(85, "many levels, one after the other", good(format!("\"x\":[{}[]]", "[[]],".repeat(200)))),
        each(
            82,
            "documents that are no object",
            tops.into_iter().flat_map(|top| {
                [
                    (auth(top), status(400)),
                    (put_user(top), status(400)),
                    (patch(top), status(400)),
                    (patch(top).no_key(), status(403)),
                    (auth(top).nowhere(), status(403)),
                ]
            }),
        ),
        each(
            80,
            "known members twice",
            [
                (
                    auth(r#"{"login":null,"login":"ann","password":"x","password":"Aa1","nonce":"m","nonce":"n"}"#),
                    token("n"),
                ),
                (auth(r#"{"login":"ann","password":"Aa1","nonce":"n","nonce":null,"password":null}"#), token("n")),
                (auth(r#"{"login":"ann","password":"Aa1","password":"x"}"#), status(403)),
                (auth(r#"{"login":"ann","password":"Aa1","nonce":5,"nonce":"n"}"#), status(400)),
                (auth(r#"{"login":"ann","password":[],"password":"Aa1"}"#), status(400)),
                (auth(r#"{"login":"ann","p\u0061ssword":"Aa1","password":null}"#), token("")),
                (
                    put_user(
                        r#"{"login":"new","login":"ann","password":"p","name":"n","phone":"1","country":"Germany","country":"France"}"#,
                    ),
                    status(409),
                ),
                (
                    put_user(
                        r#"{"login":"ann","password":"p","name":"n","phone":"1","country":"France","country":"Germany"}"#,
                    ),
                    status(403),
                ),
                (
                    put_user(
                        r#"{"login":"ann","password":"p","name":"n","phone":"1","country":"France","login":null}"#,
                    ),
                    status(409),
                ),
                (
                    put_user(r#"{"login":"ann","login":"","password":"p","name":"n","phone":"1","country":"France"}"#),
                    status(400),
                ),
                (
                    put_user(r#"{"login":"ann","password":"p","name":"n","phone":"1","country":"France","name":5}"#),
                    status(400),
                ),
                (patch(r#"{"name":"x","name":"Ann","phone":"1","phone":"+331","phone":null}"#), status(202)),
                (patch(r#"{"name":{},"name":"Ann"}"#), status(400)),
                (get(), ok(UA)),
            ],
        ),
        each(
            82,
            "keys in another spelling",
            [
                (auth(r#"{"LOGIN":"ann","login":"ann","Password":"x","password":"Aa1"}"#), token("")),
                (auth(r#"{"login":"ann","Password":"Aa1"}"#), status(403)),
                (auth(r#"{"login ":"ann","password":"Aa1"}"#), status(403)),
                (auth(r#"{"\u006c\u006F\u0067\u0069\u006e":"ann","password":"Aa1"}"#), token("")),
                (put_user(r#"{"Login":"ann","password":"p","name":"n","phone":"1","country":"France"}"#), status(400)),
                (
                    put_user(r#"{"login":"ann","password":"p","name":"n","phone":"1","countr\u0079":"France"}"#),
                    status(409),
                ),
                (patch(r#"{"Name":"x","NAME":"y","phone ":"z"}"#), status(202)),
                (get(), ok(UA)),
            ],
        ),
        each(
            77,
            "types of every known member",
            ["5", "0", "true", "false", "[]", "{}", "[\"a\"]", "{\"a\":\"b\"}", "1.5"].into_iter().flat_map(|value| {
                let change = |request: &Request| (request.clone(), status(400));
                let mut steps = Vec::new();
                for member in ["login", "password", "nonce"] {
                    steps.push(change(&auth(format!("{{{ANN},\"{member}\":{value}}}"))));
                }
                for member in ["login", "password", "name", "phone", "country"] {
                    steps.push(change(&put_user(format!(
                        "{{{ANN},\"name\":\"n\",\"phone\":\"1\",\"country\":\"France\",\"{member}\":{value}}}"
                    ))));
                }
                for member in ["password", "name", "phone", "country"] {
                    steps.push(change(&patch(format!("{{\"{member}\":{value}}}"))));
                }
                steps
            }),
        ),
        each(
            76,
            "every character, escaped",
            characters.chunks(16).map(|some| {
                let nonce: String = some.iter().collect();
                (said(&format!("\"{}\"", escaped(&nonce))), token(&nonce))
            }),
        ),
        each(
            76,
            "every character that needs no escape, as it is",
            characters.iter().filter(|c| **c >= ' ' && !matches!(c, '"' | '\\')).collect::<Vec<_>>().chunks(16).map(
                |some| {
                    let nonce: String = some.iter().copied().collect();
                    (said(&format!("\"{nonce}\"")), token(&nonce))
                },
            ),
        ),
        each(
            76,
            "escapes beside each other",
            [
                (r"\\n", "\\n"),
                (r"\\\n", "\\\n"),
                (r#"\\\""#, "\\\""),
                (r"\/\/", "//"),
                (r"\u005c", "\\"),
                (r"\u005cn", "\\n"),
                (r"\u0022", "\""),
                (r"\ud83d\ude00\ud83d\ude00", "😀😀"),
                (r"x\ud83d\ude00\\ude00", "x😀\\ude00"),
            ]
            .map(|(raw, nonce)| (said(&format!("\"{raw}\"")), token(nonce))),
        ),
        each(
            79,
            "keys, quotes and braces in values",
            [
                ("}", "}"),
                ("{", "{"),
                (r#"\""#, "\""),
                (r#"\",\"login\":\"bob"#, "\",\"login\":\"bob"),
                ("]}", "]}"),
                (r"\\", "\\"),
                (r#"\\\"}"#, "\\\"}"),
                (r"\u0022,\u0022login\u0022:\u0022bob", "\",\"login\":\"bob"),
            ]
            .map(|(raw, nonce)| (auth(format!("{{\"nonce\":\"{raw}\",{ANN}}}")), token(nonce))),
        ),
        round(
            95,
            "a name of every character",
            vec![
                (patch(format!("{{\"name\":\"{}\",\"phone\":\"{}\"}}", escaped(&text), escaped("</a>"))), status(202)),
                (
                    get(),
                    ok(&format!(
                        "{{\"login\":\"ann\",\"name\":{},\"phone\":{},\"country\":\"France\"}}",
                        quote(&text),
                        quote("</a>")
                    )),
                ),
                (
                    get().line("HEAD /user HTTP/1.1"),
                    crate::model::answer::head_of(
                        &format!(
                            "{{\"login\":\"ann\",\"name\":{},\"phone\":{},\"country\":\"France\"}}",
                            quote(&text),
                            quote("</a>")
                        ),
                        crate::model::answer::Tail::None,
                    ),
                ),
                (patch(r#"{"name":"Ann","phone":"+331"}"#), status(202)),
                (get(), ok(UA)),
            ],
        ),
        one(89, "65,536 bytes to PUT", put_user(padded(65_536)), status(400)),
        one(89, "65,536 bytes to PATCH", call("PATCH", "/user").key(ta()).body(padded(65_536)), status(202)),
    ]
}
