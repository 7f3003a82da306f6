//! `/blacklist`: blocking of users and subnets by admins.

use super::{Request, Service, acting_user, bearer, check_address};
use crate::http::{Method, address, target};
use crate::reply::Status;
use crate::state::users::User;
use crate::state::{Alone, Change};

impl<'s> Service<'s> {
    pub(super) fn block_user(&mut self, request: &Request<'_>, address: u32, login: &[u8]) -> Result<Status, Status> {
        let mut alone = self.check_admin(request, address)?;
        let login = target::decode(login);
        let user = std::str::from_utf8(&login).ok().and_then(|login| alone.tables().users.get(login));
        let user = user.ok_or(Status::NotFound)?;
        let block = request.method == Method::Put;
        if user.blocked == block {
            return Err(if block { Status::Conflict } else { Status::NotFound });
        }
        let user = User { blocked: block, ..user.clone() };
        alone.make(Change::User(user));
        Ok(if block { Status::Created } else { Status::NoContent })
    }

    pub(super) fn block_subnet(
        &mut self,
        request: &Request<'_>,
        address: u32,
        ip: &[u8],
        mask: &[u8],
    ) -> Result<Status, Status> {
        let mut alone = self.check_admin(request, address)?;
        let address = address::parse(&target::decode(ip));
        let length = address::prefix_length(&target::decode(mask));
        let (Some(address), Some(length)) = (address, length) else {
            return Err(Status::BadRequest);
        };
        let block = request.method == Method::Put;
        if alone.tables().subnets.has(address, length) == block {
            return Err(if block { Status::Conflict } else { Status::NotFound });
        }
        alone.make(Change::Subnet { address, length, blocked: block });
        Ok(if block { Status::Created } else { Status::NoContent })
    }

    /// Everything that comes before the parameters are looked at. What was checked holds until the result is dropped.
    fn check_admin(&mut self, request: &Request<'_>, address: u32) -> Result<Alone<'s>, Status> {
        let login = bearer(&self.signer, request, &mut self.payload);
        let alone = self.access.alone();
        check_address(alone.tables(), address)?;
        if acting_user(self.state, alone.tables(), login.as_deref(), address)?.account.is_admin {
            Ok(alone)
        } else {
            Err(Status::Forbidden)
        }
    }
}
