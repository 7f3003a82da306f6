//! The judge: pure functions from numbers to verdicts. No files, clock, processes or threads, and nothing of ours.

pub mod budget;
pub mod decide;
pub mod doubts;
pub mod fence;
pub mod hypothesis;
pub mod inert;
pub mod manifest;
pub mod outcome;
pub mod profile;
pub mod provable;
pub mod record;
pub mod sample;
pub mod schedule;
pub mod simulate;
pub mod statistics;
