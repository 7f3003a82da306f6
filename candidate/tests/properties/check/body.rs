//! Chunked bodies.

use candidate::http::Fault;
use candidate::http::chunked::Chunked;

use super::arrivals;
use crate::oracle::chunked::{Line, Outcome, decode};

/// A chunked body, with what follows it, is the same whole and in the given cuts, and what the oracle makes of it.
pub fn chunked(bytes: &[u8], cuts: &[usize]) {
    let outcome = decode(bytes);
    for cuts in [&[][..], cuts] {
        let got = fed(bytes, cuts);
        let fits = match (&got, &outcome) {
            (Ok(None), Outcome::Waiting) => true,
            (Ok(None), Outcome::Wrong(faults, Line::Incomplete)) => {
                faults.iter().all(|fault| *fault == Fault::BadRequest)
            }
            (Ok(Some((body, behind))), Outcome::Body(wanted, rest)) => body == wanted && behind == rest,
            (Err(fault), Outcome::Wrong(faults, _)) => faults.contains(fault),
            _ => false,
        };
        assert!(fits, "{got:?}, not {outcome:?}, of {:?} cut after {cuts:?}", String::from_utf8_lossy(bytes));
    }
}

/// A body and what follows it.
type Whole = (Vec<u8>, Vec<u8>);

/// Both, if the body is complete.
fn fed(bytes: &[u8], cuts: &[usize]) -> Result<Option<Whole>, Fault> {
    let mut chunked = Chunked::default();
    let mut buffer = Vec::new();
    let mut start = 0;
    for end in arrivals(bytes.len(), cuts) {
        buffer.extend_from_slice(&bytes[start..end]);
        start = end;
        let left = chunked.advance(&mut buffer)?;
        buffer.truncate(left);
    }
    Ok(chunked.complete().map(|body| {
        let behind = buffer.split_off(body);
        (buffer, behind)
    }))
}
