//! JSON objects; where the input is text, its escaped form as well.

#![no_main]

use candidate_fuzz::check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    check::json(input);
    if let Ok(text) = std::str::from_utf8(input) {
        check::escape(text);
    }
});
