//! What holds for the parsers whatever comes in, held against an independent oracle. The generators here aim at what nearly
//! fits; the fuzz targets in `fuzz/` run the same checks on what a fuzzer finds.

mod check;
mod oracle;

mod body;
mod head;
mod text;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

/// Runs `check` on `cases` values of `strategy`, shrinks what fails, and writes no file. The run is as long on every machine.
fn hold<S: Strategy>(cases: u32, strategy: S, check: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |value| {
        check(value);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Every place to cut `len` bytes, or none: what arrives byte by byte, and what arrives at once.
fn everywhere(len: usize) -> Vec<usize> {
    (1..len).collect()
}
