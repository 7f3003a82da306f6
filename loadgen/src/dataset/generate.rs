//! A data set from a seed: the same sizes and proportions for every seed, other values.

use super::files::{self, Spelling};
use super::{Block, DataSet, Location, User, Zones};
use crate::chance::{Chance, Deck};
use crate::model::country::network;
use crate::spell::{Speller, Value};
use crate::workload::Workload;
use std::collections::HashSet;

/// Countries that need care in a CSV file or in JSON, and some that do not; others are made up.
const COUNTRIES: &[&str] = &[
    "France",
    "Germany",
    "Bonaire, Sint Eustatius, and Saba",
    "Côte d'Ivoire",
    "Åland Islands",
    "Trinidad & Tobago",
    "São Tomé and Príncipe",
    "Curaçao",
    "The \"Old\" Republic",
    "Japan",
    "United States",
    "Brazil",
    "India",
    "Kenya",
];

const SPICE: &[&str] = &["ö", "😀", "<b>", "&", "\"", "\\", "\u{2028}", "/", "日本", "'", " ", "\u{7f}", "\t", "\u{1}"];

/// Texts of fixed lengths in random order, a fixed share of them with characters that need care.
#[derive(Debug)]
pub struct Texts {
    lengths: Deck<usize>,
    spice: Deck<bool>,
}

impl Texts {
    /// Texts of these lengths, one in `times` spiced.
    pub fn new(lengths: impl Into<Vec<usize>>, times: usize) -> Texts {
        Texts { lengths: Deck::new(lengths), spice: Deck::once_in(times) }
    }

    /// The next text.
    pub fn next(&mut self, chance: &mut Chance) -> String {
        let length = self.lengths.deal(chance);
        let mut text = chance.word(length);
        if self.spice.deal(chance) {
            let at = chance.below(length + 1);
            let spice: &str = *chance.pick(SPICE);
            text.insert_str(at, spice);
        }
        text
    }
}

/// The lengths of logins, here and in requests.
pub const LOGIN_LENGTHS: [usize; 8] = [7, 8, 9, 10, 11, 12, 14, 20];

impl DataSet {
    /// The data set of a seed. The workload must be valid.
    pub fn generate(seed: u64, workload: &Workload) -> DataSet {
        let chance = &mut Chance::new(seed, "data");
        let mut octets: Vec<u8> = (1..=223).filter(|octet| *octet != 127).collect();
        chance.shuffle(&mut octets);
        let zones =
            Zones { shared: octets[..48].to_vec(), private: octets[48..64].to_vec(), bare: octets[64..96].to_vec() };
        let countries = countries(chance, workload.users as usize);
        let locations = locations(chance, &countries, workload.networks as usize);
        let blocks = blocks(chance, &zones, &locations, workload.networks as usize);
        let (users, lines) = users(chance, &countries, workload.users as usize);
        let spelling = Spelling {
            crlf: chance.once_in(2),
            last_newline: chance.once_in(2),
            needless_quotes: if chance.once_in(2) { 9 } else { 0 },
            anycast: chance.once_in(2),
        };
        let files = files::all(chance, &spelling, &lines, &locations, &blocks);
        DataSet { users, locations, blocks, zones, files }
    }
}

fn countries(chance: &mut Chance, users: usize) -> Vec<String> {
    let mut names: Vec<String> = COUNTRIES.iter().map(|name| (*name).to_string()).collect();
    names.push(String::new());
    while names.len() < (users / 10).clamp(5, 40) {
        names.push(format!("{} {}", chance.word(6), chance.word(5)));
    }
    names.truncate((users / 10).clamp(5, 40));
    names
}

fn locations(chance: &mut Chance, countries: &[String], networks: usize) -> Vec<Location> {
    let mut ids = HashSet::new();
    let mut rows: Vec<Location> = Vec::new();
    for index in 0..(networks / 8).max(countries.len() * 2) {
        let id = loop {
            let id = chance.between(10_000, 12_000_000).to_string();
            if ids.insert(id.clone()) {
                break id;
            }
        };
        rows.push(Location { id, country: countries[index % countries.len()].clone() });
    }
    chance.shuffle(&mut rows);
    // Ids that come again: the later row counts.
    for index in 0..rows.len() / 50 {
        let country = chance.pick(countries).clone();
        rows.push(Location { id: rows[index].id.clone(), country });
    }
    rows
}

fn blocks(chance: &mut Chance, zones: &Zones, locations: &[Location], networks: usize) -> Vec<Block> {
    #[derive(Clone, Copy, PartialEq)]
    enum Make {
        Fresh,
        Inside,
        Again,
        NoId,
        UnknownId,
        HostBits,
    }
    use Make::{Again, Fresh, HostBits, Inside, NoId, UnknownId};
    let mut makes = Deck::new([
        Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Fresh, Inside, Inside, Inside,
        Inside, Inside, Again, NoId, UnknownId, HostBits,
    ]);
    let mut lengths = Deck::new([10u8, 12, 14, 16, 17, 18, 19, 20, 20, 21, 22, 22, 23, 24, 24, 24, 25, 26, 28, 30, 32]);
    let mut ids = Deck::new(locations.iter().map(|location| location.id.clone()).collect::<Vec<_>>());
    let mut rows: Vec<Block> = Vec::new();
    // Half the private octets have records, the other half none: there everybody fits.
    for octet in &zones.private[..zones.private.len() / 2] {
        for quarter in 0..4u32 {
            let address = u32::from(*octet) << 24 | quarter << 22;
            rows.push(Block { address, length: 10, id: ids.deal(chance), registered: ids.deal(chance) });
        }
    }
    while rows.len() < networks {
        let make = if rows.len() < 100 { Fresh } else { makes.deal(chance) };
        let octet = u32::from(*chance.pick(&zones.shared));
        let inside = |row: &Block| zones.shared.contains(&((row.address >> 24) as u8)) && row.length < 30;
        let parent = loop {
            if rows.len() < 100 {
                break rows[0].clone();
            }
            let row = chance.pick(&rows).clone();
            if inside(&row) {
                break row;
            }
        };
        let any = chance.bits() as u32;
        let (address, length) = match make {
            Inside => {
                let length = parent.length + chance.between(1, (32 - usize::from(parent.length)).min(6)) as u8;
                (network(parent.address, parent.length) | (any & !mask(parent.length)), length)
            }
            Again => (parent.address, parent.length),
            _ => (octet << 24 | any >> 8, lengths.deal(chance)),
        };
        let address = if make == HostBits { address } else { network(address, length) };
        let id = match make {
            NoId => String::new(),
            UnknownId => format!("9{}", chance.text(8, "0123456789")),
            _ => ids.deal(chance),
        };
        rows.push(Block { address, length, id, registered: ids.deal(chance) });
    }
    rows
}

fn mask(length: u8) -> u32 {
    network(u32::MAX, length)
}

fn users(chance: &mut Chance, countries: &[String], count: usize) -> (Vec<User>, Vec<String>) {
    let mut logins = Texts::new(LOGIN_LENGTHS, 8);
    let mut passwords = Texts::new([6, 8, 10, 12, 16, 24], 8);
    let mut names = Texts::new([4, 6, 8, 10, 12, 16, 24], 4);
    let mut home = Deck::new(countries.to_vec());
    let mut taken = HashSet::new();
    let mut users = Vec::with_capacity(count);
    let admins = (count / 50).max(4);
    while users.len() < count {
        let login = logins.next(chance);
        if taken.insert(login.clone()) {
            users.push(User {
                login,
                password: passwords.next(chance),
                name: names.next(chance),
                phone: format!("+{}", chance.text(11, "0123456789")),
                country: home.deal(chance),
                admin: users.len() < admins,
            });
        }
    }
    let mut order: Vec<(bool, &User)> = users.iter().map(|user| (true, user)).collect();
    chance.shuffle(&mut order);
    let mut speller = Speller::default();
    let mut lines = Vec::with_capacity(count + count / 25);
    let mut repeats = Deck::once_in(40);
    for (_, user) in &order {
        if repeats.deal(chance) {
            // An earlier line of the same login: the later one replaces it, admin or not.
            let old = User { password: chance.word(8), admin: !user.admin, name: chance.word(4), ..(*user).clone() };
            let at = chance.below(lines.len() + 1);
            lines.insert(at, line(chance, &mut speller, &old));
        }
        lines.push(line(chance, &mut speller, user));
    }
    for blank in ["", "  ", "\t"] {
        let at = chance.below(lines.len());
        lines.insert(at, blank.to_string());
    }
    (users, lines)
}

fn line(chance: &mut Chance, speller: &mut Speller, user: &User) -> String {
    let mut members = vec![
        ("login", Value::Text(user.login.clone())),
        ("password", Value::Text(user.password.clone())),
        ("name", Value::Text(user.name.clone())),
        ("phone", Value::Text(user.phone.clone())),
        ("country", Value::Text(user.country.clone())),
    ];
    if user.admin {
        members.push(("is_admin", Value::Raw("true".into())));
    } else if chance.once_in(3) {
        members.push(("is_admin", Value::Raw((*chance.pick(&["false", "null"])).into())));
    }
    // A line break would end the line.
    speller.object(chance, &members, false).replace(['\n', '\r'], " ")
}
