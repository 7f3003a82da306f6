//! What the fields of a head say together: how long the body is, what is expected, how the connection ends.

use super::fields::Fields;
use super::{Ending, Fault, MAX_BODY};

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After this many bytes.
    Exact(usize),
    /// In the chunks.
    Chunked,
}

/// The framing of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Where the body ends.
    pub length: Length,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    /// What becomes of the connection.
    pub ending: Ending,
}

/// Judges `fields`, whose spans lie in `head`; `old` means HTTP/1.0.
pub fn judge(head: &[u8], fields: &Fields, old: bool) -> Result<Framing, Fault> {
    if fields.host.count > 1 || (fields.host.count == 0 && !old) {
        return Err(Fault::BadRequest);
    }
    let length = body_length(head, fields, old)?;
    let expects = if old { false } else { expects_continue(head, fields)? };
    Ok(Framing {
        length,
        expects_continue: expects && length != Length::Exact(0),
        ending: match (old, fields.close, fields.keep_alive) {
            (false, false, _) => Ending::Open,
            (true, false, true) => Ending::KeepAlive,
            _ => Ending::Close,
        },
    })
}

fn body_length(head: &[u8], fields: &Fields, old: bool) -> Result<Length, Fault> {
    match (fields.length.count, fields.encoding.count) {
        (0, 0) => Ok(Length::Exact(0)),
        (1, 0) => content_length(fields.length.value.of(head)).map(Length::Exact),
        (0, _) if old => Err(Fault::BadRequest),
        (0, 1) if fields.encoding.value.of(head).eq_ignore_ascii_case(b"chunked") => Ok(Length::Chunked),
        (0, _) => Err(Fault::NotImplemented),
        _ => Err(Fault::BadRequest),
    }
}

/// Reads the value of `Content-Length`, however many digits it has.
pub fn content_length(text: &[u8]) -> Result<usize, Fault> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(Fault::BadRequest);
    }
    // Stops growing once it is too large, so that it cannot wrap.
    let length = text.iter().fold(
        0,
        |length: usize, digit| {
            if length > MAX_BODY { length } else { length * 10 + usize::from(digit - b'0') }
        },
    );
    if length > MAX_BODY { Err(Fault::TooLarge) } else { Ok(length) }
}

fn expects_continue(head: &[u8], fields: &Fields) -> Result<bool, Fault> {
    if fields.expect.count == 0 {
        return Ok(false);
    }
    match fields.expect.only() {
        Some(value) if value.of(head).eq_ignore_ascii_case(b"100-continue") => Ok(true),
        _ => Err(Fault::Expectation),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;

    fn of(lines: &str, old: bool) -> Result<Framing, Fault> {
        let head = format!("{lines}\r\n");
        judge(head.as_bytes(), &fields::parse(head.as_bytes(), 0).unwrap(), old)
    }

    #[test]
    fn host_is_needed_once_and_may_be_missing_in_the_old_version() {
        assert_eq!(of("", false), Err(Fault::BadRequest));
        assert_eq!(of("Host: a\r\nHost: a\r\n", false), Err(Fault::BadRequest));
        assert_eq!(of("Host: a\r\nHost: a\r\n", true), Err(Fault::BadRequest));
        assert!(of("Host:\r\n", false).is_ok());
        assert_eq!(of("", true).unwrap().ending, Ending::Close);
    }

    #[test]
    fn content_length_is_plain_digits_and_bounded() {
        assert_eq!(content_length(b"0044"), Ok(44));
        assert_eq!(content_length(b"65536"), Ok(65_536));
        assert_eq!(content_length(b"65537"), Err(Fault::TooLarge));
        assert_eq!(content_length(b"99999999999999999999"), Err(Fault::TooLarge));
        for text in ["", "+5", "-1", "0x5", "5 5", "5, 5"] {
            assert_eq!(content_length(text.as_bytes()), Err(Fault::BadRequest), "{text}");
        }
        assert_eq!(of("Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n", false), Err(Fault::BadRequest));
    }

    #[test]
    fn only_chunked_alone_is_a_transfer_coding() {
        let te = |value: &str| of(&format!("Host: a\r\nTransfer-Encoding: {value}\r\n"), false);
        assert_eq!(te("Chunked").unwrap().length, Length::Chunked);
        for value in ["gzip, chunked", "identity", "xchunked", "", "chunked\r\nTransfer-Encoding: chunked"] {
            assert_eq!(te(value), Err(Fault::NotImplemented), "{value}");
        }
        assert_eq!(te("chunked\r\nContent-Length: 5"), Err(Fault::BadRequest));
        assert_eq!(of("Transfer-Encoding: chunked\r\n", true), Err(Fault::BadRequest));
    }

    #[test]
    fn an_expectation_counts_only_where_a_body_comes() {
        let expect = |value: &str, length: &str, old| {
            of(&format!("Host: a\r\nExpect: {value}\r\nContent-Length: {length}\r\n"), old)
        };
        assert!(expect("100-Continue", "5", false).unwrap().expects_continue);
        assert!(!expect("100-continue", "0", false).unwrap().expects_continue);
        assert!(!expect("foo", "5", true).unwrap().expects_continue);
        assert_eq!(expect("foo", "5", false), Err(Fault::Expectation));
        assert_eq!(expect("", "5", false), Err(Fault::Expectation));
        assert_eq!(expect("100-continue\r\nExpect: 100-continue", "5", false), Err(Fault::Expectation));
    }
}
