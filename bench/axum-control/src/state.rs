//! Users, networks and black lists, in memory.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ipnet::Ipv4Net;
use prefix_trie::PrefixMap;

/// A user.
#[derive(Clone, Debug)]
pub struct User {
    pub login: String,
    pub password: String,
    pub name: String,
    pub phone: String,
    pub country: String,
    pub admin: bool,
}

/// Everything that requests read and change.
#[derive(Debug, Default)]
pub struct Tables {
    pub users: HashMap<String, User>,
    pub blocked_users: HashSet<String>,
    pub blocked_subnets: PrefixMap<Ipv4Net, ()>,
}

/// The state of the program, cheap to clone.
#[derive(Clone, Debug)]
pub struct State {
    tables: Arc<RwLock<Tables>>,
    countries: Arc<PrefixMap<Ipv4Net, String>>,
}

impl State {
    pub fn new(users: HashMap<String, User>, countries: PrefixMap<Ipv4Net, String>) -> State {
        let tables = Tables { users, ..Tables::default() };
        State { tables: Arc::new(RwLock::new(tables)), countries: Arc::new(countries) }
    }

    pub fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().expect("no request panics")
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().expect("no request panics")
    }

    /// Whether a user of this country may ask from there: also where the address has no record.
    pub fn fits(&self, address: Ipv4Addr, country: &str) -> bool {
        self.countries.get_lpm(&host(address)).is_none_or(|(_, recorded)| recorded == country)
    }
}

impl Tables {
    /// Whether the address lies in any blocked subnet.
    pub fn shut(&self, address: Ipv4Addr) -> bool {
        self.blocked_subnets.get_lpm(&host(address)).is_some()
    }

    /// A user who exists and is not blocked.
    pub fn active(&self, login: &str) -> Option<&User> {
        self.users.get(login).filter(|user| !self.blocked_users.contains(&user.login))
    }
}

/// The network of an address and a mask in plain digits, host bits cleared.
pub fn network(address: &str, mask: &str) -> Option<Ipv4Net> {
    let plain = mask.bytes().all(|byte| byte.is_ascii_digit()) && (mask.len() == 1 || !mask.starts_with('0'));
    let length = mask.parse().ok().filter(|_| plain)?;
    Some(Ipv4Net::new(address.parse().ok()?, length).ok()?.trunc())
}

fn host(address: Ipv4Addr) -> Ipv4Net {
    Ipv4Net::from(address)
}
