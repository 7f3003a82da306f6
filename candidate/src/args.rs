//! The command line. A handful of options, read by hand: a parser library would be linked anew with every attempt.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::choices::EngineChoice;
use crate::engine::Wish;

/// What `--help` prints.
pub const HELP: &str = "\
The HTTP auth server: tokens, users and blacklists, from GeoLite2 City data.

Usage: candidate [OPTIONS]

Options:
  --data DIR     users.jsonl and GeoLite2-City-CSV/ are read from here [default: /storage/data]
  --port PORT    listen on this port of all addresses; 0 picks a free one [default: 8080]
  --workers N    threads that serve, each pinned to a core [default: cores this process may run on]
  --engine NAME  epoll, uring (io_uring), or auto: the one this build prefers, epoll where it is refused [default: auto]
  --check        ask the server on --port whether it answers, and exit: for health checks
  --check-data   load the data, say what was found, and exit
  --version      print the version and exit
  --help         print this and exit

The port is opened once all data is loaded: a connection that is taken will be answered. SIGTERM or SIGINT ends the
server: what has come is answered, then all connections are closed, within 5 seconds. A second signal ends it at once.
Exit status: 0 after such an end, and where a check finds all well; 1 if data, port or engine are unusable, or no server
answers; 2 if an option is wrong.
";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Ask the server on this port whether it answers.
    Check(u16),
    /// Serve, or only load.
    Serve(Options),
}

/// The options of serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The data directory.
    pub data: PathBuf,
    /// The port; 0 for any.
    pub port: u16,
    /// How many workers; one for each core if not given.
    pub workers: Option<usize>,
    /// What is to serve.
    pub engine: Wish,
    /// Only load the data.
    pub check_data: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { data: "/storage/data".into(), port: 8_080, workers: None, engine: Wish::Auto, check_data: false }
    }
}

/// Most workers that make sense to start.
const MAX_WORKERS: usize = 1_024;

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut options = Options::default();
    let mut check = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let (name, mut attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (text.as_str(), None),
        };
        let mut value = || attached.take().or_else(|| arguments.next()).ok_or_else(|| format!("{name} needs a value"));
        match name {
            "--help" | "-h" => return Ok(Command::Help),
            "--version" | "-V" => return Ok(Command::Version),
            "--check" => check = true,
            "--check-data" => options.check_data = true,
            "--data" => options.data = value()?.into(),
            "--port" => options.port = number(name, &value()?, 0, u16::MAX.into())? as u16,
            "--engine" => options.engine = engine(&value()?)?,
            "--workers" => options.workers = Some(number(name, &value()?, 1, MAX_WORKERS)?),
            _ => return Err(format!("there is no option {text}; see --help")),
        }
        if attached.is_some() {
            return Err(format!("{name} takes no value"));
        }
    }
    Ok(if check { Command::Check(options.port) } else { Command::Serve(options) })
}

fn engine(name: &OsString) -> Result<Wish, String> {
    match name.to_string_lossy().as_ref() {
        "auto" => Ok(Wish::Auto),
        "epoll" => Ok(Wish::Only(EngineChoice::Epoll)),
        "uring" => Ok(Wish::Only(EngineChoice::Uring)),
        other => Err(format!("--engine {other}: auto, epoll or uring is needed")),
    }
}

fn number(name: &str, value: &OsString, least: usize, most: usize) -> Result<usize, String> {
    let text = value.to_string_lossy();
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("{name} {text}: a number from {least} to {most} is needed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_are_read_in_both_spellings_and_have_defaults() {
        assert_eq!(of(""), Ok(Command::Serve(Options::default())));
        let engine = Wish::Only(EngineChoice::Uring);
        let given = Options { data: "d".into(), port: 0, workers: Some(3), engine, check_data: true };
        assert_eq!(of("--data d --port 0 --workers=3 --engine uring --check-data"), Ok(Command::Serve(given)));
        assert_eq!(of("--check --port 81"), Ok(Command::Check(81)));
        assert_eq!(of("--port 1 --help --bogus"), Ok(Command::Help));
    }

    #[test]
    fn wrong_options_are_named() {
        for (line, part) in [
            ("--bogus", "--bogus"),
            ("--port", "--port"),
            ("--port 65536", "65536"),
            ("--workers 0", "--workers"),
            ("--engine kqueue", "kqueue"),
            ("--check=1", "--check"),
            ("x", "x"),
        ] {
            let message = of(line).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
