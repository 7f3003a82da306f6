//! Users: who there is, and who of them is blocked.

use std::collections::HashMap;

use super::hash::TableState;
use crate::choices::UserBody;
use crate::json::escape;
use crate::tunables;

/// An account.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// In plain text, as the data has it.
    pub password: String,
    /// Full name.
    pub name: String,
    /// Telephone number.
    pub phone: String,
    /// The country the user acts from.
    pub country: String,
    /// The number of that country's name, if any address lies in it.
    pub country_number: Option<u32>,
    /// May block others.
    pub is_admin: bool,
    /// Is blocked.
    pub blocked: bool,
    /// The body of `GET /user`, where it is kept.
    pub(crate) body: Vec<u8>,
}

impl User {
    /// Appends the body of `GET /user` to `out`; `login` is this user's.
    pub fn append_body(&self, login: &str, out: &mut Vec<u8>) {
        match tunables::USER_BODY {
            UserBody::PerRequest => self.write_body(login, out),
            UserBody::Kept => out.extend_from_slice(&self.body),
        }
    }

    /// To be called whenever a field has changed.
    pub fn changed(&mut self, login: &str) {
        if tunables::USER_BODY == UserBody::Kept {
            let mut body = Vec::new();
            self.write_body(login, &mut body);
            self.body = body;
        }
    }

    fn write_body(&self, login: &str, out: &mut Vec<u8>) {
        let fields = [
            (&br#"{"login":""#[..], login),
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

/// All users by login.
#[derive(Default)]
pub struct Users(HashMap<String, User, TableState>);

impl Users {
    /// The user of that login.
    pub fn get(&self, login: &str) -> Option<&User> {
        self.0.get(login)
    }

    /// The user of that login, to be changed; call [`User::changed`] after it.
    pub fn get_mut(&mut self, login: &str) -> Option<&mut User> {
        self.0.get_mut(login)
    }

    /// Adds a user or puts one in the place of another.
    pub fn put(&mut self, login: String, mut user: User) {
        user.changed(&login);
        self.0.insert(login, user);
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
    fn a_body_follows_every_change_and_never_shows_the_password() {
        let user = User {
            password: "p5".into(),
            name: "a<b>&\"\\".into(),
            phone: "+5".into(),
            country: "Bonaire, Sint Eustatius, and Saba".into(),
            ..User::default()
        };
        let mut users = Users::default();
        users.put("J\u{f6}rg/1 %".into(), user);
        let body = |users: &Users| {
            let mut out = Vec::new();
            users.get("J\u{f6}rg/1 %").unwrap().append_body("J\u{f6}rg/1 %", &mut out);
            String::from_utf8(out).unwrap()
        };
        let expected = r#"{"login":"Jörg/1 %","name":"a\u003cb\u003e\u0026\"\\","phone":"+5","country":"Bonaire, Sint Eustatius, and Saba"}"#;
        assert_eq!(body(&users), expected);
        assert_eq!(expected.len(), 114);
        let user = users.get_mut("J\u{f6}rg/1 %").unwrap();
        user.phone.clear();
        user.is_admin = true;
        user.changed("J\u{f6}rg/1 %");
        assert!(body(&users).ends_with(r#""phone":"","country":"Bonaire, Sint Eustatius, and Saba","is_admin":true}"#));
    }
}
