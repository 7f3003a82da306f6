//! The command line: makes data and plans, drives them against a server, runs the contract's cases. No decisions here.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("loadgen: {error:#}");
            ExitCode::from(2)
        }
    }
}
