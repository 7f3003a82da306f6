//! The MAC of tokens: HMAC-SHA-256 under the one key there is. The only place that names the cryptographic crates.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::choices::MacKey;
use crate::tunables;

/// The key, as the 32 bytes of base64 `CGWpjarkRIXzCIIw5vXKc+uESy5ebrbOyVMZvftj19k=`.
const KEY: [u8; 32] = [
    0x08, 0x65, 0xa9, 0x8d, 0xaa, 0xe4, 0x44, 0x85, 0xf3, 0x08, 0x82, 0x30, 0xe6, 0xf5, 0xca, 0x73, 0xeb, 0x84, 0x4b,
    0x2e, 0x5e, 0x6e, 0xb6, 0xce, 0xc9, 0x53, 0x19, 0xbd, 0xfb, 0x63, 0xd7, 0xd9,
];

/// Makes and checks MACs.
#[derive(Clone)]
pub struct Signer {
    prepared: Hmac<Sha256>,
}

impl Default for Signer {
    fn default() -> Self {
        Self::new()
    }
}

impl Signer {
    /// A signer under the key.
    pub fn new() -> Self {
        Self { prepared: keyed() }
    }

    /// The MAC of `text`.
    pub fn sign(&self, text: &[u8]) -> [u8; 32] {
        self.absorb(text).finalize().into_bytes().into()
    }

    /// Whether `mac` is the MAC of `text`; takes as long for a wrong as for a right one.
    pub fn verify(&self, text: &[u8], mac: &[u8]) -> bool {
        self.absorb(text).verify_slice(mac).is_ok()
    }

    fn absorb(&self, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = match tunables::MAC_KEY {
            MacKey::PerToken => keyed(),
            MacKey::Prepared => self.prepared.clone(),
        };
        mac.update(text);
        mac
    }
}

fn keyed() -> Hmac<Sha256> {
    Hmac::new_from_slice(&KEY).expect("HMAC takes a key of any length")
}

#[cfg(test)]
mod tests {
    use base64::Engine;

    use super::*;

    #[test]
    fn the_key_is_the_published_one() {
        let text = base64::engine::general_purpose::STANDARD.encode(KEY);
        assert_eq!(text, "CGWpjarkRIXzCIIw5vXKc+uESy5ebrbOyVMZvftj19k=");
    }

    #[test]
    fn a_mac_verifies_only_its_own_text() {
        let signer = Signer::new();
        let mac = signer.sign(b"text");
        assert!(signer.verify(b"text", &mac));
        assert!(!signer.verify(b"texu", &mac));
        assert!(!signer.verify(b"text", &mac[..31]));
    }
}
