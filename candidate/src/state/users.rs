//! Users: who there is, and who of them is blocked.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::hash::TableState;
use crate::choices::UserBody;
use crate::json::escape;
use crate::tunables;

/// What belongs to a login. It never changes; a changed user has another one.
#[derive(Debug, Default)]
pub struct Account {
    /// The login.
    pub login: Box<str>,
    /// In plain text, as the data has it.
    pub password: Box<str>,
    /// Full name.
    pub name: Box<str>,
    /// Telephone number.
    pub phone: Box<str>,
    /// The country the user acts from.
    pub country: Box<str>,
    /// The number of that country's name, if any address lies in it.
    pub country_number: Option<u32>,
    /// May block others.
    pub is_admin: bool,
    /// The body of `GET /user`, where it is kept.
    pub(crate) body: Box<[u8]>,
}

impl Account {
    /// The body of `GET /user`; `scratch` is room for it.
    pub fn body<'b>(&'b self, scratch: &'b mut Vec<u8>) -> &'b [u8] {
        match tunables::USER_BODY {
            UserBody::PerRequest => {
                scratch.clear();
                self.write_body(scratch);
                scratch
            }
            UserBody::Kept => &self.body,
        }
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        let fields = [
            (&br#"{"login":""#[..], &self.login),
            (br#"","name":""#, &self.name),
            (br#"","phone":""#, &self.phone),
            (br#"","country":""#, &self.country),
        ];
        for (before, value) in fields {
            out.extend_from_slice(before);
            escape::append(out, value);
        }
        out.extend_from_slice(if self.is_admin { br#"","is_admin":true}"# } else { br#""}"# });
    }
}

/// A user. A clone shares the account.
#[derive(Clone, Debug)]
pub struct User {
    /// What they have stored here.
    pub account: Arc<Account>,
    /// Is blocked.
    pub blocked: bool,
}

impl User {
    /// A user with this account.
    pub fn new(mut account: Account, blocked: bool) -> Self {
        if tunables::USER_BODY == UserBody::Kept {
            let mut body = Vec::new();
            account.write_body(&mut body);
            account.body = body.into();
        }
        Self { account: Arc::new(account), blocked }
    }
}

/// A user as the table sees them: by their login.
#[derive(Clone)]
struct ByLogin(User);

impl Borrow<str> for ByLogin {
    fn borrow(&self) -> &str {
        &self.0.account.login
    }
}

impl PartialEq for ByLogin {
    fn eq(&self, other: &Self) -> bool {
        self.0.account.login == other.0.account.login
    }
}

impl Eq for ByLogin {}

impl Hash for ByLogin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.account.login.hash(state);
    }
}

/// All users by login.
#[derive(Clone, Default)]
pub struct Users(HashSet<ByLogin, TableState>);

impl Users {
    /// The user of that login.
    pub fn get(&self, login: &str) -> Option<&User> {
        self.0.get(login).map(|user| &user.0)
    }

    /// Adds a user or puts them in the place of the one who has their login.
    pub fn put(&mut self, user: User) {
        self.0.replace(ByLogin(user));
    }

    /// Makes room for that many more.
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_that_of_the_account_and_never_shows_the_password() {
        let account = |phone: &str, is_admin| Account {
            login: "J\u{f6}rg/1 %".into(),
            password: "p5".into(),
            name: "a<b>&\"\\".into(),
            phone: phone.into(),
            country: "Bonaire, Sint Eustatius, and Saba".into(),
            is_admin,
            ..Account::default()
        };
        let mut users = Users::default();
        users.put(User::new(account("+5", false), false));
        let body = |users: &Users| {
            let mut out = Vec::new();
            out.extend_from_slice(users.get("J\u{f6}rg/1 %").unwrap().account.body(&mut Vec::new()));
            String::from_utf8(out).unwrap()
        };
        let expected = r#"{"login":"Jörg/1 %","name":"a\u003cb\u003e\u0026\"\\","phone":"+5","country":"Bonaire, Sint Eustatius, and Saba"}"#;
        assert_eq!(body(&users), expected);
        assert_eq!(expected.len(), 114);
        users.put(User::new(account("", true), false));
        assert!(body(&users).ends_with(r#""phone":"","country":"Bonaire, Sint Eustatius, and Saba","is_admin":true}"#));
        assert_eq!(users.len(), 1);
    }
}
