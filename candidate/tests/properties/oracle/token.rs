//! Tokens (6.3), with the crates for base64url and HMAC used anew.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use candidate::json::Kind;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::json::{self, Value};

/// The login that `token` names, if it is acceptable at `now`, in seconds.
pub fn login(token: &[u8], now: f64) -> Option<String> {
    let segments: Vec<&[u8]> = token.split(|byte| *byte == b'.').collect();
    let [header, payload, _] = segments[..] else {
        return None;
    };
    if segments.iter().any(|segment| segment.is_empty()) {
        return None;
    }
    if sign(&[header, b".", payload].concat()).as_bytes() != token {
        return None;
    }
    let (header, payload) = (URL_SAFE_NO_PAD.decode(header).ok()?, URL_SAFE_NO_PAD.decode(payload).ok()?);
    let header = json::members(&header, &[("alg", Kind::Text), ("crit", Kind::Presence)])?;
    if header != [Some(Value::Text("HS256".to_owned())), None] {
        return None;
    }
    let wanted = [("login", Kind::Text), ("exp", Kind::Number), ("nbf", Kind::Number)];
    let [login, expires, begins] = json::members(&payload, &wanted)?.try_into().ok()?;
    if expires.is_some_and(|expires| seconds(&expires) <= now) || begins.is_some_and(|begins| seconds(&begins) > now) {
        return None;
    }
    match login? {
        Value::Text(login) if !login.is_empty() => Some(login),
        _ => None,
    }
}

/// A token of these two segments, rightly signed.
pub fn signed(header: &[u8], payload: &[u8]) -> String {
    sign(format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload)).as_bytes())
}

/// `text` with its MAC behind a dot. The text must be UTF-8.
pub fn sign(text: &[u8]) -> String {
    format!("{}.{}", String::from_utf8_lossy(text), URL_SAFE_NO_PAD.encode(mac_of(text)))
}

fn mac_of(text: &[u8]) -> Vec<u8> {
    let key = STANDARD.decode("CGWpjarkRIXzCIIw5vXKc+uESy5ebrbOyVMZvftj19k=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn seconds(number: &Value) -> f64 {
    match number {
        Value::Number(text) => text.parse().unwrap(),
        _ => panic!("{number:?} was asked for as a number"),
    }
}
