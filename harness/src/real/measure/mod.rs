//! Meters: what counts a server's instructions. Turning counts into verdicts is the judge's.

pub mod perf;
