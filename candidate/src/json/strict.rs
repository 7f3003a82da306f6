//! The two rules of the contract that serde_json does not enforce in members it skips: nesting, and surrogates in pairs.
//! Everything else about syntax is left to it.

use super::{MAX_DEPTH, NotThatObject};

/// Checks both rules. The text may be bad JSON otherwise: then any answer will do, for it is refused later.
pub fn check(text: &str) -> Result<(), NotThatObject> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(NotThatObject);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = string(bytes, at)?,
            _ => {}
        }
    }
    Ok(())
}

/// Where the string that starts at `at` ends, behind its quote.
fn string(bytes: &[u8], mut at: usize) -> Result<usize, NotThatObject> {
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return Ok(at);
        }
        match unit(&bytes[at - 1..]) {
            Some(0xd800..=0xdbff) => match bytes.get(at + 5..).and_then(unit) {
                Some(0xdc00..=0xdfff) => at += 11,
                _ => return Err(NotThatObject),
            },
            Some(0xdc00..=0xdfff) => return Err(NotThatObject),
            Some(_) => at += 5,
            None => at += 1,
        }
    }
    Err(NotThatObject)
}

/// The code unit of a `\uXXXX` at the start of `bytes`.
pub(super) fn unit(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [b'\\', b'u', digits @ ..] => {
            digits.get(..4)?.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
        }
        _ => None,
    }
}
