//! The oracle: what the right answer to a request is, by the contract, from meaning and not from bytes.
//!
//! It shares no code with any server. It holds whole users and plain lists, and is in no hurry. How a request
//! is spelled on the wire is the plan's business: whoever spells it knows what it means.

pub mod answer;
pub mod country;
pub mod json;
pub mod token;

use crate::dataset::{DataSet, User};
use answer::{Tail, allow, head_of, ok, status};
use country::{Countries, network};
use json::quote;
use std::collections::{HashMap, HashSet};

/// The members of a body that have a meaning; absent and null are both `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// `login`
    pub login: Option<String>,
    /// `password`
    pub password: Option<String>,
    /// `name`
    pub name: Option<String>,
    /// `phone`
    pub phone: Option<String>,
    /// `country`
    pub country: Option<String>,
    /// `nonce`
    pub nonce: Option<String>,
}

/// What a request asks for. A body of `None` is one that is not the JSON it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// POST /auth
    Auth(Option<Members>),
    /// GET /user
    Get,
    /// HEAD /user
    Head,
    /// PUT /user
    Put(Option<Members>),
    /// PATCH /user
    Patch(Option<Members>),
    /// PUT /blacklist/user/{login}
    Block(String),
    /// DELETE /blacklist/user/{login}
    Unblock(String),
    /// PUT /blacklist/subnet/{ip}/{mask}; `None` is one that names no subnet
    Shut(Option<(u32, u8)>),
    /// DELETE /blacklist/subnet/{ip}/{mask}
    Open(Option<(u32, u8)>),
    /// A path that is none of the contract's
    Nowhere,
    /// A path of the contract's with a method it does not have; the value of `Allow`
    Method(&'static str),
}

/// A request's meaning: what, from where, and who its token proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// What is asked.
    pub call: Call,
    /// The client's address, if the request names exactly one.
    pub from: Option<u32>,
    /// The login a valid token carries.
    pub who: Option<String>,
}

/// The state a right server would have, and the answers it would give.
#[derive(Debug, Clone)]
pub struct Model {
    users: HashMap<String, User>,
    blocked: HashSet<String>,
    shut: HashSet<(u32, u8)>,
    countries: Countries,
}

impl Model {
    /// The state after the data is loaded.
    pub fn new(data: &DataSet) -> Model {
        Model {
            users: data.users.iter().map(|user| (user.login.clone(), user.clone())).collect(),
            blocked: HashSet::new(),
            shut: HashSet::new(),
            countries: data.countries(),
        }
    }

    /// The one right answer, and the request's effect on the state.
    pub fn answer(&mut self, ask: &Meaning) -> Vec<u8> {
        self.decide(ask).unwrap_or_else(status)
    }

    fn decide(&mut self, ask: &Meaning) -> Result<Vec<u8>, u16> {
        match ask.call {
            Call::Nowhere => return Err(404),
            Call::Method(allowed) => return Ok(answer::method(allowed, Tail::None)),
            _ => {}
        }
        let from = ask.from.ok_or(403u16)?;
        if (self.shut.iter()).any(|&(net, length)| network(from, length) == net) {
            return Err(403);
        }
        match &ask.call {
            Call::Auth(body) => self.auth(from, body.as_ref().ok_or(400u16)?),
            Call::Get => Ok(ok(&shown(self.caller(from, ask)?))),
            Call::Head => Ok(head_of(&shown(self.caller(from, ask)?), Tail::None)),
            Call::Put(body) => self.put(from, body.as_ref().ok_or(400u16)?),
            Call::Patch(body) => {
                let login = self.caller(from, ask)?.login.clone();
                self.patch(&login, body.as_ref().ok_or(400u16)?)
            }
            Call::Block(login) => {
                self.admin(from, ask)?;
                self.users.get(login).ok_or(404u16)?;
                let fresh = self.blocked.insert(login.clone());
                Err(if fresh { 201 } else { 409 })
            }
            Call::Unblock(login) => {
                self.admin(from, ask)?;
                Err(if self.blocked.remove(login) { 204 } else { 404 })
            }
            Call::Shut(subnet) => {
                self.admin(from, ask)?;
                let (address, length) = subnet.ok_or(400u16)?;
                let fresh = self.shut.insert((network(address, length), length));
                Err(if fresh { 201 } else { 409 })
            }
            Call::Open(subnet) => {
                self.admin(from, ask)?;
                let (address, length) = subnet.ok_or(400u16)?;
                let there = self.shut.remove(&(network(address, length), length));
                Err(if there { 204 } else { 404 })
            }
            Call::Nowhere | Call::Method(_) => unreachable!("answered above"),
        }
    }

    fn fits(&self, from: u32, country: &str) -> bool {
        self.countries.of(from).is_none_or(|found| found == country)
    }

    /// The checks of contract 8.2.
    fn caller(&self, from: u32, ask: &Meaning) -> Result<&User, u16> {
        (ask.who.as_ref())
            .and_then(|login| self.users.get(login))
            .filter(|user| !self.blocked.contains(&user.login))
            .filter(|user| self.fits(from, &user.country))
            .ok_or(403)
    }

    fn admin(&self, from: u32, ask: &Meaning) -> Result<(), u16> {
        let user = self.caller(from, ask)?;
        if user.admin { Ok(()) } else { Err(403) }
    }

    fn auth(&self, from: u32, body: &Members) -> Result<Vec<u8>, u16> {
        let login = body.login.as_deref().unwrap_or("");
        let user = self.users.get(login).ok_or(403u16)?;
        let right = user.password == body.password.as_deref().unwrap_or("")
            && !self.blocked.contains(login)
            && self.fits(from, &user.country);
        if !right {
            return Err(403);
        }
        let nonce = body.nonce.as_deref().unwrap_or("");
        Ok(ok(&format!("\"{}\"", token::issued(login, nonce))))
    }

    fn put(&mut self, from: u32, body: &Members) -> Result<Vec<u8>, u16> {
        let user = User {
            login: body.login.clone().ok_or(400u16)?,
            password: body.password.clone().ok_or(400u16)?,
            name: body.name.clone().ok_or(400u16)?,
            phone: body.phone.clone().ok_or(400u16)?,
            country: body.country.clone().ok_or(400u16)?,
            admin: false,
        };
        if user.login.is_empty() {
            return Err(400);
        }
        if !self.fits(from, &user.country) {
            return Err(403);
        }
        if self.users.contains_key(&user.login) {
            return Err(409);
        }
        self.users.insert(user.login.clone(), user);
        Err(201)
    }

    fn patch(&mut self, login: &str, body: &Members) -> Result<Vec<u8>, u16> {
        let user = self.users.get_mut(login).ok_or(403u16)?;
        for (place, change) in [
            (&mut user.password, &body.password),
            (&mut user.name, &body.name),
            (&mut user.phone, &body.phone),
            (&mut user.country, &body.country),
        ] {
            if let Some(text) = change {
                place.clone_from(text);
            }
        }
        Err(202)
    }
}

/// The body of `GET /user`.
pub fn shown(user: &User) -> String {
    format!(
        "{{\"login\":{},\"name\":{},\"phone\":{},\"country\":{}{}}}",
        quote(&user.login),
        quote(&user.name),
        quote(&user.phone),
        quote(&user.country),
        if user.admin { ",\"is_admin\":true" } else { "" }
    )
}

/// The paths' `Allow`, in the words of [`Call::Method`].
pub const ALLOW: [&str; 3] = [allow::AUTH, allow::USER, allow::BLACKLIST];
