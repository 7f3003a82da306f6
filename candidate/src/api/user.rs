//! `/user`: reading, creating and changing an account.

use super::{Request, Service, acting_user, bearer, check_address};
use crate::http::Method;
use crate::json::{self, Kind, Member, NotThatObject};
use crate::reply::{self, Status};
use crate::state::Change;
use crate::state::users::{Account, User};
use crate::tunables;

const CREATED: [(&str, Kind); 5] = [
    ("login", Kind::Text),
    ("password", Kind::Text),
    ("name", Kind::Text),
    ("phone", Kind::Text),
    ("country", Kind::Text),
];
const CHANGED: [(&str, Kind); 4] =
    [("password", Kind::Text), ("name", Kind::Text), ("phone", Kind::Text), ("country", Kind::Text)];

impl Service<'_> {
    pub(super) fn show_user(&mut self, request: &Request<'_>, address: u32, out: &mut Vec<u8>) -> Result<(), Status> {
        let login = bearer(&self.signer, request, &mut self.payload);
        let tables = self.access.shared();
        check_address(tables, address)?;
        let user = acting_user(self.state, tables, login.as_deref(), address)?;
        let body = user.account.body(&mut self.body);
        reply::json_head(out, body.len(), request.ending);
        if request.method != Method::Head {
            out.extend_from_slice(body);
        }
        Ok(())
    }

    pub(super) fn create_user(&mut self, request: &Request<'_>, address: u32) -> Result<Status, Status> {
        let new = new_account(request.body);
        let mut alone = self.access.alone();
        check_address(alone.tables(), address)?;
        let mut account = new?;
        account.country_number = self.state.countries.number(&account.country);
        if !self.state.country_fits(address, &account) {
            return Err(Status::Forbidden);
        }
        if alone.tables().users.get(&account.login).is_some() {
            return Err(Status::Conflict);
        }
        alone.make(Change::User(User::new(account, false)));
        Ok(Status::Created)
    }

    pub(super) fn change_user(&mut self, request: &Request<'_>, address: u32) -> Result<Status, Status> {
        let login = bearer(&self.signer, request, &mut self.payload);
        let members = json::read(tunables::BODY_JSON, request.body, &CHANGED);
        let mut alone = self.access.alone();
        check_address(alone.tables(), address)?;
        let user = acting_user(self.state, alone.tables(), login.as_deref(), address)?;
        let [password, name, phone, country] = members.map_err(|NotThatObject| Status::BadRequest)?;
        let before = &user.account;
        let given = |member: Member<'_>, before: &str| member.into_text().map_or_else(|| before.into(), Box::from);
        let country: Box<str> = given(country, &before.country);
        let after = Account {
            login: before.login.clone(),
            password: given(password, &before.password),
            name: given(name, &before.name),
            phone: given(phone, &before.phone),
            country_number: self.state.countries.number(&country),
            country,
            is_admin: before.is_admin,
            ..Account::default()
        };
        let user = User::new(after, user.blocked);
        alone.make(Change::User(user));
        Ok(Status::Accepted)
    }
}

/// The account that a body describes; all five members are needed.
fn new_account(body: &[u8]) -> Result<Account, Status> {
    let members = json::read(tunables::BODY_JSON, body, &CREATED).map_err(|NotThatObject| Status::BadRequest)?;
    let [login, password, name, phone, country] = members.map(|member| member.into_text().map(Box::<str>::from));
    let account = || {
        Some(Account {
            login: login.filter(|login| !login.is_empty())?,
            password: password?,
            name: name?,
            phone: phone?,
            country: country?,
            ..Account::default()
        })
    };
    account().ok_or(Status::BadRequest)
}
