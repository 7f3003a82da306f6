//! The lab on this machine: build, validate, measure, profile. Decides nothing.

pub mod build;
pub mod measure;
