//! The machine beneath the harness: processes, pinning, signals, git, facts. Imports nothing of ours and knows
//! neither candidates nor scores.

pub mod git;
pub mod machine;
pub mod pin;
pub mod process;
pub mod signals;
