//! Request heads: two bytes that say where to cut, then the head. The target is judged alone too, and so are the fields.

#![no_main]

use candidate_fuzz::check;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let [near, far, bytes @ ..] = input {
        check::head(bytes, &[usize::from(*near), usize::from(*far) * 64]);
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        check::route(line.split(|byte| *byte == b' ').nth(1).unwrap_or_default());
        check::fields(bytes.get(line.len() + 1..).unwrap_or_default());
    }
});
