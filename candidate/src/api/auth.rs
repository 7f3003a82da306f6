//! `POST /auth`: a token for a login and its password.

use super::{Request, Service, acting_user, check_address};
use crate::http::Method;
use crate::json::{self, Kind, Member, NotThatObject};
use crate::reply::{self, Status};
use crate::token;
use crate::tunables;

const WANTED: [(&str, Kind); 3] = [("login", Kind::Text), ("password", Kind::Text), ("nonce", Kind::Text)];

impl Service<'_> {
    pub(super) fn log_in(&mut self, request: &Request<'_>, address: u32, out: &mut Vec<u8>) -> Result<(), Status> {
        debug_assert_eq!(request.method, Method::Post);
        let members = json::read(tunables::BODY_JSON, request.body, &WANTED);
        let tables = self.access.shared();
        check_address(tables, address)?;
        let members: [Member<'_>; 3] = members.map_err(|NotThatObject| Status::BadRequest)?;
        let [login, password, nonce] = members.each_ref().map(|member| member.text().unwrap_or_default());
        let user = acting_user(self.state, tables, Some(login), address)?;
        if *user.account.password != *password {
            return Err(Status::Forbidden);
        }
        self.body.clear();
        self.body.push(b'"');
        token::issue(&self.signer, login, nonce, &mut self.payload, &mut self.body);
        self.body.push(b'"');
        reply::json_head(out, self.body.len(), request.ending);
        out.extend_from_slice(&self.body);
        Ok(())
    }
}
