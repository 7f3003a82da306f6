//! Single requests of each kind: their meaning, and the pieces of their text. Chains are in `chains.rs`.

use super::ask::Ask;
use super::broken::Breaker;
use super::pool::Pool;
use super::singles::BAD_ADDRESSES;
use super::tokens::Tokens;
use super::wire::parameter;
use crate::chance::{Chance, Deck};
use crate::dataset::{DataSet, LOGIN_LENGTHS, Texts, User};
use crate::model::{Call, Meaning, Members};
use crate::spell::{Speller, Value};
use crate::workload::Kind;
use std::collections::HashSet;
use std::net::Ipv4Addr;

/// Draws requests. Variations of a kind come in fixed proportions, so that seeds differ in values, not in work.
#[derive(Debug)]
pub struct Draw {
    /// The randomness of everything drawn.
    pub chance: Chance,
    /// Users and addresses.
    pub pool: Pool,
    /// Tokens.
    pub tokens: Tokens,
    pub(super) speller: Speller,
    pub(super) breaker: Breaker,
    taken: HashSet<String>,
    logins: Texts,
    texts: Texts,
    pub(super) variants: Deck<u8>,
    pub(super) bad_addresses: Deck<usize>,
}

/// Who sends a request: the address fields, what they mean, the token fields, whom they prove.
#[derive(Debug, Clone, Default)]
pub struct Sender {
    pub(super) addresses: Vec<String>,
    pub(super) from: Option<u32>,
    keys: Vec<String>,
    who: Option<String>,
}

impl Sender {
    /// From one address, without a token.
    pub fn at(address: u32) -> Sender {
        Sender { addresses: vec![Ipv4Addr::from(address).to_string()], from: Some(address), ..Sender::default() }
    }

    /// Puts token fields in that prove nobody.
    pub fn with_bad(mut self, keys: Vec<String>) -> Sender {
        self.keys = keys;
        self
    }

    /// Puts a good token of `login` in.
    pub fn proving(mut self, draw: &mut Draw, login: &str) -> Sender {
        self.keys = vec![draw.tokens.good(&mut draw.chance, login)];
        self.who = Some(login.to_string());
        self
    }
}

impl Draw {
    /// A drawer for a plan on this data.
    pub fn new(seed: u64, data: &DataSet) -> Draw {
        let mut chance = Chance::new(seed, "plan");
        Draw {
            pool: Pool::new(&mut chance, data),
            tokens: Tokens::default(),
            speller: Speller::default(),
            breaker: Breaker::default(),
            taken: data.users.iter().map(|user| user.login.clone()).collect(),
            logins: Texts::new(LOGIN_LENGTHS, 8),
            texts: Texts::new([5, 6, 8, 10, 12, 16], 6),
            variants: Deck::new((0..60).collect::<Vec<_>>()),
            bad_addresses: Deck::new((0..BAD_ADDRESSES.len() + 3).collect::<Vec<_>>()),
            chance,
        }
    }

    /// A login nobody has or had.
    pub fn new_login(&mut self) -> String {
        loop {
            let login = self.logins.next(&mut self.chance);
            if self.taken.insert(login.clone()) {
                return login;
            }
        }
    }

    /// Any text for a password, name or phone.
    pub fn text(&mut self) -> String {
        self.texts.next(&mut self.chance)
    }

    /// An address from which that user may ask.
    pub fn home(&mut self, user: &User) -> u32 {
        self.pool.inside(&mut self.chance, &user.country)
    }

    /// An address in another country.
    pub fn abroad(&mut self, country: &str) -> u32 {
        let other = self.pool.other(&mut self.chance, country);
        self.pool.inside(&mut self.chance, &other)
    }

    /// A request on `/user` without a body.
    pub fn get(&mut self, kind: Kind, method: &str, sender: Sender) -> Ask {
        let call = if method == "HEAD" { Call::Head } else { Call::Get };
        ask(kind, call, method, "/user", sender, None)
    }

    /// POST /auth with these members.
    pub fn auth(&mut self, kind: Kind, address: u32, login: &str, password: Option<&str>) -> Ask {
        let nonce = self.tokens.nonce(&mut self.chance);
        let mut members = vec![("login", Value::Text(login.into()))];
        members.extend(password.map(|text| ("password", Value::Text(text.into()))));
        members.push(("nonce", Value::Text(nonce.clone())));
        let body = self.speller.object(&mut self.chance, &members, true);
        let meaning = Members {
            login: Some(login.into()),
            password: password.map(str::to_string),
            nonce: Some(nonce),
            ..Members::default()
        };
        ask(kind, Call::Auth(Some(meaning)), "POST", "/auth", Sender::at(address), Some(body.into_bytes()))
    }

    /// PUT or PATCH /user with these members.
    pub fn write(&mut self, kind: Kind, method: &str, sender: Sender, members: &Members) -> Ask {
        let named = [
            ("login", &members.login),
            ("password", &members.password),
            ("name", &members.name),
            ("phone", &members.phone),
            ("country", &members.country),
        ];
        let values: Vec<_> =
            (named.into_iter()).filter_map(|(key, text)| Some((key, Value::Text(text.clone()?)))).collect();
        let body = self.speller.object(&mut self.chance, &values, true);
        let meaning = Some(members.clone());
        let call = if method == "PUT" { Call::Put(meaning) } else { Call::Patch(meaning) };
        ask(kind, call, method, "/user", sender, Some(body.into_bytes()))
    }

    /// A blacklist call about a user.
    pub fn about_user(&mut self, kind: Kind, put: bool, sender: Sender, login: &str) -> Ask {
        let path = format!("/blacklist/user/{}", parameter(&mut self.chance, login));
        let (method, call) = match put {
            true => ("PUT", Call::Block(login.into())),
            false => ("DELETE", Call::Unblock(login.into())),
        };
        ask(kind, call, method, &path, sender, None)
    }

    /// A blacklist call about a subnet.
    pub fn about_subnet(&mut self, kind: Kind, put: bool, sender: Sender, subnet: (u32, u8)) -> Ask {
        let path = format!("/blacklist/subnet/{}/{}", Ipv4Addr::from(subnet.0), subnet.1);
        let (method, call) = match put {
            true => ("PUT", Call::Shut(Some(subnet))),
            false => ("DELETE", Call::Open(Some(subnet))),
        };
        ask(kind, call, method, &path, sender, None)
    }

    /// A sender with a good token of an admin, from where the admin may ask.
    pub fn as_admin(&mut self) -> Sender {
        let admin = self.pool.admin(&mut self.chance);
        let home = self.home(&admin);
        Sender::at(home).proving(self, &admin.login)
    }

    /// All five members for a new user of that country.
    pub fn newcomer(&mut self, login: String, country: String) -> Members {
        Members {
            login: Some(login),
            password: Some(self.text()),
            name: Some(self.text()),
            phone: Some(self.text()),
            country: Some(country),
            nonce: None,
        }
    }
}

/// A request from its pieces.
pub fn ask(kind: Kind, call: Call, method: &str, path: &str, sender: Sender, body: Option<Vec<u8>>) -> Ask {
    Ask {
        kind,
        meaning: Meaning { call, from: sender.from, who: sender.who },
        method: method.into(),
        path: path.into(),
        addresses: sender.addresses,
        keys: sender.keys,
        body,
    }
}
