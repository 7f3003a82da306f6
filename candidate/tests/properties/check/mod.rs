//! What must hold between the server's parsers, in all their ways, and the oracle. Each check panics where it does not.
//! The properties feed them from generators, the fuzz targets from whatever the fuzzer comes up with.

mod body;
mod head;
mod text;

pub use body::chunked;
pub use head::{fields, head, route};
pub use text::{address, base64, escape, json, network, signed_token, token};

/// The lengths of the prefixes in which `len` bytes arrive that are cut after the numbers in `cuts`.
fn arrivals(len: usize, cuts: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = cuts.iter().copied().filter(|cut| (1..len).contains(cut)).collect();
    ends.push(len);
    ends.sort_unstable();
    ends.dedup();
    ends
}
