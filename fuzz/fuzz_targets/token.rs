//! Tokens: the input as it is; rightly signed, if it is text; and its two halves around the first line feed as header and
//! payload of a rightly signed token.

#![no_main]

use candidate_fuzz::{check, oracle};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    check::token(input);
    check::base64(input);
    if input.is_ascii() {
        check::token(oracle::token::sign(input).as_bytes());
    }
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    check::signed_token(&input[..end], input.get(end + 1..).unwrap_or_default());
});
