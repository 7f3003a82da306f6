//! base64url without padding, strictly: one text for each byte string. By a crate, by tables or by vectors of our own.

#[cfg(target_arch = "x86_64")]
mod vector;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::choices::Base64;
use crate::tunables;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// What a byte that is no character decodes to.
const BAD: u8 = 0xff;

const VALUES: [u8; 256] = {
    let mut table = [BAD; 256];
    let mut value = 0;
    while value < 64 {
        table[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// Appends `bytes` to `out`, encoded.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    encode_by(tunables::BASE64, bytes, out);
}

/// The same by a coder of one's choice.
pub fn encode_by(coder: Base64, bytes: &[u8], out: &mut Vec<u8>) {
    match coder {
        Base64::Crate => out.extend_from_slice(URL_SAFE_NO_PAD.encode(bytes).as_bytes()),
        Base64::Table => encode_by_table(bytes, out),
        #[cfg(target_arch = "x86_64")]
        Base64::Vector if is_x86_feature_detected!("avx2") => {
            // SAFETY: the processor has what the function needs.
            unsafe { vector::encode(bytes, out) }
        }
        Base64::Vector => encode_by_table(bytes, out),
    }
}

/// Appends the bytes that `text` stands for to `out`; `None` if it is not the one text of any.
pub fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    decode_by(tunables::BASE64, text, out)
}

/// The same by a decoder of one's choice.
pub fn decode_by(decoder: Base64, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match decoder {
        Base64::Crate => URL_SAFE_NO_PAD.decode_vec(text, out).ok(),
        Base64::Table => decode_by_table(text, out),
        #[cfg(target_arch = "x86_64")]
        Base64::Vector if is_x86_feature_detected!("avx2") => {
            // SAFETY: the processor has what the function needs.
            unsafe { vector::decode(text, out) }
        }
        Base64::Vector => decode_by_table(text, out),
    }
}

fn encode_by_table(bytes: &[u8], out: &mut Vec<u8>) {
    let character = |bits: u32| ALPHABET[(bits & 63) as usize];
    out.reserve(bytes.len().div_ceil(3) * 4);
    let groups = bytes.chunks_exact(3);
    let rest = groups.remainder();
    for group in groups {
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        out.extend_from_slice(&[character(bits >> 18), character(bits >> 12), character(bits >> 6), character(bits)]);
    }
    match rest {
        [a] => out.extend_from_slice(&[character(u32::from(*a) >> 2), character(u32::from(*a) << 4)]),
        [a, b] => {
            let bits = u32::from_be_bytes([0, 0, *a, *b]);
            out.extend_from_slice(&[character(bits >> 10), character(bits >> 4), character(bits << 2)]);
        }
        _ => {}
    }
}

fn decode_by_table(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let value = |character: u8| VALUES[usize::from(character)];
    out.reserve(text.len() / 4 * 3 + 2);
    let groups = text.chunks_exact(4);
    let rest = groups.remainder();
    let mut bad = 0;
    for group in groups {
        let (a, b, c, d) = (value(group[0]), value(group[1]), value(group[2]), value(group[3]));
        bad |= a | b | c | d;
        let bits = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    match *rest {
        [] => {}
        [a, b] => {
            let (a, b) = (value(a), value(b));
            bad |= a | b | if b & 15 == 0 { 0 } else { BAD };
            out.push(a << 2 | b >> 4);
        }
        [a, b, c] => {
            let (a, b, c) = (value(a), value(b), value(c));
            bad |= a | b | c | if c & 3 == 0 { 0 } else { BAD };
            out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2]);
        }
        _ => return None,
    }
    // Values have six bits; only a bad character sets the upper two.
    (bad < 64).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODERS: [Base64; 3] = [Base64::Crate, Base64::Table, Base64::Vector];

    /// What is appended.
    fn decoded(coder: Base64, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        decode_by(coder, text, &mut out)?;
        Some(out.split_off(6))
    }

    #[test]
    fn all_coders_code_alike() {
        let bytes: Vec<u8> = (0..=255u8).map(|byte| byte.wrapping_mul(197)).collect();
        for length in 0..bytes.len() {
            let text = URL_SAFE_NO_PAD.encode(&bytes[..length]);
            for coder in CODERS {
                let mut encoded = b"before".to_vec();
                encode_by(coder, &bytes[..length], &mut encoded);
                assert_eq!(encoded, format!("before{text}").as_bytes(), "{coder:?}");
                assert_eq!(decoded(coder, &encoded[6..]).as_deref(), Some(&bytes[..length]), "{coder:?}");
            }
        }
    }

    #[test]
    fn texts_that_no_encoder_makes_are_refused_by_all() {
        for text in ["A", "AAAAA", "AB", "AAB", "AA==", "AA=", "A+AA", "A/AA", "AA A", "AAA\u{e9}", "AA.A", "AAAA\n"] {
            for coder in CODERS {
                assert_eq!(decoded(coder, text.as_bytes()), None, "{text} by {coder:?}");
            }
        }
    }

    #[test]
    fn every_byte_is_judged_alike_wherever_it_stands() {
        for byte in 0..=255 {
            for at in 0..70 {
                let mut text = [b'A'; 70];
                text[at] = byte;
                let expected = decoded(Base64::Crate, &text);
                assert_eq!(decoded(Base64::Table, &text), expected, "{byte} at {at}");
                assert_eq!(decoded(Base64::Vector, &text), expected, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn every_pair_and_triple_of_last_characters_is_judged_alike() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                for text in [&[a, b][..], &[b'A', a, b][..], &[a, b'_', b'A', b][..]] {
                    let expected = decoded(Base64::Crate, text);
                    assert_eq!(decoded(Base64::Table, text), expected);
                    assert_eq!(decoded(Base64::Vector, text), expected);
                }
            }
        }
    }
}
