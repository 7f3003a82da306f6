//! Addresses, JSON, base64url, tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use candidate::choices::{AddressParser, Base64, Escaping, JsonReader, TokenPayload};
use candidate::http::address;
use candidate::json::{self, Kind, Member, escape};
use candidate::token::{base64, login_by, mac::Signer, verify};

use crate::oracle;
use crate::oracle::json::Value;

const WANTED: [(&str, Kind); 4] =
    [("login", Kind::Text), ("exp", Kind::Number), ("is_admin", Kind::Flag), ("crit", Kind::Presence)];

/// Both parsers read an address as the oracle does.
pub fn address(text: &[u8]) {
    let wanted = oracle::address::address(text);
    for parser in [AddressParser::Std, AddressParser::Digits] {
        let got = address::parse_by(parser, text);
        assert_eq!(got, wanted, "{parser:?} of {:?}", String::from_utf8_lossy(text));
    }
}

/// A network, and its parts where a path has them apart, are what the oracle says.
pub fn network(text: &[u8]) {
    assert_eq!(address::network(text), oracle::address::network(text), "{:?}", String::from_utf8_lossy(text));
    let length = text.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    assert_eq!(address::prefix_length(length), oracle::address::prefix_length(length));
}

/// Both readers find in an object what the oracle finds. The oracle itself is held to serde_json: it takes the same texts,
/// but for numbers without bounds and nesting that ends at 64.
pub fn json(bytes: &[u8]) {
    let wanted = oracle::json::members(bytes, &WANTED);
    for reader in [JsonReader::General, JsonReader::FlatFirst] {
        let got = json::read(reader, bytes, &WANTED).ok();
        let fits = match (&got, &wanted) {
            (Some(got), Some(wanted)) => got.iter().zip(wanted).all(|(got, wanted)| is(got, wanted)),
            (got, wanted) => got.is_none() && wanted.is_none(),
        };
        assert!(fits, "{reader:?}: {got:?}, not {wanted:?}, of {:?}", String::from_utf8_lossy(bytes));
    }
    match (oracle::json::parse(bytes), serde_json::from_slice::<serde_json::Value>(bytes)) {
        (Some(_), Err(error)) => assert!(error.to_string().contains("number out of range"), "{error}"),
        (None, Ok(value)) => assert!(depth(&value) > 64, "the oracle refuses {value}"),
        _ => {}
    }
}

fn is(got: &Member<'_>, wanted: &Option<Value>) -> bool {
    match (got, wanted) {
        (Member::Absent, None) | (Member::Present, Some(_)) => true,
        (Member::Text(got), Some(Value::Text(wanted))) => got == wanted,
        (Member::Number(got), Some(Value::Number(wanted))) => wanted.parse() == Ok(*got),
        (Member::Flag(got), Some(Value::Flag(wanted))) => got == wanted,
        _ => false,
    }
}

fn depth(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        serde_json::Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Both ways of escaping give the same text, with nothing in it that the contract wants escaped, and serde_json reads it back.
pub fn escape(text: &str) {
    let mut ways = [Escaping::EachChar, Escaping::Stretches].map(|escaping| {
        let mut out = Vec::new();
        escape::append_by(escaping, &mut out, text);
        String::from_utf8(out).expect("escaped text is UTF-8")
    });
    assert_eq!(ways[0], ways[1], "{text:?}");
    assert!(!ways[0].contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{:?}", ways[0]);
    ways[1].insert(0, '"');
    ways[1].push('"');
    assert_eq!(serde_json::from_str::<String>(&ways[1]).ok().as_deref(), Some(text), "{}", ways[1]);
}

/// All coders encode alike, decode what was encoded, and refuse the same texts.
pub fn base64(bytes: &[u8]) {
    let coded = [Base64::Crate, Base64::Table, Base64::Vector].map(|coder| {
        let (mut text, mut decoded, mut back) = (Vec::new(), Vec::new(), Vec::new());
        base64::encode_by(coder, bytes, &mut text);
        assert_eq!(base64::decode_by(coder, &text, &mut back), Some(()));
        assert_eq!(back, bytes, "{coder:?}");
        let right = base64::decode_by(coder, bytes, &mut decoded).is_some();
        (text, right.then_some(decoded))
    });
    assert!(coded.iter().all(|one| *one == coded[0]), "{bytes:?}: {coded:?}");
}

/// A token of these two segments, rightly signed, names the login that the oracle reads in it, and both ways of reading a
/// payload find the same.
pub fn signed_token(header: &[u8], payload: &[u8]) {
    let [parsed, known] = [TokenPayload::Parse, TokenPayload::KnownFirst].map(|way| login_by(way, payload));
    assert_eq!(parsed, known, "{:?}", String::from_utf8_lossy(payload));
    token(oracle::token::signed(header, payload).as_bytes());
}

/// A token names the login that the oracle reads in it.
pub fn token(token: &[u8]) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    let before = oracle::token::login(token, now());
    let mut scratch = Vec::new();
    let got = verify(&Signer::new(), token, &mut scratch).map(|login| login.into_owned());
    let after = oracle::token::login(token, now());
    assert!(got == before || got == after, "{got:?}, not {before:?}, of {:?}", String::from_utf8_lossy(token));
}
