//! harness
fn main() {}
