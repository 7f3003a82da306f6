//! Addresses as text.

#![no_main]

use candidate_fuzz::check;

libfuzzer_sys::fuzz_target!(|text: &[u8]| check::address(text));
