//! The bytes of responses. Which response a request gets is decided in `api`, and for faults in `conn`.

use std::io::Write;

use crate::choices::ResponseHead;
use crate::http::{Ending, Fault};
use crate::tunables;

/// A response without a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 201
    Created,
    /// 202
    Accepted,
    /// 204
    NoContent,
    /// 400
    BadRequest,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 409
    Conflict,
}

/// `100 Continue`, which is followed by the response proper.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The three endings of a head, as bytes known at compile time.
macro_rules! rendered {
    ($ending:expr, $head:literal) => {
        match $ending {
            Ending::Open => concat!($head, "\r\n"),
            Ending::KeepAlive => concat!($head, "Connection: keep-alive\r\n\r\n"),
            Ending::Close => concat!($head, "Connection: close\r\n\r\n"),
        }
    };
}

fn connection(ending: Ending) -> &'static str {
    match ending {
        Ending::Open => "\r\n",
        Ending::KeepAlive => "Connection: keep-alive\r\n\r\n",
        Ending::Close => "Connection: close\r\n\r\n",
    }
}

/// Appends a response without a body.
pub fn empty(out: &mut Vec<u8>, status: Status, ending: Ending) {
    match tunables::RESPONSE_HEAD {
        ResponseHead::Formatted => formatted_empty(out, status, ending),
        ResponseHead::Prerendered => out.extend_from_slice(prerendered_empty(status, ending).as_bytes()),
    }
}

fn formatted_empty(out: &mut Vec<u8>, status: Status, ending: Ending) {
    let (code, reason) = match status {
        Status::Created => (201, "Created"),
        Status::Accepted => (202, "Accepted"),
        Status::NoContent => (204, "No Content"),
        Status::BadRequest => (400, "Bad Request"),
        Status::Forbidden => (403, "Forbidden"),
        Status::NotFound => (404, "Not Found"),
        Status::Conflict => (409, "Conflict"),
    };
    let length = if status == Status::NoContent { "" } else { "Content-Length: 0\r\n" };
    append(out, format_args!("HTTP/1.1 {code} {reason}\r\n{length}{}", connection(ending)));
}

fn prerendered_empty(status: Status, ending: Ending) -> &'static str {
    match status {
        Status::Created => rendered!(ending, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n"),
        Status::Accepted => rendered!(ending, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n"),
        Status::NoContent => rendered!(ending, "HTTP/1.1 204 No Content\r\n"),
        Status::BadRequest => rendered!(ending, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"),
        Status::Forbidden => rendered!(ending, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n"),
        Status::NotFound => rendered!(ending, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"),
        Status::Conflict => rendered!(ending, "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n"),
    }
}

/// Appends `405` with the methods there are.
pub fn not_allowed(out: &mut Vec<u8>, allow: &str, ending: Ending) {
    append(
        out,
        format_args!(
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: {allow}\r\n{}",
            connection(ending)
        ),
    );
}

/// Appends the head of `200` for a JSON body of `length` bytes.
pub fn json_head(out: &mut Vec<u8>, length: usize, ending: Ending) {
    match tunables::RESPONSE_HEAD {
        ResponseHead::Formatted => append(
            out,
            format_args!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{}",
                connection(ending)
            ),
        ),
        ResponseHead::Prerendered => {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ");
            decimal(out, length);
            out.extend_from_slice(rendered!(ending, "\r\n").as_bytes());
        }
    }
}

/// Appends the response to a request that cannot be taken. The connection closes after it.
pub fn fault(out: &mut Vec<u8>, fault: Fault) {
    let (code, reason) = match fault {
        Fault::BadRequest => (400, "Bad Request"),
        Fault::Timeout => (408, "Request Timeout"),
        Fault::TooLarge => (413, "Content Too Large"),
        Fault::Expectation => (417, "Expectation Failed"),
        Fault::HeadTooLarge => (431, "Request Header Fields Too Large"),
        Fault::NotImplemented => (501, "Not Implemented"),
        Fault::Version => (505, "HTTP Version Not Supported"),
    };
    append(out, format_args!("HTTP/1.1 {code} {reason}\r\nContent-Length: 0\r\n{}", connection(Ending::Close)));
}

fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a Vec takes every byte");
}

fn decimal(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUSES: [Status; 7] = [
        Status::Created,
        Status::Accepted,
        Status::NoContent,
        Status::BadRequest,
        Status::Forbidden,
        Status::NotFound,
        Status::Conflict,
    ];

    #[test]
    fn formatted_and_prerendered_heads_are_the_same() {
        for status in STATUSES {
            for ending in [Ending::Open, Ending::KeepAlive, Ending::Close] {
                let mut out = Vec::new();
                formatted_empty(&mut out, status, ending);
                assert_eq!(String::from_utf8(out).unwrap(), prerendered_empty(status, ending));
            }
        }
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for number in [0, 1, 9, 10, 99, 100, 65_536, usize::MAX] {
            let mut out = Vec::new();
            decimal(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn fields_come_in_the_order_of_the_contract() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(&|out| not_allowed(out, "POST", Ending::Close)),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: POST\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            text(&|out| json_head(out, 62, Ending::KeepAlive)),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 62\r\nConnection: keep-alive\r\n\r\n"
        );
        assert_eq!(
            text(&|out| fault(out, Fault::TooLarge)),
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(text(&|out| empty(out, Status::NoContent, Ending::Open)), "HTTP/1.1 204 No Content\r\n\r\n");
    }
}
