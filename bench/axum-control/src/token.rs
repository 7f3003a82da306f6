//! Tokens: compact JWS with HMAC-SHA-256.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;

use crate::json::{self, Object};

const KEY: [u8; 32] = *b"\x08\x65\xa9\x8d\xaa\xe4\x44\x85\xf3\x08\x82\x30\xe6\xf5\xca\x73\xeb\x84\x4b\x2e\x5e\x6e\xb6\xce\xc9\x53\x19\xbd\xfb\x63\xd7\xd9";

#[derive(Serialize)]
struct Claims<'a> {
    login: &'a str,
    nonce: &'a str,
}

/// The token of a login and a nonce.
pub fn issue(login: &str, nonce: &str) -> String {
    let claims = URL_SAFE_NO_PAD.encode(json::text(&Claims { login, nonce }));
    let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#));
    let mac = URL_SAFE_NO_PAD.encode(mac(&signed).finalize().into_bytes());
    format!("{signed}.{mac}")
}

/// The login that a good token names.
pub fn login(token: &str) -> Option<String> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    mac(signed).verify_slice(&URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
    let object = |segment: &str| Object::parse(&URL_SAFE_NO_PAD.decode(segment).ok()?).ok();
    let header = object(header)?;
    if header.has("crit") || header.text("alg").ok()?.as_deref() != Some("HS256") {
        return None;
    }
    let claims = object(claims)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let ended = claims.number("exp").ok()?.is_some_and(|exp| exp <= now);
    let early = claims.number("nbf").ok()?.is_some_and(|nbf| nbf > now);
    claims.text("login").ok()?.filter(|login| !login.is_empty() && !ended && !early)
}

fn mac(text: &str) -> Hmac<Sha256> {
    Hmac::new_from_slice(&KEY).expect("a key of any length will do").chain_update(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_s_token_is_issued_and_accepted_and_no_other() {
        let ann = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoibiJ9.TGNq0bBIStrx31O1q9rV_AvM-HtQNzk4MBXmqzTtXr4";
        assert_eq!(issue("ann", "n"), ann);
        assert_eq!(login(ann), Some("ann".to_owned()));
        assert_eq!(login(&ann.replace("Xr4", "Xr5")), None);
        assert_eq!(login(&format!("{ann}.")), None);
        assert_eq!(login(""), None);
    }
}
