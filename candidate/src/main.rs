//! candidate
fn main() {}
