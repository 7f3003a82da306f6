//! Cases 1 to 32: tokens.

use super::request::{UA, UB, auth, get, newcomer, patch, put_user, ta, tb, tok};
use super::table::{Case, one, row};
use crate::model::answer::{ok, status};
use crate::model::token::{HEADER, issued, mac256, mac384, mac512, payload, sealed, segment, signed};

/// The group.
pub fn cases() -> Vec<Case> {
    let no = || status(403);
    let ann = payload("ann", "n");
    let ta = ta();
    let (text, mac) = ta.rsplit_once('.').expect("a token has dots");
    let with = |header: &str| format!("{}.{}", segment(header), segment(&ann));
    let mut cases = vec![
        one(1, "no key", get().no_key(), no()),
        one(1, "an empty key", get().key(""), no()),
        one(1, "only Authorization", get().no_key().field(format!("Authorization: Bearer {ta}")), no()),
        one(1, "Bearer before the token", get().key(format!("Bearer {ta}")), no()),
        one(2, "two equal keys", get().field(format!("X-API-Key: {ta}")), no()),
        one(2, "a key and an empty one", get().field("X-API-Key:"), no()),
        one(4, "alg none without a signature", get().key(format!("{}.", with(r#"{"alg":"none","typ":"JWT"}"#))), no()),
        one(
            5,
            "HS384, signed so",
            get().key(format!("{0}.{1}", with(r#"{"alg":"HS384"}"#), segment(mac384(&with(r#"{"alg":"HS384"}"#))))),
            no(),
        ),
        one(
            5,
            "HS512, signed so",
            get().key(format!("{0}.{1}", with(r#"{"alg":"HS512"}"#), segment(mac512(&with(r#"{"alg":"HS512"}"#))))),
            no(),
        ),
        one(8, "crit", get().key(signed(r#"{"alg":"HS256","crit":["exp"]}"#, &ann)), no()),
        one(8, "crit null", get().key(signed(r#"{"alg":"HS256","crit":null}"#, &ann)), no()),
        one(10, "alg none, then HS256", get().key(signed(r#"{"alg":"none","alg":"HS256"}"#, &ann)), ok(UA)),
        one(10, "alg HS256, then none", get().key(signed(r#"{"alg":"HS256","alg":"none"}"#, &ann)), no()),
        one(10, "alg HS256, then null", get().key(signed(r#"{"alg":"HS256","alg":null}"#, &ann)), ok(UA)),
        one(13, "nothing changed: the token itself", get(), ok(UA)),
        one(
            14,
            "+ and / in the signature",
            get().key(format!("{text}.{}", mac.replace('-', "+").replace('_', "/"))),
            no(),
        ),
        one(
            15,
            "a padded payload",
            get().key(sealed(&format!("{}.{}=", segment(HEADER), segment(payload("ann", "nn"))))),
            no(),
        ),
        one(
            15,
            "a payload with spare bits",
            get().key(sealed(&format!("{}.{}", segment(HEADER), spare_bits(&payload("ann", "nn"))))),
            no(),
        ),
        one(16, "a signature one letter short", get().key(&ta[..ta.len() - 1]), no()),
        one(16, "a signature one letter long", get().key(format!("{ta}A")), no()),
        one(16, "another first letter of the signature", get().key(format!("{text}.X{}", &mac[1..])), no()),
        one(16, "a blank inside", get().key(format!("{} {}", &ta[..50], &ta[50..])), no()),
        one(16, "signed with an empty key", get().key(format!("{text}.{}", segment(mac256(b"", text)))), no()),
        one(17, "a user who does not exist", get().key(tok(r#"{"login":"zed"}"#)), no()),
        one(17, "a token without a nonce", get().key(tok(r#"{"login":"ann"}"#)), ok(UA)),
        one(19, "bob, then ann", get().key(tok(r#"{"login":"bob","login":"ann"}"#)), ok(UA)),
        one(19, "ann, then bob", get().key(tok(r#"{"login":"ann","login":"bob"}"#)), no()),
        one(19, "ann, then null", get().key(tok(r#"{"login":"ann","login":null}"#)), ok(UA)),
        one(19, "a number, then ann", get().key(tok(r#"{"login":5,"login":"ann"}"#)), no()),
        one(20, "LOGIN in capitals", get().key(tok(r#"{"LOGIN":"ann"}"#)), no()),
        one(20, "login spelled with an escape", get().key(tok(r#"{"\u006cogin":"\u0061nn"}"#)), ok(UA)),
        one(22, "login also inside", get().key(tok(r#"{"x":{"login":"bob"},"login":"ann"}"#)), ok(UA)),
        one(22, "login only inside", get().key(tok(r#"{"x":{"login":"ann"}}"#)), no()),
        one(23, "text behind the payload", get().key(tok(r#"{"login":"ann"}x"#)), no()),
        one(23, "an array as payload", get().key(tok("[]")), no()),
        one(23, "an empty payload", get().key(tok("")), no()),
        one(23, "a header that is no object", get().key(signed(r#""HS256""#, &ann)), no()),
        one(23, "a header with text behind", get().key(signed(r#"{"alg":"HS256"}x"#, &ann)), no()),
        one(26, "- and _ in the payload", get().key(issued("ann", "???~~~ÿþ")), ok(UA)),
        one(28, "byte FF in an ignored member", get().key(tok(b"{\"login\":\"ann\",\"x\":\"\xff\"}")), no()),
        one(
            28,
            "byte FF in an ignored member of the header",
            get().key(sealed(&format!("{}.{}", segment(b"{\"alg\":\"HS256\",\"x\":\"\xff\"}"), segment(&ann)))),
            no(),
        ),
        one(29, "bob from France", get().key(tb()), no()),
        one(29, "bob from Germany", get().key(tb()).from("10.2.0.1"), ok(UB)),
        row(
            31,
            "a token before its user exists",
            vec![
                (get().key(tok(r#"{"login":"new"}"#)).bytes(), no()),
                (put_user(newcomer("new", "France")).bytes(), status(201)),
                (
                    get().key(tok(r#"{"login":"new"}"#)).bytes(),
                    ok(r#"{"login":"new","name":"New","phone":"+7","country":"France"}"#),
                ),
            ],
        ),
        row(
            32,
            "a token outlives the password",
            vec![(patch(r#"{"password":"other"}"#), status(202)), (get(), ok(UA))],
        ),
        one(
            200,
            "an issued token is the contract's own",
            auth(r#"{"login":"ann","password":"Aa1","nonce":"n"}"#),
            ok(&format!("\"{ta}\"")),
        ),
    ];
    for header in [
        r#"{"typ":"at+jwt","alg":"HS256"}"#,
        r#"{ "alg" : "HS256" }"#,
        r#"{"alg":"HS256","typ":5}"#,
        r#"{"\u0061lg":"HS\u003256"}"#,
    ] {
        cases.push(one(7, format!("header {header}"), get().key(signed(header, &ann)), ok(UA)));
    }
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS256 "}"#,
        r#"{"ALG":"HS256"}"#,
        "{}",
        r#"{"alg":5}"#,
    ] {
        cases.push(one(
            4,
            format!("header {header} over a right HS256 signature"),
            get().key(signed(header, &ann)),
            no(),
        ));
    }
    for (name, key) in [
        ("TA.", format!("{ta}.")),
        ("TA.x", format!("{ta}.x")),
        (".TA", format!(".{ta}")),
        ("two segments", text.to_string()),
        ("..", "..".into()),
        ("one segment", segment(HEADER)),
    ] {
        cases.push(one(11, name, get().key(key), no()));
    }
    for letter in ['5', '6', '7'] {
        cases.push(one(
            13,
            format!("last letter {letter}: the same bytes, spelled otherwise"),
            get().key(format!("{}{letter}", &ta[..ta.len() - 1])),
            no(),
        ));
    }
    for login in ["ANN", "ann ", "ann\0", "", "an"] {
        cases.push(one(25, format!("login {login:?}"), get().key(issued(login, "n")), no()));
    }
    for (member, good) in [
        (r#""exp":1000000000"#, false),
        (r#""exp":4000000000"#, true),
        (r#""exp":4000000000.5"#, true),
        (r#""exp":null"#, true),
        (r#""exp":"4000000000""#, false),
        (r#""exp":1e400"#, true),
        (r#""exp":0"#, false),
        (r#""exp":true"#, false),
        (r#""exp":1000000000,"exp":4000000000"#, true),
        (r#""nbf":4000000000"#, false),
        (r#""nbf":1000000000"#, true),
        (r#""nbf":null"#, true),
        (r#""nbf":[]"#, false),
        (r#""iat":"x","iss":5,"aud":[],"nonce":7,"is_admin":true"#, true),
    ] {
        let answer = if good { ok(UA) } else { no() };
        cases.push(one(
            201,
            format!("times: {member}"),
            get().key(tok(format!("{{\"login\":\"ann\",{member}}}"))),
            answer,
        ));
    }
    cases
}

/// base64url whose last letter has a bit set that no byte uses.
fn spare_bits(text: &str) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = segment(text).into_bytes();
    assert!(!encoded.len().is_multiple_of(4), "a text of that length has no spare bits");
    let last = encoded.last_mut().expect("not empty");
    let value = letters.iter().position(|letter| letter == last).expect("base64url");
    *last = letters[value | 1];
    String::from_utf8(encoded).expect("ASCII")
}
