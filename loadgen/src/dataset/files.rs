//! The files' text: JSON lines and the two CSV files of a GeoLite2 City release. What the values are is decided elsewhere.

use super::{Block, Location};
use crate::chance::{Chance, Deck};
use std::net::Ipv4Addr;
use std::path::PathBuf;

const FOLDER: &str = "GeoLite2-City-CSV";

/// How the files of one data set are spelled.
pub struct Spelling {
    /// CRLF instead of LF.
    pub crlf: bool,
    /// A newline after the last line.
    pub last_newline: bool,
    /// Quotes where none are needed, once in so many fields; 0 is never.
    pub needless_quotes: usize,
    /// The column newer releases have.
    pub anycast: bool,
}

/// All three files.
pub fn all(
    chance: &mut Chance,
    spelling: &Spelling,
    users: &[String],
    locations: &[Location],
    blocks: &[Block],
) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(FOLDER);
    let locations = locations_file(chance, spelling, locations);
    let blocks = blocks_file(chance, spelling, blocks);
    vec![
        ("users.jsonl".into(), lines(spelling, users)),
        (folder.join("GeoLite2-City-Locations-en.csv"), locations),
        (folder.join("GeoLite2-City-Blocks-IPv4.csv"), blocks),
    ]
}

fn lines(spelling: &Spelling, lines: &[String]) -> Vec<u8> {
    let end = if spelling.crlf { "\r\n" } else { "\n" };
    let mut text = lines.join(end);
    if spelling.last_newline {
        text.push_str(end);
    }
    text.into_bytes()
}

fn row(quoted: &mut Deck<bool>, chance: &mut Chance, fields: &[&str]) -> String {
    let mut line = String::new();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        if field.contains([',', '"']) || quoted.deal(chance) {
            line.push('"');
            line.push_str(&field.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(field);
        }
    }
    line
}

fn quoting(spelling: &Spelling) -> Deck<bool> {
    match spelling.needless_quotes {
        0 => Deck::new([false]),
        times => Deck::once_in(times),
    }
}

fn locations_file(chance: &mut Chance, spelling: &Spelling, locations: &[Location]) -> Vec<u8> {
    let mut out = vec![
        "geoname_id,locale_code,continent_code,continent_name,country_iso_code,country_name,subdivision_1_iso_code,\
         subdivision_1_name,subdivision_2_iso_code,subdivision_2_name,city_name,metro_code,time_zone,is_in_european_union"
            .to_string(),
    ];
    let mut quoted = quoting(spelling);
    for location in locations {
        let city = *chance.pick(&["", "Springfield", "L'Île-d'Olonne", "Saint John, Upper", "The \"Old\" Town"]);
        let zone = *chance.pick(&["", "Europe/Paris", "America/Kralendijk"]);
        let fields = [&location.id, "en", "EU", "Europe", "", &location.country, "", "", "", "", city, "", zone, "0"];
        out.push(row(&mut quoted, chance, &fields));
    }
    lines(spelling, &out)
}

fn blocks_file(chance: &mut Chance, spelling: &Spelling, blocks: &[Block]) -> Vec<u8> {
    let mut head =
        "network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,is_anonymous_proxy,\
                    is_satellite_provider,postal_code,latitude,longitude,accuracy_radius"
            .to_string();
    if spelling.anycast {
        head.push_str(",is_anycast");
    }
    let mut out = vec![head];
    let mut quoted = quoting(spelling);
    for block in blocks {
        let network = format!("{}/{}", Ipv4Addr::from(block.address), block.length);
        let postal = chance.text(5, "0123456789");
        let mut fields =
            vec![network.as_str(), &block.id, &block.registered, "", "0", "0", &postal, "48.8582", "2.3387", "1000"];
        if spelling.anycast {
            fields.push("");
        }
        out.push(row(&mut quoted, chance, &fields));
    }
    lines(spelling, &out)
}
