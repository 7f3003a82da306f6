//! Whom and where requests come from: users nobody changes, and addresses by country.

use crate::chance::{Chance, Deck};
use crate::dataset::{DataSet, User};
use crate::model::country::{Countries, network};
use std::collections::BTreeMap;

/// The part of the private octets that one chain owns: its base address and whose country it is, if any.
#[derive(Debug, Clone)]
pub struct Part {
    /// The /20's first address.
    pub base: u32,
    /// Its country, if it has a record.
    pub country: Option<String>,
}

/// Users and addresses to draw from.
#[derive(Debug)]
pub struct Pool {
    shared: Deck<User>,
    admins: Deck<User>,
    by_country: BTreeMap<String, Vec<User>>,
    changeable: std::vec::IntoIter<User>,
    addresses: BTreeMap<String, Vec<u32>>,
    names: Vec<String>,
    bare: Vec<u8>,
    parts: Deck<u32>,
    private: Vec<u8>,
    countries: Countries,
}

impl Pool {
    /// Everything a data set offers.
    pub fn new(chance: &mut Chance, data: &DataSet) -> Pool {
        let countries = data.countries();
        let mut addresses: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for block in &data.blocks {
            let first = network(block.address, block.length);
            if !data.zones.shared.contains(&((first >> 24) as u8)) {
                continue;
            }
            let host = !network(u32::MAX, block.length);
            for address in [first, first | host, first | (chance.bits() as u32 & host)] {
                if let Some(country) = countries.of(address) {
                    addresses.entry(country.to_string()).or_default().push(address);
                }
            }
        }
        let (shared, changeable) = data.users.split_at(data.users.len() / 2);
        let mut by_country: BTreeMap<String, Vec<User>> = BTreeMap::new();
        for user in shared.iter().filter(|user| !user.admin) {
            by_country.entry(user.country.clone()).or_default().push(user.clone());
        }
        let some = |admin| shared.iter().filter(|user| user.admin == admin).cloned().collect::<Vec<_>>();
        Pool {
            shared: Deck::new(some(false)),
            admins: Deck::new(some(true)),
            by_country,
            changeable: changeable.to_vec().into_iter(),
            names: addresses.keys().cloned().collect(),
            addresses,
            bare: data.zones.bare.clone(),
            parts: Deck::new((0..crate::dataset::PRIVATE_SUBNETS as u32).collect::<Vec<_>>()),
            private: data.zones.private.clone(),
            countries,
        }
    }

    /// A user whom no request changes and who is no admin.
    pub fn user(&mut self, chance: &mut Chance) -> User {
        self.shared.deal(chance)
    }

    /// An admin whom no request changes.
    pub fn admin(&mut self, chance: &mut Chance) -> User {
        self.admins.deal(chance)
    }

    /// A loaded user for one chain alone.
    pub fn changeable(&mut self) -> User {
        self.changeable.next().expect("a valid workload has enough users")
    }

    /// An address without a record.
    pub fn bare(&mut self, chance: &mut Chance) -> u32 {
        u32::from(*chance.pick(&self.bare)) << 24 | (chance.bits() as u32 >> 8)
    }

    /// An address in that country; where the country has none, one without a record.
    pub fn inside(&mut self, chance: &mut Chance, country: &str) -> u32 {
        match self.addresses.get(country) {
            Some(list) => *chance.pick(list),
            None => self.bare(chance),
        }
    }

    /// A country with addresses that is not this one.
    pub fn other(&mut self, chance: &mut Chance, country: &str) -> String {
        loop {
            let name = chance.pick(&self.names);
            if name != country {
                return name.clone();
            }
        }
    }

    /// A part of the private octets for one chain alone, in which some user may ask.
    pub fn part(&mut self, chance: &mut Chance) -> Part {
        loop {
            let index = self.parts.deal(chance);
            let base = u32::from(self.private[index as usize / 4096]) << 24 | (index % 4096) << 12;
            let country = self.countries.of(base).map(str::to_string);
            if country.as_ref().is_none_or(|name| self.by_country.contains_key(name)) {
                return Part { base, country };
            }
        }
    }

    /// A user who may ask from that part.
    pub fn visitor(&mut self, chance: &mut Chance, part: &Part) -> User {
        match &part.country {
            Some(name) => chance.pick(&self.by_country[name]).clone(),
            None => self.user(chance),
        }
    }
}
