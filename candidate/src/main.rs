//! The program: options, data, service. Everything else is in the library.

use std::process::ExitCode;
use std::time::Instant;

use candidate::args::{self, Command, Options};
use candidate::engine::{self, Server};
use candidate::{health, load, tunables};

fn main() -> ExitCode {
    let (status, message) = match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Version) => {
            println!("candidate {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Ok(Command::Check(port)) => match health::check(port) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(message) => (1, message),
        },
        Ok(Command::Serve(options)) => match run(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(message) => (1, message),
        },
        Err(message) => (2, message),
    };
    eprintln!("candidate: {message}");
    ExitCode::from(status)
}

fn run(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let state = load::state(&options.data).map_err(|bad| bad.to_string())?;
    if options.check_data {
        let users = candidate::state::Access::new(&state).shared().users.len();
        let ranges = state.countries.ranges();
        println!("users: {users}, address ranges: {ranges}, loaded in {:.2} s", start.elapsed().as_secs_f64());
        return Ok(());
    }
    let trouble = |error| format!("signals cannot be caught: {error}");
    let (stopper, stop) = engine::stop_pair().map_err(trouble)?;
    stopper.on_signals().map_err(trouble)?;
    engine::raise_file_limit();
    let choice = engine::choose(options.engine, tunables::ENGINE)?;
    if let Some(note) = choice.note {
        eprintln!("candidate: {note}");
    }
    Server::open(options.port, options.workers, choice.engine, stop)?.serve(&state)
}
