//! The request line: method, target, version. What the target means is in `target.rs`.

use super::{Fault, Method, Span, is_token};

/// A request line that is sound as far as method and version go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// The method.
    pub method: Method,
    /// Where the target lies in the line; its bytes are not yet judged.
    pub target: Span,
    /// HTTP/1.0, that is not 1.1 or a later 1.x.
    pub old: bool,
}

/// Reads `line`, which is without its CRLF.
///
/// The version is judged first: it decides whether the rest is ours to judge.
pub fn parse(line: &[u8]) -> Result<RequestLine, Fault> {
    let last = memchr::memrchr(b' ', line).ok_or(Fault::BadRequest)?;
    let old = version(&line[last + 1..])?;
    let first = memchr::memchr(b' ', line).ok_or(Fault::BadRequest)?;
    if first == last {
        return Err(Fault::BadRequest);
    }
    let target = Span::new(first + 1, last);
    Ok(RequestLine { method: method(&line[..first])?, target, old })
}

/// Whether the version is 1.0; an error unless it is 1.x.
fn version(text: &[u8]) -> Result<bool, Fault> {
    match text {
        b"HTTP/1.1" => Ok(false),
        b"HTTP/1.0" => Ok(true),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            if *major == b'1' {
                Ok(false)
            } else {
                Err(Fault::Version)
            }
        }
        _ => Err(Fault::BadRequest),
    }
}

fn method(text: &[u8]) -> Result<Method, Fault> {
    Ok(match text {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"PATCH" => Method::Patch,
        b"DELETE" => Method::Delete,
        [] => return Err(Fault::BadRequest),
        other if other.iter().all(|byte| is_token(*byte)) => Method::Other,
        _ => return Err(Fault::BadRequest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_with_another_major_beats_every_other_fault() {
        for line in ["PRI * HTTP/2.0", "GET /\u{f6} HTTP/3.1", "G(T / HTTP/0.9", " HTTP/2.0"] {
            assert_eq!(parse(line.as_bytes()), Err(Fault::Version), "{line}");
        }
    }

    #[test]
    fn lines_that_are_no_request_line_are_refused() {
        for line in [
            "",
            " ",
            "GET",
            "GET /user",
            "GET /user ",
            " /user HTTP/1.1",
            "GET HTTP/1.1",
            "GET /user HTTP/1.10",
            "GET /user http/1.1",
            "GET /user HTTP/1.",
            "GET /user HTTP/1.x",
            "G(T /user HTTP/1.1",
        ] {
            assert_eq!(parse(line.as_bytes()), Err(Fault::BadRequest), "{line}");
        }
    }

    #[test]
    fn later_minor_versions_count_as_one_dot_one() {
        let line = b"BREW /user HTTP/1.9";
        let parsed = parse(line).unwrap();
        assert_eq!((parsed.method, parsed.old, parsed.target.of(line)), (Method::Other, false, &b"/user"[..]));
        assert!(parse(b"GET /user HTTP/1.0").unwrap().old);
    }
}
