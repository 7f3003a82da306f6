//! What all workers share. The countries never change. Of the tables that do, each worker has a copy of its own, so that
//! reading takes no lock and writes to no memory that another worker looks at; the changes go through one place, in
//! `shared.rs`. All tables change together, so that a request sees users and subnets as of a single instant.

pub mod countries;
mod flatten;
mod hash;
mod shared;
pub mod subnets;
pub mod users;

use countries::Countries;
use subnets::Subnets;
use users::{Account, User, Users};

use crate::choices::CountryMatch;
use crate::tunables;

pub use hash::TableState;
use shared::Shared;
pub use shared::{Access, Alone};

/// What requests can change. A copy shares the accounts with the original.
#[derive(Clone, Default)]
pub struct Tables {
    /// Everybody who has an account, with their blocks.
    pub users: Users,
    /// The blocked subnets.
    pub subnets: Subnets,
}

/// A change, in a form that every copy of the tables can follow without deciding anything.
#[derive(Clone, Debug)]
pub enum Change {
    /// The user of that login is this one from now on.
    User(User),
    /// The network is blocked from now on, or no longer.
    Subnet {
        /// Any address of the network.
        address: u32,
        /// Its prefix length.
        length: u8,
        /// Whether it is blocked.
        blocked: bool,
    },
}

impl Tables {
    fn apply(&mut self, change: Change) {
        match change {
            Change::User(user) => self.users.put(user),
            Change::Subnet { address, length, blocked: true } => drop(self.subnets.insert(address, length)),
            Change::Subnet { address, length, blocked: false } => drop(self.subnets.remove(address, length)),
        }
    }
}

/// The state of the server, shared by all workers.
pub struct State {
    /// Which address lies in which country.
    pub countries: Countries,
    shared: Shared,
}

impl State {
    /// The state after start: everything as the files say.
    pub fn new(countries: Countries, users: Users) -> Self {
        Self { countries, shared: Shared::new(Tables { users, subnets: Subnets::default() }) }
    }

    /// Whether `address` may act for the holder of `account`: it has no record, or one of the account's country.
    pub fn country_fits(&self, address: u32, account: &Account) -> bool {
        match (self.countries.find(address), tunables::COUNTRY_MATCH) {
            (None, _) => true,
            (Some(number), CountryMatch::ByText) => *self.countries.name(number) == *account.country,
            (Some(number), CountryMatch::ByNumber) => account.country_number == Some(number),
        }
    }
}
