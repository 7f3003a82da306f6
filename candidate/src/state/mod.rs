//! What all workers share: the countries, which never change, and one lock around everything that does.
//! One lock and not one for each table, so that a request sees users and subnets as of a single instant.

pub mod countries;
mod flatten;
mod hash;
pub mod subnets;
pub mod users;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use countries::Countries;
use subnets::Subnets;
use users::{User, Users};

use crate::choices::{CountryMatch, LockSpan};
use crate::tunables;

pub use hash::TableState;

/// What requests can change.
#[derive(Default)]
pub struct Tables {
    /// Everybody who has an account, with their blocks.
    pub users: Users,
    /// The blocked subnets.
    pub subnets: Subnets,
}

/// The state of the server, shared by all workers.
pub struct State {
    /// Which address lies in which country.
    pub countries: Countries,
    tables: RwLock<Tables>,
}

impl State {
    /// The state after start: everything as the files say.
    pub fn new(countries: Countries, users: Users) -> Self {
        Self { countries, tables: RwLock::new(Tables { users, subnets: Subnets::default() }) }
    }

    /// Whether `address` may act for `user`: it has no record, or one of the user's country.
    pub fn country_fits(&self, address: u32, user: &User) -> bool {
        match (self.countries.find(address), tunables::COUNTRY_MATCH) {
            (None, _) => true,
            (Some(number), CountryMatch::ByText) => self.countries.name(number) == user.country,
            (Some(number), CountryMatch::ByNumber) => user.country_number == Some(number),
        }
    }
}

/// A worker's hold on the tables: none, shared, or alone.
pub struct Access<'s> {
    state: &'s State,
    held: Held<'s>,
}

enum Held<'s> {
    Nothing,
    Shared(RwLockReadGuard<'s, Tables>),
    Alone(RwLockWriteGuard<'s, Tables>),
}

impl<'s> Access<'s> {
    /// Access that holds nothing yet.
    pub fn new(state: &'s State) -> Self {
        Self { state, held: Held::Nothing }
    }

    /// The tables to read. They stay as they are until the hold is given up.
    pub fn shared(&mut self) -> &Tables {
        if let Held::Nothing = self.held {
            // A worker that panics takes the process with it, so that a poisoned lock is never seen in service.
            self.held = Held::Shared(self.state.tables.read().unwrap_or_else(PoisonError::into_inner));
        }
        match &self.held {
            Held::Shared(tables) => tables,
            Held::Alone(tables) => tables,
            Held::Nothing => unreachable!("a hold was taken above"),
        }
    }

    /// The tables to change. What was read under a shared hold may have changed meanwhile.
    pub fn alone(&mut self) -> &mut Tables {
        if !matches!(self.held, Held::Alone(_)) {
            self.held = Held::Nothing;
            self.held = Held::Alone(self.state.tables.write().unwrap_or_else(PoisonError::into_inner));
        }
        match &mut self.held {
            Held::Alone(tables) => tables,
            Held::Shared(_) | Held::Nothing => unreachable!("a hold was taken above"),
        }
    }

    /// To be called after each request.
    pub fn request_done(&mut self) {
        if tunables::LOCK_SPAN == LockSpan::PerRequest {
            self.held = Held::Nothing;
        }
    }

    /// To be called before a response leaves and before waiting for anything.
    pub fn batch_done(&mut self) {
        self.held = Held::Nothing;
    }
}
