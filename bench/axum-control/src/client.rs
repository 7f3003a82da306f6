//! Extractors: who asks, and from where. Each refuses with the contract's 403.

use std::net::Ipv4Addr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::reply::bare;
use crate::state::{State, User};
use crate::token;

/// The address a request comes from, in no blocked subnet.
#[derive(Clone, Copy, Debug)]
pub struct Client(pub Ipv4Addr);

/// The user a request comes from, with a good token, from where he may ask.
#[derive(Clone, Debug)]
pub struct Caller(pub User);

/// A caller who may change the black lists.
#[derive(Clone, Debug)]
pub struct Admin;

/// The value of a field that is there exactly once, trimmed.
fn only<'a>(fields: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = fields.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

impl FromRequestParts<State> for Client {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Client, Response> {
        let address = only(&parts.headers, "x-forwarded-for").and_then(|text| text.parse().ok());
        let free = address.filter(|address| !state.read().shut(*address));
        free.map(Client).ok_or_else(|| bare(StatusCode::FORBIDDEN))
    }
}

impl FromRequestParts<State> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Caller, Response> {
        let Client(address) = Client::from_request_parts(parts, state).await?;
        let login = only(&parts.headers, "x-api-key").and_then(token::login);
        let user = login.and_then(|login| state.read().active(&login).cloned());
        let fitting = user.filter(|user| state.fits(address, &user.country));
        fitting.map(Caller).ok_or_else(|| bare(StatusCode::FORBIDDEN))
    }
}

impl FromRequestParts<State> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Admin, Response> {
        let Caller(user) = Caller::from_request_parts(parts, state).await?;
        if user.admin { Ok(Admin) } else { Err(bare(StatusCode::FORBIDDEN)) }
    }
}
