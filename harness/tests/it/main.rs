//! The harness from outside: its layers, its command line, its meter, and one real search.

mod bad_input;
mod checkout;
mod image;
mod layers;
mod search;
