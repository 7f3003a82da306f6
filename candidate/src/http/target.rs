//! The target of a request: its form, its path, and the route that path stands for.
//! Parameters stay encoded here; [`decode`] turns one into its text.

use std::borrow::Cow;

use super::{Fault, Method, Span};
use crate::choices::Routing;
use crate::tunables;

/// What a path stands for. Spans lie in the same bytes as the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/auth`
    Auth,
    /// `/user`
    User,
    /// `/blacklist/subnet/{ip}/{mask}`
    BlockedSubnet {
        /// The address, encoded.
        ip: Span,
        /// The prefix length, encoded.
        mask: Span,
    },
    /// `/blacklist/user/{login}`
    BlockedUser {
        /// The login, encoded.
        login: Span,
    },
    /// Anything else.
    Unknown,
}

impl Route {
    /// The methods this route has, as the `Allow` field lists them.
    pub fn allowed(self) -> &'static str {
        match self {
            Self::Auth => "POST",
            Self::User => "GET, HEAD, PATCH, PUT",
            Self::BlockedSubnet { .. } | Self::BlockedUser { .. } => "DELETE, PUT",
            Self::Unknown => "",
        }
    }

    /// Whether `method` is among them.
    pub fn allows(self, method: Method) -> bool {
        match self {
            Self::Auth => method == Method::Post,
            Self::User => matches!(method, Method::Get | Method::Head | Method::Patch | Method::Put),
            Self::BlockedSubnet { .. } | Self::BlockedUser { .. } => matches!(method, Method::Delete | Method::Put),
            Self::Unknown => false,
        }
    }
}

/// Finds the route of the target that lies at `target` in `bytes`.
pub fn route(bytes: &[u8], target: Span) -> Result<Route, Fault> {
    route_by(tunables::ROUTING, bytes, target)
}

/// The same in a way of one's choice.
pub fn route_by(routing: Routing, bytes: &[u8], target: Span) -> Result<Route, Fault> {
    let text = target.of(bytes);
    if routing == Routing::WholeFirst {
        match text {
            b"/user" => return Ok(Route::User),
            b"/auth" => return Ok(Route::Auth),
            _ => {}
        }
    }
    if !text.iter().all(|byte| matches!(byte, 0x21..=0x7e) && *byte != b'#') {
        return Err(Fault::BadRequest);
    }
    let path = path(text)?;
    let path = &path[..memchr::memchr(b'?', path).unwrap_or(path.len())];
    if !escapes_are_whole(path) {
        return Err(Fault::BadRequest);
    }
    // No route has more than five; a sixth shows that there are more.
    let (mut segments, mut count) = ([&path[..0]; 6], 0);
    for (place, segment) in segments.iter_mut().zip(path.split(|byte| *byte == b'/')) {
        *place = segment;
        count += 1;
    }
    let span = |part| Span::within(bytes, part);
    Ok(match &segments[..count] {
        [b"", b"auth"] => Route::Auth,
        [b"", b"user"] => Route::User,
        [b"", b"blacklist", b"user", login] if !login.is_empty() => Route::BlockedUser { login: span(login) },
        [b"", b"blacklist", b"subnet", ip, mask] if !ip.is_empty() && !mask.is_empty() => {
            Route::BlockedSubnet { ip: span(ip), mask: span(mask) }
        }
        _ => Route::Unknown,
    })
}

/// The path and query of an origin-form or absolute-form target.
fn path(text: &[u8]) -> Result<&[u8], Fault> {
    if text.first() == Some(&b'/') {
        return Ok(text);
    }
    let after_scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find(|scheme| text.len() >= scheme.len() && text[..scheme.len()].eq_ignore_ascii_case(scheme))
        .map(|scheme| &text[scheme.len()..])
        .ok_or(Fault::BadRequest)?;
    match after_scheme.iter().position(|byte| matches!(byte, b'/' | b'?')) {
        Some(0) => Err(Fault::BadRequest),
        Some(end) => Ok(&after_scheme[end..]),
        None if after_scheme.is_empty() => Err(Fault::BadRequest),
        None => Ok(b""),
    }
}

fn escapes_are_whole(path: &[u8]) -> bool {
    memchr::memchr_iter(b'%', path)
        .all(|at| path.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}

/// The text of a parameter: `%HH` decoded once, nothing else. The escapes must be whole, as [`route`] made sure.
pub fn decode(parameter: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'%', parameter) else {
        return Cow::Borrowed(parameter);
    };
    let mut text = parameter[..first].to_vec();
    let mut rest = parameter[first..].iter();
    while let Some(byte) = rest.next() {
        let pair = (*byte == b'%').then(|| (rest.next().and_then(hex), rest.next().and_then(hex)));
        text.push(match pair {
            Some((Some(high), Some(low))) => high << 4 | low,
            _ => *byte,
        });
    }
    Cow::Owned(text)
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Route, Fault> {
        route(text.as_bytes(), Span::new(0, text.len()))
    }

    #[test]
    fn known_paths_have_their_routes_in_both_forms() {
        assert_eq!(of("/auth"), Ok(Route::Auth));
        assert_eq!(of("/user?x=%"), Ok(Route::User));
        assert_eq!(of("HTTPS://h:1/user"), Ok(Route::User));
        assert_eq!(of("/blacklist/user/a%2fb"), Ok(Route::BlockedUser { login: Span::new(16, 21) }));
        let text = "http://h/blacklist/subnet/1.2.3.4/8?q";
        let Ok(Route::BlockedSubnet { ip, mask }) = of(text) else { panic!("no subnet") };
        assert_eq!((ip.of(text.as_bytes()), mask.of(text.as_bytes())), (&b"1.2.3.4"[..], &b"8"[..]));
    }

    #[test]
    fn paths_that_only_look_alike_are_unknown() {
        for text in [
            "/",
            "/USER",
            "/user/",
            "//user",
            "/./user",
            "/%75ser",
            "/auth/x",
            "/blacklist/user/",
            "/blacklist/user/a/",
            "/blacklist/subnet/1.2.3.4",
            "/blacklist/subnet/1.2.3.4/",
            "/blacklist/subnet//8",
            "http://h",
            "http://h?x/user",
        ] {
            assert_eq!(of(text), Ok(Route::Unknown), "{text}");
        }
    }

    #[test]
    fn targets_of_another_form_are_refused() {
        for text in [
            "",
            "*",
            "h:80",
            "user",
            "/user#f",
            "/us er",
            "/\u{f6}",
            "/%",
            "/%4",
            "/a%4g",
            "http:///user",
            "http://",
            "ftp://h/user",
            "/a\x7f",
        ] {
            assert_eq!(of(text), Err(Fault::BadRequest), "{text}");
        }
    }

    #[test]
    fn parameters_are_decoded_once() {
        assert_eq!(decode(b"J%C3%b6rg%2F1%20%25+").as_ref(), "J\u{f6}rg/1 %+".as_bytes());
        assert_eq!(decode(b"%2562ob").as_ref(), b"%62ob");
    }
}
