//! harness
#![allow(dead_code)]
mod os;
mod real;
fn main() {}
