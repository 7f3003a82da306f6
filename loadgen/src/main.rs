//! loadgen
fn main() {}
