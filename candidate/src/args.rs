//! The command line. A handful of options, read by hand: a parser library would be linked anew with every attempt.

use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
The HTTP auth server: tokens, users and blacklists, from GeoLite2 City data.

Usage: candidate [OPTIONS]

Options:
  --data DIR     users.jsonl and GeoLite2-City-CSV/ are read from here [default: /storage/data]
  --port PORT    listen on this port of all addresses; 0 picks a free one [default: 8080]
  --workers N    threads that serve, each pinned to a core [default: cores this process may run on]
  --check        load the data, say what was found, and exit
  --version      print the version and exit
  --help         print this and exit

The port is opened once all data is loaded: a connection that is taken will be answered.
Exit status: 0 after --check, --version and --help; 1 if data or port are unusable; 2 if an option is wrong.
";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
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
    /// Only load the data.
    pub check: bool,
}

/// Most workers that make sense to start.
const MAX_WORKERS: usize = 1_024;

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut options = Options { data: "/storage/data".into(), port: 8_080, workers: None, check: false };
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
            "--check" => options.check = true,
            "--data" => options.data = value()?.into(),
            "--port" => options.port = number(name, &value()?, 0, u16::MAX.into())? as u16,
            "--workers" => options.workers = Some(number(name, &value()?, 1, MAX_WORKERS)?),
            _ => return Err(format!("there is no option {text}; see --help")),
        }
        if attached.is_some() {
            return Err(format!("{name} takes no value"));
        }
    }
    Ok(Command::Serve(options))
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
        let plain = Options { data: "/storage/data".into(), port: 8_080, workers: None, check: false };
        assert_eq!(of(""), Ok(Command::Serve(plain.clone())));
        let given = Options { data: "d".into(), port: 0, workers: Some(3), check: true };
        assert_eq!(of("--data d --port 0 --workers=3 --check"), Ok(Command::Serve(given)));
        assert_eq!(of("--port 1 --help --bogus"), Ok(Command::Help));
    }

    #[test]
    fn wrong_options_are_named() {
        for (line, part) in [
            ("--bogus", "--bogus"),
            ("--port", "--port"),
            ("--port 65536", "65536"),
            ("--workers 0", "--workers"),
            ("--check=1", "--check"),
            ("x", "x"),
        ] {
            let message = of(line).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
