//! The endpoints: from a complete request to its response. Every endpoint first works out what depends on the request
//! alone, then looks at the tables once and decides in the order of the contract.

mod auth;
mod blacklist;
mod user;

use crate::http::target::Route;
use crate::http::{Ending, Method, address};
use crate::reply::{self, Status};
use crate::state::users::User;
use crate::state::{Access, State, Tables};
use crate::token::{self, mac::Signer};

/// A complete request, as far as anything after its framing needs it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The head; the spans of `route` lie in it.
    pub head: &'a [u8],
    /// The method.
    pub method: Method,
    /// What the path stands for.
    pub route: Route,
    /// The value of `X-Forwarded-For` if there was exactly one.
    pub address: Option<&'a [u8]>,
    /// The value of `X-API-Key` if there was exactly one.
    pub key: Option<&'a [u8]>,
    /// The whole body.
    pub body: &'a [u8],
    /// What becomes of the connection.
    pub ending: Ending,
}

/// What a worker answers requests with.
pub struct Service<'s> {
    state: &'s State,
    access: Access<'s>,
    signer: Signer,
    /// Room for the payload of a token.
    payload: Vec<u8>,
    /// Room for a body, whose length is needed before it.
    body: Vec<u8>,
}

impl<'s> Service<'s> {
    /// A service over the shared state.
    pub fn new(state: &'s State) -> Self {
        Self { state, access: Access::new(state), signer: Signer::new(), payload: Vec::new(), body: Vec::new() }
    }

    /// Does what `request` asks and appends the response to `out`.
    pub fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        match request.route {
            Route::Unknown => reply::empty(out, Status::NotFound, request.ending),
            route if !route.allows(request.method) => reply::not_allowed(out, route.allowed(), request.ending),
            route => {
                let outcome = match request.address.and_then(address::parse) {
                    None => Err(Status::Forbidden),
                    Some(address) => self.routed(request, route, address, out),
                };
                if let Err(status) = outcome {
                    reply::empty(out, status, request.ending);
                }
            }
        }
    }

    /// To be called before responses leave, and before more is read or waited for.
    pub fn batch_done(&mut self) {
        self.access.batch_done();
    }

    /// Writes a response with a body itself; one without is returned, be it good or bad news.
    fn routed(&mut self, request: &Request<'_>, route: Route, address: u32, out: &mut Vec<u8>) -> Result<(), Status> {
        let status = match (route, request.method) {
            (Route::Auth, _) => return self.log_in(request, address, out),
            (Route::User, Method::Get | Method::Head) => return self.show_user(request, address, out),
            (Route::User, Method::Put) => self.create_user(request, address)?,
            (Route::User, _) => self.change_user(request, address)?,
            (Route::BlockedUser { login }, _) => self.block_user(request, address, login.of(request.head))?,
            (Route::BlockedSubnet { ip, mask }, _) => {
                self.block_subnet(request, address, ip.of(request.head), mask.of(request.head))?
            }
            (Route::Unknown, _) => Status::NotFound,
        };
        Err(status)
    }
}

/// Refuses an address in a blocked subnet.
fn check_address(tables: &Tables, address: u32) -> Result<(), Status> {
    if tables.subnets.contain(address) { Err(Status::Forbidden) } else { Ok(()) }
}

/// The user of `login` if they exist, are not blocked, and may act from `address`.
fn acting_user<'t>(state: &State, tables: &'t Tables, login: Option<&str>, address: u32) -> Result<&'t User, Status> {
    let user = login.and_then(|login| tables.users.get(login)).ok_or(Status::Forbidden)?;
    if user.blocked || !state.country_fits(address, &user.account) { Err(Status::Forbidden) } else { Ok(user) }
}

/// The login that the request's token names.
fn bearer<'p>(signer: &Signer, request: &Request<'_>, payload: &'p mut Vec<u8>) -> Option<std::borrow::Cow<'p, str>> {
    token::verify(signer, request.key?, payload)
}
