//! Chunked bodies: two bytes that say where to cut, then the body.

#![no_main]

use candidate_fuzz::check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let [near, far, bytes @ ..] = input {
        check::chunked(bytes, &[usize::from(*near), usize::from(*far) * 64]);
    }
});
