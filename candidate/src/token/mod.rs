//! Tokens: how one is issued, and what makes one acceptable. What its bearer may do is decided elsewhere, by the user
//! that is stored now.

pub mod base64;
pub mod mac;

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use subtle::ConstantTimeEq;

use crate::choices::{MacCheck, TokenHeader, TokenPayload};
use crate::json::{self, Kind, Member, escape};
use crate::tunables;
use mac::Signer;

/// `{"alg":"HS256","typ":"JWT"}` in base64url.
const HEADER: &[u8] = b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
/// Characters of a MAC.
const MAC_TEXT: usize = 43;

/// Appends the token for `login` and `nonce` to `out`; `scratch` is room for its payload.
pub fn issue(signer: &Signer, login: &str, nonce: &str, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
    scratch.clear();
    scratch.extend_from_slice(br#"{"login":""#);
    escape::append(scratch, login);
    scratch.extend_from_slice(br#"","nonce":""#);
    escape::append(scratch, nonce);
    scratch.extend_from_slice(br#""}"#);
    let start = out.len();
    out.extend_from_slice(HEADER);
    out.push(b'.');
    base64::encode(scratch, out);
    let mac = signer.sign(&out[start..]);
    out.push(b'.');
    base64::encode(&mac, out);
}

/// The login a token names, if the token is acceptable now; `scratch` is room for its payload.
pub fn verify<'s>(signer: &Signer, token: &[u8], scratch: &'s mut Vec<u8>) -> Option<Cow<'s, str>> {
    // A dot elsewhere than in these two places is no character of base64url in the segment that it lies in.
    let (signed, mac) = token.split_at_checked(token.len().checked_sub(MAC_TEXT)?)?;
    let signed = signed.strip_suffix(b".")?;
    if !mac_fits(signer, signed, mac, scratch) {
        return None;
    }
    let payload = payload(signed, scratch)?;
    scratch.clear();
    base64::decode(payload, scratch)?;
    login_by(tunables::TOKEN_PAYLOAD, scratch).filter(|login| !login.is_empty())
}

/// The login in a decoded payload whose claims about time hold now, by a reader of one's choice.
pub fn login_by(way: TokenPayload, payload: &[u8]) -> Option<Cow<'_, str>> {
    if way == TokenPayload::KnownFirst
        && let Some(login) = json::login_and_nonce(payload)
    {
        return Some(Cow::Borrowed(login));
    }
    let wanted = [("login", Kind::Text), ("exp", Kind::Number), ("nbf", Kind::Number)];
    let [login, expires, begins] = json::read(tunables::TOKEN_JSON, payload, &wanted).ok()?;
    if !is_current(&expires, &begins) {
        return None;
    }
    login.into_text()
}

fn mac_fits(signer: &Signer, signed: &[u8], mac: &[u8], scratch: &mut Vec<u8>) -> bool {
    scratch.clear();
    match tunables::MAC_CHECK {
        MacCheck::Decode => base64::decode(mac, scratch).is_some() && signer.verify(signed, scratch),
        // There is one text only for each MAC, so that comparing the texts is as strict.
        MacCheck::Encode => {
            base64::encode(&signer.sign(signed), scratch);
            scratch.ct_eq(mac).into()
        }
    }
}

/// The payload segment, if the header segment before it is acceptable.
fn payload<'t>(signed: &'t [u8], scratch: &mut Vec<u8>) -> Option<&'t [u8]> {
    if tunables::TOKEN_HEADER == TokenHeader::KnownFirst
        && let Some([b'.', payload @ ..]) = signed.strip_prefix(HEADER)
    {
        return Some(payload);
    }
    let (header, payload) = signed.split_at(memchr::memchr(b'.', signed)?);
    scratch.clear();
    base64::decode(header, scratch)?;
    let wanted = [("alg", Kind::Text), ("crit", Kind::Presence)];
    match json::read(tunables::TOKEN_JSON, scratch, &wanted) {
        Ok([algorithm, Member::Absent]) if algorithm.text() == Some("HS256") => Some(&payload[1..]),
        _ => None,
    }
}

/// Whether now is before `exp` and not before `nbf`. The clock is only asked if one of them is there.
fn is_current(expires: &Member<'_>, begins: &Member<'_>) -> bool {
    if matches!((expires, begins), (Member::Absent, Member::Absent)) {
        return true;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
    let not_over = if let Member::Number(expires) = expires { *expires > now } else { true };
    let has_begun = if let Member::Number(begins) = begins { *begins <= now } else { true };
    not_over && has_begun
}

#[cfg(test)]
mod tests {
    use super::*;

    const TA: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoibiJ9.TGNq0bBIStrx31O1q9rV_AvM-HtQNzk4MBXmqzTtXr4";

    fn login_of(token: &str) -> Option<String> {
        verify(&Signer::new(), token.as_bytes(), &mut Vec::new()).map(Cow::into_owned)
    }

    fn signed(header: &str, payload: &str) -> String {
        let mut out = Vec::new();
        base64::encode(header.as_bytes(), &mut out);
        out.push(b'.');
        base64::encode(payload.as_bytes(), &mut out);
        sign(String::from_utf8(out).unwrap())
    }

    fn sign(text: String) -> String {
        let mut out = text.into_bytes();
        let mac = Signer::new().sign(&out);
        out.push(b'.');
        base64::encode(&mac, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn with(payload: &str) -> Option<String> {
        login_of(&signed(r#"{"alg":"HS256"}"#, payload))
    }

    #[test]
    fn the_published_token_is_issued_and_accepted() {
        let mut out = b"before".to_vec();
        issue(&Signer::new(), "ann", "n", &mut Vec::new(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("before{TA}"));
        assert_eq!(login_of(TA).as_deref(), Some("ann"));
    }

    #[test]
    fn any_change_of_the_text_makes_it_unacceptable() {
        for at in 0..TA.len() {
            for byte in "A0-_=+/ .".chars().filter(|byte| !TA[at..].starts_with(*byte)) {
                let mut changed = TA.to_owned();
                changed.replace_range(at..=at, &byte.to_string());
                assert_eq!(login_of(&changed), None, "{changed}");
            }
        }
        for token in [
            "",
            "..",
            "a",
            "a.b",
            &format!("{TA}."),
            &format!("{TA}.x"),
            &format!(".{TA}"),
            &TA[..TA.len() - 1],
            &format!("{TA}A"),
        ] {
            assert_eq!(login_of(token), None, "{token}");
        }
        for last in ["5", "6", "7"] {
            assert_eq!(login_of(&(TA[..TA.len() - 1].to_owned() + last)), None);
        }
    }

    #[test]
    fn segments_have_one_text_even_when_signed() {
        let (header, rest) = TA.split_once('.').unwrap();
        let payload = rest.split_once('.').unwrap().0;
        for text in [
            format!("{header}.{payload}="),
            format!("{header}.{payload}A"),
            format!("{header}.{header}.{payload}"),
            format!(".{payload}"),
            format!("{header}."),
        ] {
            assert_eq!(login_of(&sign(text.clone())), None, "{text}");
        }
        // `{"login":"ann"} ` is 16 bytes: the last character has four spare bits.
        let spare = signed(r#"{"alg":"HS256"}"#, r#"{"login":"ann"} "#);
        assert_eq!(login_of(&spare).as_deref(), Some("ann"));
        let (text, _) = spare.rsplit_once('.').unwrap();
        let changed = text[..text.len() - 1].to_owned() + "B";
        assert_eq!(login_of(&sign(changed)), None);
    }

    #[test]
    fn only_hs256_without_crit_is_taken() {
        let payload = r#"{"login":"ann"}"#;
        for header in [
            r#"{"typ":"at+jwt","alg":"HS256"}"#,
            r#"{ "alg" : "HS256" }"#,
            r#"{"alg":"HS256","typ":5}"#,
            r#"{"alg":"none","alg":"HS256"}"#,
        ] {
            assert_eq!(login_of(&signed(header, payload)).as_deref(), Some("ann"), "{header}");
        }
        for header in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"None"}"#,
            r#"{"alg":"hs256"}"#,
            r#"{"alg":"HS384"}"#,
            r#"{"ALG":"HS256"}"#,
            r#"{"alg":"HS256","alg":"none"}"#,
            r#"{"alg":"HS256","crit":["exp"]}"#,
            r#"{"alg":"HS256","crit":null}"#,
            "{}",
            "[]",
            r#"{"alg":"HS256"}x"#,
            r#"{"alg":5}"#,
        ] {
            assert_eq!(login_of(&signed(header, payload)), None, "{header}");
        }
    }

    #[test]
    fn time_claims_are_numbers_that_fit_now() {
        for payload in [
            r#"{"login":"ann","exp":4e9,"nbf":1.5}"#,
            r#"{"login":"ann","exp":1e999}"#,
            r#"{"login":"ann","exp":null,"iat":"x"}"#,
            r#"{"login":"ann","nbf":-1e999}"#,
        ] {
            assert_eq!(with(payload).as_deref(), Some("ann"), "{payload}");
        }
        for payload in [
            r#"{"login":"ann","exp":1}"#,
            r#"{"login":"ann","exp":"4e9"}"#,
            r#"{"login":"ann","nbf":4e9}"#,
            r#"{"login":"ann","nbf":[]}"#,
            r#"{"login":"ann","exp":-1e999}"#,
        ] {
            assert_eq!(with(payload), None, "{payload}");
        }
    }

    #[test]
    fn a_payload_in_the_form_issued_here_is_read_as_any_other() {
        let long = format!(r#"{{"login":"{}","nonce":"{}"}}"#, "l".repeat(100), "n".repeat(100));
        for payload in [
            r#"{"login":"ann","nonce":"n"}"#,
            r#"{"login":"","nonce":""}"#,
            r#"{"login":"ann","nonce":"a\u0020b"}"#,
            r#"{"login":"\u0061nn","nonce":"n"}"#,
            "{\"login\":\"\u{e4}\u{1f600}\",\"nonce\":\"\u{e4}\"}",
            "{\"login\":\"ann\",\"nonce\":\"\n\"}",
            "{\"login\":\"a\tn\",\"nonce\":\"n\"}",
            r#"{"login":"ann","nonce":"n"} "#,
            r#"{"login":"ann","nonce":"n"}x"#,
            r#"{"login":"ann","nonce":"n","login":"bob"}"#,
            r#"{"login":"ann","nonce":"n","exp":1}"#,
            r#"{"login":"ann","nonce":"n"#,
            r#"{"login":"ann","nonce":"n""#,
            r#"{"login":"ann", "nonce":"n"}"#,
            r#"{"login":"ann","nonce":5}"#,
            r#"{"login":"ann"}"#,
            &long,
        ] {
            let [parsed, known] =
                [TokenPayload::Parse, TokenPayload::KnownFirst].map(|way| login_by(way, payload.as_bytes()));
            assert_eq!(known, parsed, "{payload}");
        }
        for bytes in [&b"{\"login\":\"\xff\",\"nonce\":\"n\"}"[..], b"{\"login\":\"a\",\"nonce\":\"\xff\"}"] {
            assert_eq!(login_by(TokenPayload::KnownFirst, bytes), None, "{bytes:?}");
        }
        assert_eq!(json::login_and_nonce(long.as_bytes()), Some(&long[10..110]));
    }

    #[test]
    fn a_payload_names_a_login() {
        assert_eq!(with(r#"{"login":"bob","login":"ann"}"#).as_deref(), Some("ann"));
        for payload in [
            "{}",
            r#"{"login":""}"#,
            r#"{"login":5}"#,
            r#"{"LOGIN":"ann"}"#,
            r#"{"x":{"login":"ann"}}"#,
            r#"{"login":"ann"}x"#,
            "[]",
            "",
        ] {
            assert_eq!(with(payload), None, "{payload}");
        }
    }
}
