//! What is checked of every request before it is routed: target, host, expectation, and the body, which is read to its
//! end. What hyper refuses by itself never comes here.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode, Uri, Version};
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use percent_encoding::percent_decode_str;

use crate::reply::{bare, broken};

/// Bytes of a body at most.
const LARGEST: usize = 65_536;
/// From the end of the head to the end of the body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// A body that ended before its end: there is nobody to answer.
#[derive(Debug)]
pub struct Unfinished(hyper::Error);

/// Checks the request, and passes it on with its body read.
pub async fn read(request: Request<Incoming>, router: TowerToHyperService<Router>) -> Result<Response, Unfinished> {
    let (parts, body) = request.into_parts();
    if let Some(status) = fault(&parts) {
        return Ok(broken(status));
    }
    let answer = match tokio::time::timeout(BODY_TIME, Limited::new(body, LARGEST).collect()).await {
        Err(_) => broken(StatusCode::REQUEST_TIMEOUT),
        Ok(Err(error)) => match error.downcast::<hyper::Error>() {
            Ok(error) if ended(&error) => return Err(Unfinished(*error)),
            Ok(_) => broken(StatusCode::BAD_REQUEST),
            Err(_) => broken(StatusCode::PAYLOAD_TOO_LARGE),
        },
        // The router would take an empty parameter for one.
        Ok(Ok(_)) if parts.uri.path().contains("//") => bare(StatusCode::NOT_FOUND),
        Ok(Ok(body)) => {
            let Ok(answer) = router.call(Request::from_parts(parts, Body::from(body.to_bytes()))).await;
            answer
        }
    };
    Ok(answer)
}

/// What is wrong with the head.
fn fault(head: &Parts) -> Option<StatusCode> {
    if !target(&head.uri) || !host(head.version, &head.headers) {
        Some(StatusCode::BAD_REQUEST)
    } else if !coding(&head.headers) {
        Some(StatusCode::NOT_IMPLEMENTED)
    } else if announced(&head.headers) > LARGEST {
        Some(StatusCode::PAYLOAD_TOO_LARGE)
    } else if head.version >= Version::HTTP_11 && !expectation(&head.headers) {
        Some(StatusCode::EXPECTATION_FAILED)
    } else {
        None
    }
}

/// Whether the input ended where more had to come.
fn ended(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Unfinished {}

/// A path, or an http(s) address, of printable ASCII, each `%` with its two digits.
fn target(uri: &Uri) -> bool {
    let form = match uri.scheme_str() {
        None => uri.authority().is_none() && uri.path().starts_with('/'),
        Some(scheme) => ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)),
    };
    let text = uri.path_and_query().map_or("/", |text| text.as_str());
    let escapes = uri
        .path()
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit));
    form && escapes && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn host(version: Version, fields: &HeaderMap) -> bool {
    let count = fields.get_all(HOST).iter().count();
    count == 1 || count == 0 && version < Version::HTTP_11
}

/// No coding, or the one that hyper undoes, once.
fn coding(fields: &HeaderMap) -> bool {
    let mut values = fields.get_all(TRANSFER_ENCODING).iter();
    let known = values.next().is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"chunked"));
    known && values.next().is_none()
}

/// The announced length; what is no number is hyper's to refuse.
fn announced(fields: &HeaderMap) -> usize {
    fields.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0)
}

/// No expectation, or the one there is.
fn expectation(fields: &HeaderMap) -> bool {
    let mut values = fields.get_all(EXPECT).iter();
    let known = values.next().is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    known && values.next().is_none()
}

/// A path's last segments, still as they were sent, decoded once. None if they are not UTF-8.
pub fn parameter(uri: &Uri, from_the_end: usize) -> Option<String> {
    let raw = uri.path().rsplit('/').nth(from_the_end)?;
    Some(percent_decode_str(raw).decode_utf8().ok()?.into_owned())
}
