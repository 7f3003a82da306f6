//! Addresses, networks, JSON, base64url and tokens.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{check, hold};

#[test]
fn addresses_are_those_of_the_oracle() {
    hold(2_000, any::<u32>(), |address| check::address(std::net::Ipv4Addr::from(address).to_string().as_bytes()));
    let octet = prop_oneof![(0u32..300).prop_map(|octet| octet.to_string()), "[0-9+ ]{0,4}"];
    hold(2_000, vec(octet, 1..6), |octets| check::address(octets.join(".").as_bytes()));
    hold(500, vec(any::<u8>(), 0..20), |text| check::address(&text));
}

#[test]
fn networks_are_those_of_the_oracle() {
    hold(2_000, (any::<u32>(), 0u32..40), |(address, length)| {
        check::network(format!("{}/{length}", std::net::Ipv4Addr::from(address)).as_bytes());
    });
    hold(2_000, "[0-9]{1,3}(\\.[0-9]{1,3}){2,4}/?[0-9+-]{0,3}", |text| check::network(text.as_bytes()));
    hold(500, vec(any::<u8>(), 0..20), |text| check::network(&text));
}

/// A string as it stands in JSON, right or nearly so.
fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => "[a-z]{0,5}",
        2 => select(&["login", "exp", "is_admin", "crit", "HS256"][..]).prop_map(str::to_owned),
        2 => "[\\PC&&[^\"\\\\]]{0,3}",
        2 => select(&[r"\n", r"\/", r#"\""#, r"\\", r"\u00ff", r"\ud83d\ude00", r"l\u006fgin", r"\u0000"][..]).prop_map(str::to_owned),
        1 => select(&[r"\ud83d", r"\ude00", r"\x41", r"\u12g4", "\t", "\u{1}", "\"", r"\"][..]).prop_map(str::to_owned),
    ];
    vec(part, 0..3).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn value() -> impl Strategy<Value = String> {
    let plain = select(
        &[
            "null", "true", "false", "0", "-0", "1.5e2", "1e999", "-1E+9", "4e9", "01", "1.", ".5", "+1", "-", "1e",
            "NaN", "tru", "",
        ][..],
    );
    let leaf = prop_oneof![3 => string(), 2 => plain.prop_map(str::to_owned)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(","))), object_of(inner)]
    })
}

fn object_of(value: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let key = prop_oneof![
        3 => select(&["\"login\"", "\"exp\"", "\"nbf\"", "\"alg\"", "\"is_admin\"", "\"crit\""][..]).prop_map(str::to_owned),
        2 => string(),
    ];
    let blank = || prop_oneof![6 => Just(""), 1 => Just(" "), 1 => Just("\r\n\t"), 1 => Just("\u{b}")];
    let member =
        (blank(), key, blank(), value).prop_map(|(before, key, gap, value)| format!("{before}{key}{gap}:{gap}{value}"));
    let comma = prop_oneof![12 => Just(","), 1 => Just(",,"), 1 => Just(" ")];
    (vec(member, 0..5), comma, blank())
        .prop_map(|(members, comma, end)| format!("{{{}{end}}}{end}", members.join(comma)))
}

fn object() -> impl Strategy<Value = String> {
    object_of(value().boxed())
}

#[test]
fn json_is_what_the_oracle_reads() {
    hold(1_000, object(), |text| check::json(text.as_bytes()));
}

#[test]
fn a_few_changed_bytes_of_json_are_judged_as_the_oracle_judges_them() {
    hold(1_000, (object(), vec((any::<Index>(), any::<u8>()), 1..3)), |(text, changes)| {
        let mut bytes = text.into_bytes();
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        check::json(&bytes);
    });
}

#[test]
fn nesting_ends_at_the_same_depth() {
    for depth in 60..70 {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[[],", "]")] {
            let inner = open.repeat(depth - 1) + "0" + &close.repeat(depth - 1);
            check::json(format!("{{\"x\":{inner}}}").as_bytes());
        }
    }
}

#[test]
fn what_is_escaped_reads_back() {
    hold(2_000, ".{0,40}", |text| check::escape(&text));
    hold(
        1_000,
        vec(select(&['<', '&', '"', '\\', '\u{2028}', '\u{2030}', '\0', '\n', '\u{7f}', 'a'][..]), 0..12),
        |text| {
            check::escape(&text.into_iter().collect::<String>());
        },
    );
}

#[test]
fn base64url_has_one_text_for_each_value() {
    hold(2_000, vec(any::<u8>(), 0..70), |bytes| check::base64(&bytes));
    hold(2_000, "[A-Za-z0-9_=+/-]{0,12}", |text| check::base64(text.as_bytes()));
}

#[test]
fn rightly_signed_tokens_are_judged_by_what_they_say() {
    let header = prop_oneof![
        3 => Just(r#"{"alg":"HS256","typ":"JWT"}"#.to_owned()),
        1 => Just(r#"{"alg":"HS256"}"#.to_owned()),
        1 => Just(r#"{"alg":"HS384"}"#.to_owned()),
        1 => object(),
    ];
    let payload = prop_oneof![
        2 => string().prop_map(|login| format!("{{\"login\":{login}}}")),
        2 => (string(), string()).prop_map(|(login, nonce)| format!("{{\"login\":{login},\"nonce\":{nonce}}}")),
        1 => (string(), value()).prop_map(|(login, time)| format!("{{\"login\":{login},\"exp\":{time},\"nbf\":1}}")),
        1 => object(),
    ];
    hold(1_000, (header, payload), |(header, payload)| check::signed_token(header.as_bytes(), payload.as_bytes()));
}

#[test]
fn tokens_with_a_few_changes_are_refused_as_the_oracle_refuses_them() {
    let good = crate::oracle::token::signed(br#"{"alg":"HS256"}"#, br#"{"login":"ann"} "#);
    let changes = vec((any::<Index>(), select(&b"Aa0-_=+/. \xff"[..])), 1..3);
    hold(1_000, (changes, any::<bool>()), |(changes, sign_again)| {
        let mut token = good.clone().into_bytes();
        for (place, byte) in changes {
            let at = place.index(token.len());
            token[at] = byte;
        }
        check::token(&token);
        if let Some(end) = token.iter().rposition(|byte| *byte == b'.').filter(|_| sign_again && token.is_ascii()) {
            check::token(crate::oracle::token::sign(&token[..end]).as_bytes());
        }
    });
}

#[test]
fn an_issued_token_names_its_login() {
    hold(500, (".{1,20}", ".{0,20}"), |(login, nonce)| {
        let mut token = Vec::new();
        candidate::token::issue(&candidate::token::mac::Signer::new(), &login, &nonce, &mut Vec::new(), &mut token);
        assert_eq!(crate::oracle::token::login(&token, 0.0), Some(login), "{}", String::from_utf8_lossy(&token));
    });
}
