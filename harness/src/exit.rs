//! The exit codes of every verb. They are documented in `harness --help` and tested.

use std::process::ExitCode;

/// How a verb ended, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked; `replay`: reproduced; `verify`: nothing to object to.
    Done = 0,
    /// The harness could not do its work; stderr says what was tried and what to do.
    Failed = 1,
    /// The command line or runs.toml is wrong.
    Usage = 2,
    /// `replay`: measured again, and the numbers differ. `verify`: the ledger does not hold.
    NotReproduced = 3,
    /// `replay`: nothing to compare with, or another meter, toolchain or machine.
    NotComparable = 4,
    /// Ctrl-C or SIGTERM; everything finished before it is kept.
    Interrupted = 130,
}

/// What `--help` says of them.
pub const HELP: &str = "\
Exit codes:
  0    done (replay: reproduced; verify: the ledger holds)
  1    the harness could not do its work; the message says what to do
  2    the command line or runs.toml is wrong
  3    replay: not reproduced; verify: the ledger does not hold
  4    replay: not comparable
  130  interrupted; nothing finished is lost, the same command goes on";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error of usage: exits with [`Exit::Usage`] instead of [`Exit::Failed`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);
