//! The data files, read once at the start.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ipnet::Ipv4Net;
use prefix_trie::PrefixMap;

use crate::Failure;
use crate::json::Object;
use crate::state::{self, State, User};

/// Reads the folder.
pub fn load(folder: &Path) -> Result<State, Failure> {
    let geo = folder.join("GeoLite2-City-CSV");
    let locations = locations(&geo.join("GeoLite2-City-Locations-en.csv"))?;
    let networks = networks(&geo.join("GeoLite2-City-Blocks-IPv4.csv"), &locations)?;
    Ok(State::new(users(&folder.join("users.jsonl"))?, networks))
}

fn users(path: &Path) -> Result<HashMap<String, User>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut users = HashMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let user = user(line).map_err(|error| format!("{}:{}: {error}", path.display(), index + 1))?;
        users.insert(user.login.clone(), user);
    }
    Ok(users)
}

fn user(line: &str) -> Result<User, Failure> {
    let object = Object::parse(line.as_bytes())?;
    let text = |name| object.text(name)?.ok_or_else(|| Failure::from(format!("a user needs a {name}")));
    Ok(User {
        login: Some(text("login")?).filter(|login| !login.is_empty()).ok_or("a user's login is empty")?,
        password: text("password")?,
        name: text("name")?,
        phone: text("phone")?,
        country: text("country")?,
        admin: object.truth("is_admin")?.unwrap_or(false),
    })
}

fn rows(path: &Path) -> Result<csv::Reader<fs::File>, Failure> {
    csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Country names by geoname id.
fn locations(path: &Path) -> Result<HashMap<String, String>, Failure> {
    let mut locations = HashMap::new();
    for row in rows(path)?.into_records() {
        let row = row?;
        let (Some(id), Some(country)) = (row.get(0), row.get(5)) else {
            return Err(format!("{}: a row has too few columns: {row:?}", path.display()).into());
        };
        locations.insert(id.to_owned(), country.to_owned());
    }
    Ok(locations)
}

/// Countries by network. A row without a geoname id, or with one that names no location, says nothing.
fn networks(path: &Path, locations: &HashMap<String, String>) -> Result<PrefixMap<Ipv4Net, String>, Failure> {
    let mut networks = PrefixMap::new();
    for row in rows(path)?.into_records() {
        let row = row?;
        let (Some(network), Some(id)) = (row.get(0), row.get(1)) else {
            return Err(format!("{}: a row has too few columns: {row:?}", path.display()).into());
        };
        let network = network
            .split_once('/')
            .and_then(|(address, mask)| state::network(address, mask))
            .ok_or_else(|| format!("{}: {network} is no network", path.display()))?;
        if let Some(country) = locations.get(id) {
            networks.insert(network, country.clone());
        }
    }
    Ok(networks)
}
