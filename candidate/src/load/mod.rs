//! Reading of the data directory at start. Whatever is wrong there ends the process: better no server than a wrong one.

mod geo;
mod users;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::state::State;

/// Bad data: where, and what is wrong.
#[derive(Debug)]
pub struct BadData {
    file: PathBuf,
    line: Option<u64>,
    reason: String,
}

impl BadData {
    fn new(file: &Path, line: impl Into<Option<u64>>, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: line.into(), reason: reason.into() }
    }
}

impl fmt::Display for BadData {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {}", self.reason)
    }
}

impl std::error::Error for BadData {}

/// Loads users and countries from `directory`.
pub fn state(directory: &Path) -> Result<State, BadData> {
    let countries = geo::countries(&directory.join("GeoLite2-City-CSV"))?;
    let users = users::users(&directory.join("users.jsonl"), &countries)?;
    Ok(State::new(countries, users))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LOCATIONS: &str =
        "h,,,,,\r\n1,en,EU,Europe,FR,France,\r\n2,en,EU,Europe,DE,\"Ger\"\"many, West\"\n1,en,,,,Gaul\n4,,,,,\n";
    const BLOCKS: &str =
        "network,geoname_id,x\n10.1.0.9/16,1,\n10.2.0.0/16,2\n10.4.0.0/16,4,,\n10.5.0.0/16,,1\n10.7.0.0/16,999,\n";
    const ANN: &str = r#"{"login":"ann","password":"p","name":"n","phone":"+1","country":"Gaul","more":[1]}"#;

    fn load(users: &str, locations: &str, blocks: &str) -> Result<State, String> {
        let directory = tempfile::tempdir().unwrap();
        let geo = directory.path().join("GeoLite2-City-CSV");
        fs::create_dir(&geo).unwrap();
        fs::write(directory.path().join("users.jsonl"), users).unwrap();
        fs::write(geo.join("GeoLite2-City-Locations-en.csv"), locations).unwrap();
        fs::write(geo.join("GeoLite2-City-Blocks-IPv4.csv"), blocks).unwrap();
        state(directory.path()).map_err(|bad| bad.to_string())
    }

    #[test]
    fn the_files_become_users_and_countries() {
        let later = r#"{"login":"ann","password":"q","name":"n","phone":"+1","country":"Atlantis","is_admin":true}"#;
        let state = load(&format!("{ANN}\r\n \t\r\n\n{later}"), LOCATIONS, BLOCKS).unwrap();
        let country = |address| state.countries.find(address).map(|number| state.countries.name(number));
        assert_eq!(country(0x0a01_ffff), Some("Gaul"));
        assert_eq!(country(0x0a02_0000), Some("Ger\"many, West"));
        assert_eq!(country(0x0a04_0000), Some(""));
        assert_eq!((country(0x0a05_0000), country(0x0a07_0000)), (None, None));
        let mut access = crate::state::Access::new(&state);
        let users = &access.shared().users;
        let ann = &users.get("ann").unwrap().account;
        assert_eq!((users.len(), &*ann.password, ann.is_admin, ann.country_number), (1, "q", true, None));
    }

    #[test]
    fn bad_data_is_named_by_file_and_line() {
        let is_named = |result: Result<State, String>, place: &str| {
            let message = result.err().expect("bad data was taken");
            assert!(message.contains(place), "{message}");
        };
        is_named(load("\n[]", LOCATIONS, BLOCKS), "users.jsonl:2");
        is_named(load(&ANN.replace("\"ann\"", "\"\""), LOCATIONS, BLOCKS), "users.jsonl:1");
        is_named(load(&ANN.replace("\"+1\"", "1"), LOCATIONS, BLOCKS), "users.jsonl:1");
        is_named(load(&ANN.replace("\"phone\"", "\"Phone\""), LOCATIONS, BLOCKS), "users.jsonl:1");
        is_named(load(ANN, "h\n1,en\n", BLOCKS), "Locations-en.csv:2");
        for row in ["10.1.0.0", "10.1.0.0/33", "10.1.0/8", "x/8", "::/8", ""] {
            is_named(load(ANN, LOCATIONS, &format!("h\n\"10.1.0.0/16\",1\n\"{row}\",1\n")), "Blocks-IPv4.csv:3");
        }
        is_named(load(ANN, LOCATIONS, "h,h\n10.1.0.0/16\n"), "Blocks-IPv4.csv:2");
    }
}
