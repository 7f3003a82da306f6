//! Answers, with the fields in the contract's order. `Content-Length` is set by hand so that it stays before what hyper adds.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::{ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use hyper::ext::ReasonPhrase;
use serde::Serialize;

use crate::json;

/// 200 with JSON.
pub fn ok(value: &impl Serialize) -> Response {
    let body = json::text(value);
    let fields = [(CONTENT_TYPE, HeaderValue::from_static("application/json")), (CONTENT_LENGTH, body.len().into())];
    (fields, Body::from(body)).into_response()
}

/// A status without a body.
pub fn bare(status: StatusCode) -> Response {
    match status {
        StatusCode::NO_CONTENT => status.into_response(),
        _ => (status, [(CONTENT_LENGTH, "0")], Body::new(Nothing)).into_response(),
    }
}

/// The path has other methods.
pub fn other_method(allow: &'static str) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(CONTENT_LENGTH, "0"), (ALLOW, allow)], Body::new(Nothing)).into_response()
}

/// A request that cannot be read, after which the connection is of no use.
pub fn broken(status: StatusCode) -> Response {
    let fields = [(CONTENT_LENGTH, "0"), (CONNECTION, "close")];
    let mut response = (status, fields, Body::new(Nothing)).into_response();
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        response.extensions_mut().insert(ReasonPhrase::from_static(b"Content Too Large"));
    }
    response
}

/// A body of no bytes that does not say beforehand that it has ended: of one that does, hyper writes the length last.
struct Nothing;

impl hyper::body::Body for Nothing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}
