//! The routes and what they do, section 8 of the contract. Extractors come in the order in which they may refuse.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as With;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::{delete, get, post};
use ipnet::Ipv4Net;
use serde::Serialize;

use crate::Failure;
use crate::client::{Admin, Caller, Client};
use crate::json::Object;
use crate::reply::{bare, ok, other_method};
use crate::requests::parameter;
use crate::state::{State, User, network};
use crate::token;

/// The whole application.
pub fn router(state: State) -> Router {
    Router::new()
        .route("/auth", post(log_in).fallback(|| async { other_method("POST") }))
        .route(
            "/user",
            get(show).put(create).patch(change).fallback(|| async { other_method("GET, HEAD, PATCH, PUT") }),
        )
        .route(
            "/blacklist/subnet/{ip}/{mask}",
            delete(open).put(shut).fallback(|| async { other_method("DELETE, PUT") }),
        )
        .route("/blacklist/user/{login}", delete(unblock).put(block).fallback(|| async { other_method("DELETE, PUT") }))
        .fallback(|| async { bare(StatusCode::NOT_FOUND) })
        .with_state(state)
}

/// An answer, or the status that stands for it.
type Answer = Result<Response, StatusCode>;

fn answer(answer: Answer) -> Response {
    answer.unwrap_or_else(bare)
}

fn bad(_: Failure) -> StatusCode {
    StatusCode::BAD_REQUEST
}

async fn log_in(With(state): With<State>, Client(address): Client, body: Bytes) -> Response {
    let answer_to = |body: &[u8]| -> Answer {
        let body = Object::parse(body).map_err(bad)?;
        let text = |name| body.text(name).map(Option::unwrap_or_default).map_err(bad);
        let (login, password, nonce) = (text("login")?, text("password")?, text("nonce")?);
        let tables = state.read();
        let user = tables.active(&login).filter(|user| user.password == password && state.fits(address, &user.country));
        user.map(|user| ok(&token::issue(&user.login, &nonce))).ok_or(StatusCode::FORBIDDEN)
    };
    answer(answer_to(&body))
}

#[derive(Serialize)]
struct Shown<'a> {
    login: &'a str,
    name: &'a str,
    phone: &'a str,
    country: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_admin: bool,
}

async fn show(Caller(user): Caller) -> Response {
    let User { login, name, phone, country, admin, .. } = &user;
    ok(&Shown { login, name, phone, country, is_admin: *admin })
}

async fn create(With(state): With<State>, Client(address): Client, body: Bytes) -> Response {
    let answer_to = |body: &[u8]| -> Answer {
        let body = Object::parse(body).map_err(bad)?;
        let text = |name| body.text(name).map_err(bad)?.ok_or(StatusCode::BAD_REQUEST);
        let user = User {
            login: text("login")?,
            password: text("password")?,
            name: text("name")?,
            phone: text("phone")?,
            country: text("country")?,
            admin: false,
        };
        if user.login.is_empty() {
            return Err(StatusCode::BAD_REQUEST);
        }
        if !state.fits(address, &user.country) {
            return Err(StatusCode::FORBIDDEN);
        }
        let users = &mut state.write().users;
        if users.contains_key(&user.login) {
            return Err(StatusCode::CONFLICT);
        }
        users.insert(user.login.clone(), user);
        Ok(bare(StatusCode::CREATED))
    };
    answer(answer_to(&body))
}

async fn change(With(state): With<State>, Caller(user): Caller, body: Bytes) -> Response {
    let answer_to = |body: &[u8]| -> Answer {
        let body = Object::parse(body).map_err(bad)?;
        let text = |name| body.text(name).map_err(bad);
        let (password, name, phone, country) = (text("password")?, text("name")?, text("phone")?, text("country")?);
        let tables = &mut state.write();
        let user = tables.users.get_mut(&user.login).ok_or(StatusCode::FORBIDDEN)?;
        let places = [&mut user.password, &mut user.name, &mut user.phone, &mut user.country];
        for (place, value) in places.into_iter().zip([password, name, phone, country]) {
            if let Some(value) = value {
                *place = value;
            }
        }
        Ok(bare(StatusCode::ACCEPTED))
    };
    answer(answer_to(&body))
}

/// The status of a change that was or was not one.
fn changed(done: bool, done_is: StatusCode, else_is: StatusCode) -> Response {
    bare(if done { done_is } else { else_is })
}

async fn block(With(state): With<State>, _: Admin, uri: Uri) -> Response {
    let mut tables = state.write();
    match parameter(&uri, 0).filter(|login| tables.users.contains_key(login)) {
        Some(login) => changed(tables.blocked_users.insert(login), StatusCode::CREATED, StatusCode::CONFLICT),
        None => bare(StatusCode::NOT_FOUND),
    }
}

async fn unblock(With(state): With<State>, _: Admin, uri: Uri) -> Response {
    let blocked = parameter(&uri, 0).is_some_and(|login| state.write().blocked_users.remove(&login));
    changed(blocked, StatusCode::NO_CONTENT, StatusCode::NOT_FOUND)
}

async fn shut(With(state): With<State>, _: Admin, uri: Uri) -> Response {
    let Some(network) = subnet(&uri) else { return bare(StatusCode::BAD_REQUEST) };
    let new = state.write().blocked_subnets.insert(network, ()).is_none();
    changed(new, StatusCode::CREATED, StatusCode::CONFLICT)
}

async fn open(With(state): With<State>, _: Admin, uri: Uri) -> Response {
    let Some(network) = subnet(&uri) else { return bare(StatusCode::BAD_REQUEST) };
    let shut = state.write().blocked_subnets.remove(&network).is_some();
    changed(shut, StatusCode::NO_CONTENT, StatusCode::NOT_FOUND)
}

/// The network of the path.
fn subnet(uri: &Uri) -> Option<Ipv4Net> {
    network(&parameter(uri, 1)?, &parameter(uri, 0)?)
}
