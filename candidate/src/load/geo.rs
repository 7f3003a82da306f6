//! The two files of GeoLite2 City: locations, and the networks that lie in them. The only place that names the csv crate.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use csv::ByteRecord;

use super::BadData;
use crate::http::address;
use crate::state::countries::{Countries, Network};

/// Reads both files of `directory`.
pub fn countries(directory: &Path) -> Result<Countries, BadData> {
    let mut names = Names::default();
    let mut locations: HashMap<Vec<u8>, u32> = HashMap::new();
    let file = directory.join("GeoLite2-City-Locations-en.csv");
    each_row(&file, 6, |row| {
        let name = std::str::from_utf8(&row[5]).map_err(|_| "the country's name is not UTF-8".to_owned())?;
        locations.insert(row[0].to_vec(), names.number(name));
        Ok(())
    })?;

    let mut networks = Vec::new();
    let file = directory.join("GeoLite2-City-Blocks-IPv4.csv");
    each_row(&file, 2, |row| {
        let (first, length) = address::network(&row[0])
            .ok_or_else(|| format!("`{}` is no IPv4 network like 10.1.0.0/16", String::from_utf8_lossy(&row[0])))?;
        if let Some(value) = locations.get(&row[1]).filter(|_| !row[1].is_empty()) {
            networks.push(Network { first, length, value: *value });
        }
        Ok(())
    })?;
    Ok(Countries::new(names.list, networks))
}

/// Hands every row below the header to `take`; rows may differ in length but not have fewer than `columns`.
fn each_row(
    file: &Path,
    columns: usize,
    mut take: impl FnMut(&ByteRecord) -> Result<(), String>,
) -> Result<(), BadData> {
    let source = File::open(file).map_err(|error| BadData::new(file, None, format!("cannot be opened: {error}")))?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 18).from_reader(source);
    let mut row = ByteRecord::new();
    loop {
        let more = reader.read_byte_record(&mut row).map_err(|error| {
            BadData::new(file, error.position().map(csv::Position::line), format!("cannot be read: {error}"))
        })?;
        if !more {
            return Ok(());
        }
        let line = row.position().map(csv::Position::line);
        if row.len() < columns {
            return Err(BadData::new(file, line, format!("{} columns, at least {columns} are needed", row.len())));
        }
        take(&row).map_err(|reason| BadData::new(file, line, reason))?;
    }
}

/// Country names, each once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}
