//! Neighbours of cases 1 to 32: tokens changed letter by letter, and claims of every type.

use super::request::{UA, UB, get, ta, tb, tok};
use super::table::{Case, each, own};
use crate::model::answer::{ok, status};
use crate::model::token::{HEADER, issued, key, mac256, mac384, mac512, payload, sealed, segment, signed};
use std::time::{SystemTime, UNIX_EPOCH};

/// The group.
pub fn cases() -> Vec<Case> {
    let no = || status(403);
    let ann = payload("ann", "n");
    let ta = ta();
    let (text, mac) = ta.rsplit_once('.').expect("a token has dots");
    let (header, middle) = text.split_once('.').expect("a token has dots");
    let refused = |key: String| (get().key(key), no());
    let taken = |key: String| (get().key(key), ok(UA));
    let judged = |right: bool, key: String| if right { taken(key) } else { refused(key) };
    let claim = |member: &str| tok(format!("{{\"login\":\"ann\",{member}}}"));
    let now = seconds();
    let spelled = |make: fn(&str) -> String| -> Vec<String> {
        [format!("{}.{middle}", make(header)), format!("{header}.{}", make(middle))]
            .iter()
            .map(|text| sealed(text))
            .collect()
    };
    vec![
        each(
            13,
            "each letter changed",
            (0..ta.len()).map(|at| {
                let other = if &ta[at..=at] == "A" { "B" } else { "A" };
                refused(format!("{}{other}{}", &ta[..at], &ta[at + 1..]))
            }),
        ),
        each(16, "cut anywhere", (0..ta.len()).step_by(3).map(|at| refused(ta[..at].to_string()))),
        each(
            16,
            "something behind or before",
            ["A", "=", "==", ".", " x", "\tx", ",", "%20", "\u{e9}", "\"", "AAAA"]
                .into_iter()
                .flat_map(|more| [refused(format!("{ta}{more}")), refused(format!("{more}{ta}"))]),
        ),
        each(
            38,
            "blanks and tabs around a token",
            [" ", "\t", "  \t ", "        "].map(|blank| taken(format!("{blank}{ta}{blank}"))),
        ),
        each(
            1,
            "keys that are none",
            ["-", "null", "Bearer", "bearer x", "ann", "Aa1", "0", "\u{e9}", "a.b.c", "....", "..."]
                .map(|key| refused(key.to_string())),
        ),
        each(
            1,
            "schemes before the token",
            ["Bearer ", "bearer ", "JWT ", "Token ", "Basic ", "\"", "<"]
                .map(|scheme| refused(format!("{scheme}{ta}"))),
        ),
        each(
            2,
            "two keys",
            [
                get().field(format!("X-API-Key: {}", tb())),
                get().key(tb()).field(format!("X-API-Key: {ta}")),
                get().key("").field(format!("X-API-Key: {ta}")),
                get().key(format!("{ta}, {ta}")),
                get().key(format!("{ta},{ta}")),
            ]
            .map(|request| (request, no())),
        ),
        each(
            11,
            "numbers of segments",
            [
                format!("{header}.{middle}.{mac}.{mac}"),
                format!("{header}..{middle}.{mac}"),
                format!("{header}.{mac}"),
                format!("{middle}.{mac}"),
                format!(".{middle}.{mac}"),
                format!("{header}..{mac}"),
                format!("{text}."),
                format!("{text}.."),
                format!("{text}..{mac}"),
                sealed(&format!(".{middle}")),
                sealed(&format!("{header}.")),
                sealed("."),
                sealed(header),
                sealed(&format!("{header}.{middle}.{middle}")),
                sealed(&format!("{text}.")),
            ]
            .map(refused),
        ),
        each(
            15,
            "segments with letters that are none, and the right signature",
            ["=", "==", "+", "/", "+A==", "A", "AB", " ", "%3D", "\u{e9}", "~", "*"]
                .into_iter()
                .flat_map(|more| {
                    [
                        format!("{header}{more}.{middle}"),
                        format!("{header}.{middle}{more}"),
                        format!("{more}{header}.{middle}"),
                        format!("{header}.{more}{middle}"),
                    ]
                })
                .map(|text| refused(sealed(&text))),
        ),
        each(
            15,
            "the other alphabet, and the right signature",
            spelled(|text| format!("{text}AA+/")).into_iter().chain(spelled(|text| format!("{text}AA-_"))).map(refused),
        ),
        each(
            15,
            "spare bits in every segment",
            (1..16)
                .flat_map(|bits| {
                    // One byte over leaves four spare bits, two leave two.
                    let spared = move |object: &str| {
                        [format!("{object} "), format!("{object}  ")]
                            .into_iter()
                            .filter_map(move |text| spare(&text, bits))
                    };
                    let headers = spared(r#"{"alg":"HS256"}"#).map(|header| format!("{header}.{middle}"));
                    let payloads = spared(r#"{"login":"ann"}"#).map(|payload| format!("{header}.{payload}"));
                    headers.chain(payloads).collect::<Vec<_>>()
                })
                .map(|text| refused(sealed(&text))),
        ),
        each(
            15,
            "the same without spare bits",
            [r#"{"alg":"HS256"}"#, r#"{"alg":"HS256"} "#, r#"{"alg":"HS256"}  "#].into_iter().flat_map(|header| {
                ["", " ", "  "].map(|blank| taken(signed(header, format!("{{\"login\":\"ann\"}}{blank}"))))
            }),
        ),
        each(
            14,
            "signatures that are none",
            [
                segment(mac256(&key(), header)),
                segment(mac256(&key(), middle)),
                segment(mac256(&key(), &ta)),
                segment(mac256(&key(), &format!("{text}."))),
                segment(mac256(b"", text)),
                segment(mac256(b"CGWpjarkRIXzCIIw5vXKc+uESy5ebrbOyVMZvftj19k=", text)),
                segment(mac256(&[0; 32], text)),
                segment(&mac256(&key(), text)[..31]),
                segment(&mac256(&key(), text)[..16]),
                segment([mac256(&key(), text), vec![0]].concat()),
                segment([mac256(&key(), text), mac256(&key(), text)].concat()),
                segment(mac384(text)),
                segment(mac512(text)),
                segment([0; 32]),
                format!("{mac}="),
                mac.to_ascii_uppercase(),
                mac.chars().rev().collect(),
                mac256(&key(), text).iter().map(|byte| format!("{byte:02x}")).collect(),
                tb().rsplit_once('.').map_or_else(String::new, |(_, mac)| mac.to_string()),
            ]
            .map(|mac| refused(format!("{text}.{mac}"))),
        ),
        each(
            4,
            "algorithms",
            [
                "none",
                "None",
                "NONE",
                "nOnE",
                "",
                "HS384",
                "HS512",
                "HS1",
                "HS2566",
                "hs256",
                "Hs256",
                "HS256 ",
                " HS256",
                "HS-256",
                "HMACSHA256",
                "RS256",
                "ES256",
                "PS256",
                "EdDSA",
                "HS256\\u0000",
                "HS25",
                "\\u0048S25",
                "HS256,none",
            ]
            .map(|alg| refused(signed(&format!("{{\"alg\":\"{alg}\",\"typ\":\"JWT\"}}"), &ann))),
        ),
        each(
            5,
            "other algorithms, signed so",
            [("HS384", mac384 as fn(&str) -> Vec<u8>), ("HS512", mac512)].into_iter().flat_map(|(alg, mac)| {
                [
                    format!("{{\"alg\":\"{alg}\",\"typ\":\"JWT\"}}"),
                    format!("{{\"typ\":\"JWT\",\"alg\":\"{alg}\"}}"),
                    HEADER.to_string(),
                ]
                .map(|header| {
                    let text = format!("{}.{}", segment(header), segment(&ann));
                    refused(format!("{text}.{}", segment(mac(&text))))
                })
            }),
        ),
        each(
            4,
            "headers that are refused",
            [
                r#"{"alg":null}"#,
                r#"{"alg":["HS256"]}"#,
                r#"{"alg":{"HS256":1}}"#,
                r#"{"alg":true}"#,
                r#"{"alg":256}"#,
                r#"{"Alg":"HS256"}"#,
                r#"{"x":{"alg":"HS256"}}"#,
                r#"{"typ":"JWT"}"#,
                r#"{"alg":5,"alg":"HS256"}"#,
                r#"{"alg":"HS256","alg":5}"#,
                r#"{"alg":"HS256","alg":"HS384"}"#,
                r#"[{"alg":"HS256"}]"#,
                r#"[]"#,
                "null",
                "5",
                "",
                " ",
                r#"{"alg":"HS256",}"#,
                r#"{"alg":"HS256"}{}"#,
                "\u{feff}{\"alg\":\"HS256\"}",
                r#"{'alg':'HS256'}"#,
                r#"{"alg":"HS256""#,
            ]
            .map(|header| refused(signed(header, &ann))),
        ),
        each(
            8,
            "crit in every spelling",
            [
                r#"{"crit":[],"alg":"HS256"}"#,
                r#"{"alg":"HS256","crit":[]}"#,
                r#"{"alg":"HS256","crit":{}}"#,
                r#"{"alg":"HS256","crit":"exp"}"#,
                r#"{"alg":"HS256","crit":false}"#,
                r#"{"alg":"HS256","crit":0}"#,
                r#"{"alg":"HS256","\u0063rit":["exp"]}"#,
                r#"{"crit":null,"alg":"HS256","typ":"JWT"}"#,
                r#"{"alg":"HS256","crit":null,"crit":null}"#,
            ]
            .map(|header| refused(signed(header, &ann))),
        ),
        each(
            7,
            "headers that are taken",
            [
                r#"{"alg":"HS256"}"#,
                "\t{\r\n\"alg\" : \"HS256\" }\n",
                r#"{"alg":"HS256","typ":null}"#,
                r#"{"alg":"HS256","typ":[]}"#,
                r#"{"typ":"none","alg":"HS256","kid":"x","jku":"http://x/"}"#,
                r#"{"alg":"HS256","Crit":["exp"]}"#,
                r#"{"alg":"HS256","x":{"crit":1,"alg":"none"}}"#,
                r#"{"alg":null,"alg":"HS256"}"#,
                r#"{"alg":"HS384","alg":"HS256"}"#,
                r#"{"al\u0067":"\u0048S256"}"#,
                r#"{"alg":"HS256","alg":null,"zip":"DEF","b64":false}"#,
            ]
            .map(|header| taken(signed(header, &ann))),
        ),
        each(
            17,
            "payloads that name nobody",
            [
                "{}",
                r#"{"nonce":"n"}"#,
                r#"{"login":""}"#,
                r#"{"login":null}"#,
                r#"{"login":5}"#,
                r#"{"login":["ann"]}"#,
                r#"{"login":{"login":"ann"}}"#,
                r#"{"login":true}"#,
                r#"{"Login":"ann"}"#,
                r#"{"logi":"ann"}"#,
                r#"{"logins":"ann"}"#,
                r#"{"sub":"ann"}"#,
                r#"{"login":"ann","login":""}"#,
                r#"{"login":"ann","login":[]}"#,
                r#"{"login":"ann","login":"zed"}"#,
                r#"["login","ann"]"#,
                "\"ann\"",
                "null",
                " ",
                "ann",
                r#"{"login":"ann"}}"#,
                r#"{"login":"ann",}"#,
                r#"{"login":"ann"} {}"#,
                r#"{'login':'ann'}"#,
                r#"{"login":"ann"}/**/"#,
                "\u{feff}{\"login\":\"ann\"}",
                r#"{"login":"ann","x":01}"#,
                r#"{"login":"ann","x":"\ud83d"}"#,
                r#"{"login":"\ud83dann"}"#,
                r#"{"nonce":"\"login\":\"ann\""}"#,
            ]
            .map(|payload| refused(tok(payload))),
        ),
        each(
            19,
            "payloads that name ann",
            [
                " {\"login\":\"ann\"} ",
                "\r\n{\t\"login\" :\n\"ann\" }",
                r#"{"login":null,"login":"ann"}"#,
                r#"{"login":"zed","login":"ann","login":null}"#,
                r#"{"\u006C\u006fgin":"a\u006en"}"#,
                r#"{"LOGIN":"bob","login":"ann","x":{"login":"bob"},"y":["login","bob"]}"#,
                r#"{"nonce":"\"login\":\"bob\"","login":"ann"}"#,
                r#"{"x\":{\"login\":\"bob":1,"login":"ann"}"#,
                r#"{"login":"ann","nonce":5,"is_admin":true,"sub":"bob","jti":null}"#,
            ]
            .map(|payload| taken(tok(payload))),
        ),
        each(
            25,
            "logins that are nearly one",
            [
                "Ann",
                "aNN",
                " ann",
                "ann\t",
                "ann\n",
                "\0ann",
                "ann/",
                "a\u{f1}n",
                "\u{430}nn",
                "ann\u{200b}",
                "annann",
                "nn",
                "a",
            ]
            .map(|login| refused(issued(login, "n"))),
        ),
        each(
            26,
            "nonces that change nothing",
            ["", "n", "\0", "\u{ff}\u{fe}", "<>&", "\u{2028}", &"x".repeat(5_000)]
                .map(|nonce| taken(issued("ann", nonce))),
        ),
        each(
            201,
            "times",
            [
                (format!("\"exp\":{}", now + 3_600), true),
                (format!("\"exp\":{}", now - 3_600), false),
                (format!("\"nbf\":{}", now - 3_600), true),
                (format!("\"nbf\":{}", now + 3_600), false),
                (format!("\"exp\":{}.5", now + 3_600), true),
                (format!("\"exp\":{}", now - 1), false),
                (format!("\"exp\":{}000", now - 3_600), true),
                (format!("\"nbf\":{}000", now - 3_600), false),
                (format!("\"exp\":{},\"nbf\":{}", now + 3_600, now - 3_600), true),
                (format!("\"exp\":{},\"nbf\":{}", now + 3_600, now + 3_600), false),
                (format!("\"exp\":{},\"nbf\":{}", now - 3_600, now - 3_600), false),
            ]
            .map(|(member, right)| judged(right, claim(&member))),
        ),
        own(201, "times to the second", |stage| {
            let judged = |member: String, right: bool| {
                let mut line = stage.open()?;
                line.send(get().key(tok(format!("{{\"login\":\"ann\",{member}}}"))).bytes())?;
                line.expect(if right { ok(UA) } else { status(403) })
            };
            for back in [0, 1, 2, 5, 10, 60] {
                judged(format!("\"exp\":{}", seconds() - back), false)?;
                judged(format!("\"exp\":{}.0", seconds() - back), false)?;
                judged(format!("\"nbf\":{}", seconds() - back), true)?;
            }
            for (name, right) in [("exp", true), ("nbf", false)] {
                for ahead in [1, 2, 5, 10, 60] {
                    // On a slow machine what is ahead may be behind when it is judged.
                    let mut tries = 20;
                    loop {
                        let then = seconds() + ahead;
                        let result = judged(format!("\"{name}\":{then}"), right);
                        tries -= 1;
                        if result.is_ok() || seconds() < then || tries == 0 {
                            result?;
                            break;
                        }
                    }
                }
            }
            Ok(())
        }),
        each(
            201,
            "times of every type and spelling",
            [
                ("\"exp\":4e9", true),
                ("\"exp\":4.0E+9", true),
                ("\"exp\":40000000000e-1", true),
                ("\"exp\":1e309", true),
                ("\"exp\":-1e309", false),
                ("\"exp\":-1", false),
                ("\"exp\":-0", false),
                ("\"exp\":1e-400", false),
                ("\"exp\":4e9,\"exp\":null", true),
                ("\"exp\":null,\"exp\":4e9", true),
                ("\"exp\":4e9,\"exp\":1", false),
                ("\"exp\":\"x\",\"exp\":4e9", false),
                ("\"\\u0065xp\":1", false),
                ("\"Exp\":1", true),
                ("\"x\":{\"exp\":1,\"nbf\":4e9}", true),
                ("\"exp\":[]", false),
                ("\"exp\":{}", false),
                ("\"exp\":false", false),
                ("\"exp\":\"\"", false),
                ("\"exp\":99999999999999999999999999", true),
                ("\"exp\":+4e9", false),
                ("\"exp\":04000000000", false),
                ("\"nbf\":0", true),
                ("\"nbf\":-1", true),
                ("\"nbf\":-1e309", true),
                ("\"nbf\":1e309", false),
                ("\"nbf\":4e9", false),
                ("\"nbf\":\"0\"", false),
                ("\"nbf\":true", false),
                ("\"nbf\":{}", false),
                ("\"nbf\":4e9,\"nbf\":0", true),
                ("\"nbf\":0,\"nbf\":null", true),
                ("\"nbf\":\"\",\"nbf\":0", false),
                ("\"nb\\u0066\":4e9", false),
                ("\"NBF\":4e9", true),
                ("\"iat\":4e9", true),
                ("\"iat\":null,\"iss\":[],\"aud\":{},\"sub\":1,\"jti\":true", true),
            ]
            .map(|(member, right)| judged(right, claim(member))),
        ),
        each(
            29,
            "bob's token of any nonce, in both countries",
            ["n", "", "x"].into_iter().flat_map(|nonce| {
                [
                    (get().key(issued("bob", nonce)), no()),
                    (get().key(issued("bob", nonce)).from("10.2.0.1"), ok(UB)),
                    (get().key(issued("bob", nonce)).from("99.9.9.9"), ok(UB)),
                ]
            }),
        ),
    ]
}

/// The second this is.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// base64url of the text with these spare bits set; none where it has no room for them.
fn spare(text: &str, bits: usize) -> Option<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = segment(text);
    let last = encoded.pop()?;
    let value = LETTERS.iter().position(|letter| char::from(*letter) == last)?;
    let room = [0, 15, 3][text.len() % 3];
    (bits <= room).then(|| {
        encoded.push(char::from(LETTERS[value | bits]));
        encoded
    })
}
