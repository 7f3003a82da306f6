//! Tokens as the contract's section 6 wants them, and the pieces of wrong ones. Nothing here checks a token:
//! whoever makes one knows whether it is good.

use super::json::quote;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha384, Sha512};

/// The header segment of every token the server issues.
pub const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The shared key of contract 6.1.
pub fn key() -> Vec<u8> {
    STANDARD.decode("CGWpjarkRIXzCIIw5vXKc+uESy5ebrbOyVMZvftj19k=").expect("the contract's key is base64")
}

/// base64url without padding.
pub fn segment(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The payload the server puts into a token.
pub fn payload(login: &str, nonce: &str) -> String {
    format!("{{\"login\":{},\"nonce\":{}}}", quote(login), quote(nonce))
}

/// The token that `/auth` must issue.
pub fn issued(login: &str, nonce: &str) -> String {
    signed(HEADER, payload(login, nonce))
}

/// A token of any header and payload, signed rightly with HMAC-SHA-256.
pub fn signed(header: &str, payload: impl AsRef<[u8]>) -> String {
    sealed(&format!("{}.{}", segment(header), segment(payload)))
}

/// Any two segments with the right signature over their text behind them.
pub fn sealed(text: &str) -> String {
    format!("{text}.{}", segment(mac256(&key(), text)))
}

/// HMAC-SHA-256 with any key.
pub fn mac256(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key length does");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// HMAC-SHA-384 with the shared key.
pub fn mac384(text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha384>::new_from_slice(&key()).expect("any key length does");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// HMAC-SHA-512 with the shared key.
pub fn mac512(text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha512>::new_from_slice(&key()).expect("any key length does");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contracts_own_tokens_come_out() {
        assert_eq!(
            issued("ann", "n"),
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJsb2dpbiI6ImFubiIsIm5vbmNlIjoibiJ9.TGNq0bBIStrx31O1q9rV_AvM-HtQNzk4MBXmqzTtXr4"
        );
        assert_eq!(issued("Jörg/1 %", "n").rsplit('.').next(), Some("kecqB_AWqlk9MbF5pwbhNVnNRgHq8RqqupJD__6rrUg"));
        assert_eq!(
            issued("ann", "\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}/\u{2028}<>&'\"\\").rsplit('.').next(),
            Some("5alj1Po667ABq7Uc7jI7KZfxpE3ORyUiu5GZavtCG64")
        );
    }
}
