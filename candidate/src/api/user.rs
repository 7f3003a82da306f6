//! `/user`: reading, creating and changing an account.

use super::{Request, Service, acting_user, bearer, check_address};
use crate::http::Method;
use crate::json::{self, Kind, Member, NotThatObject};
use crate::reply::{self, Status};
use crate::state::users::User;
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
        self.body.clear();
        user.append_body(login.as_deref().unwrap_or_default(), &mut self.body);
        reply::json_head(out, self.body.len(), request.ending);
        if request.method != Method::Head {
            out.extend_from_slice(&self.body);
        }
        Ok(())
    }

    pub(super) fn create_user(&mut self, request: &Request<'_>, address: u32) -> Result<Status, Status> {
        let new = new_user(request.body);
        let tables = self.access.alone();
        check_address(tables, address)?;
        let (login, mut user) = new?;
        user.country_number = self.state.countries.number(&user.country);
        if !self.state.country_fits(address, &user) {
            return Err(Status::Forbidden);
        }
        if tables.users.get(&login).is_some() {
            return Err(Status::Conflict);
        }
        tables.users.put(login, user);
        Ok(Status::Created)
    }

    pub(super) fn change_user(&mut self, request: &Request<'_>, address: u32) -> Result<Status, Status> {
        let login = bearer(&self.signer, request, &mut self.payload);
        let members = json::read(tunables::BODY_JSON, request.body, &CHANGED);
        let tables = self.access.alone();
        check_address(tables, address)?;
        acting_user(self.state, tables, login.as_deref(), address)?;
        let [password, name, phone, country] = members.map_err(|NotThatObject| Status::BadRequest)?;
        let login = login.as_deref().unwrap_or_default();
        let user = tables.users.get_mut(login).ok_or(Status::Forbidden)?;
        let set = |field: &mut String, member: Member<'_>| {
            if let Some(text) = member.into_text() {
                *field = text.into_owned();
            }
        };
        set(&mut user.password, password);
        set(&mut user.name, name);
        set(&mut user.phone, phone);
        set(&mut user.country, country);
        user.country_number = self.state.countries.number(&user.country);
        user.changed(login);
        Ok(Status::Accepted)
    }
}

/// Login and account that a body describes; all five members are needed.
fn new_user(body: &[u8]) -> Result<(String, User), Status> {
    let members = json::read(tunables::BODY_JSON, body, &CREATED).map_err(|NotThatObject| Status::BadRequest)?;
    let [login, password, name, phone, country] = members.map(Member::into_text);
    let text = |member: Option<std::borrow::Cow<'_, str>>| Some(member?.into_owned());
    let user = || {
        let login = text(login).filter(|login| !login.is_empty())?;
        let user = User {
            password: text(password)?,
            name: text(name)?,
            phone: text(phone)?,
            country: text(country)?,
            ..User::default()
        };
        Some((login, user))
    };
    user().ok_or(Status::BadRequest)
}
