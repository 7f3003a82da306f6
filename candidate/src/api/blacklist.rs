//! `/blacklist`: blocking of users and subnets by admins.

use super::{Request, Service, acting_user, bearer, check_address};
use crate::http::{Method, address, target};
use crate::reply::Status;

impl Service<'_> {
    pub(super) fn block_user(&mut self, request: &Request<'_>, address: u32, login: &[u8]) -> Result<Status, Status> {
        self.check_admin(request, address)?;
        let login = target::decode(login);
        let tables = self.access.alone();
        let user = std::str::from_utf8(&login).ok().and_then(|login| tables.users.get_mut(login));
        let user = user.ok_or(Status::NotFound)?;
        let block = request.method == Method::Put;
        match (block, user.blocked) {
            (true, true) => Err(Status::Conflict),
            (false, false) => Err(Status::NotFound),
            _ => {
                user.blocked = block;
                Ok(if block { Status::Created } else { Status::NoContent })
            }
        }
    }

    pub(super) fn block_subnet(
        &mut self,
        request: &Request<'_>,
        address: u32,
        ip: &[u8],
        mask: &[u8],
    ) -> Result<Status, Status> {
        self.check_admin(request, address)?;
        let ip = address::parse(&target::decode(ip));
        let length = address::prefix_length(&target::decode(mask));
        let (Some(ip), Some(length)) = (ip, length) else {
            return Err(Status::BadRequest);
        };
        let subnets = &mut self.access.alone().subnets;
        match request.method {
            Method::Put if subnets.insert(ip, length) => Ok(Status::Created),
            Method::Put => Err(Status::Conflict),
            _ if subnets.remove(ip, length) => Ok(Status::NoContent),
            _ => Err(Status::NotFound),
        }
    }

    /// Everything that comes before the parameters are looked at. Takes the tables alone, and keeps them: what was
    /// checked holds until the change is made.
    fn check_admin(&mut self, request: &Request<'_>, address: u32) -> Result<(), Status> {
        let login = bearer(&self.signer, request, &mut self.payload);
        let tables = self.access.alone();
        check_address(tables, address)?;
        if acting_user(self.state, tables, login.as_deref(), address)?.is_admin {
            Ok(())
        } else {
            Err(Status::Forbidden)
        }
    }
}
