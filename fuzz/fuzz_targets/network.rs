//! Networks as text, and their prefix lengths.

#![no_main]

use candidate_fuzz::check;

libfuzzer_sys::fuzz_target!(|text: &[u8]| check::network(text));
