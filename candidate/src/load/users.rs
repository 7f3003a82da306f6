//! `users.jsonl`: one user a line.

use std::fs;
use std::path::Path;

use super::BadData;
use crate::choices::JsonReader;
use crate::json::{self, Kind, Member};
use crate::state::countries::Countries;
use crate::state::users::{Account, User, Users};

const WANTED: [(&str, Kind); 6] = [
    ("login", Kind::Text),
    ("password", Kind::Text),
    ("name", Kind::Text),
    ("phone", Kind::Text),
    ("country", Kind::Text),
    ("is_admin", Kind::Flag),
];

/// Reads all users of `file`; a later line of the same login counts.
pub fn users(file: &Path, countries: &Countries) -> Result<Users, BadData> {
    let bytes = fs::read(file).map_err(|error| BadData::new(file, None, format!("cannot be read: {error}")))?;
    let mut users = Users::default();
    for (number, line) in (1u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            continue;
        }
        let account = account(line, countries).map_err(|reason| BadData::new(file, number, reason))?;
        users.put(User::new(account, false));
    }
    Ok(users)
}

fn account(line: &[u8], countries: &Countries) -> Result<Account, String> {
    let members = json::read(JsonReader::FlatFirst, line, &WANTED)
        .map_err(|_| "not a JSON object with strings for a user's members".to_owned())?;
    let text = |place: usize| {
        members[place].text().map(Box::<str>::from).ok_or_else(|| format!("`{}` is missing", WANTED[place].0))
    };
    let login = text(0)?;
    if login.is_empty() {
        return Err("the login is empty".to_owned());
    }
    let country = text(4)?;
    Ok(Account {
        login,
        password: text(1)?,
        name: text(2)?,
        phone: text(3)?,
        country_number: countries.number(&country),
        country,
        is_admin: members[5] == Member::Flag(true),
        ..Account::default()
    })
}
