//! The harness: parse, dispatch, exit. What it does is in `search.rs` and `attempt.rs`.

mod attempt;
mod cli;
mod cmd;
mod data;
mod exit;
mod judge;
mod lab;
mod os;
mod out;
mod propose;
mod real;
mod search;
#[cfg(test)]
mod sim;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    os::process::keep_copies_small();
    let cli = cli::Cli::parse();
    match cmd::run(&cli) {
        Ok(exit) => exit.into(),
        Err(error) if error.chain().any(interrupted) => {
            eprintln!("interrupted");
            exit::Exit::Interrupted.into()
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            let usage = error.chain().any(|cause| cause.is::<exit::UsageError>());
            if usage { exit::Exit::Usage.into() } else { exit::Exit::Failed.into() }
        }
    }
}

/// Ctrl-C is no failure, wherever it was noticed.
fn interrupted(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<real::Interrupted>() || matches!(cause.downcast_ref(), Some(real::build::BuildError::Interrupted))
}
