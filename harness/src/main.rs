//! harness
#![allow(dead_code, unused_imports)]
mod os;
mod real;
fn main() {}
