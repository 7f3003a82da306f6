//! The alternative to httparse: a single pass over a head that finds its end and sorts its fields as it goes.
//! It gives the same answers; only complete heads are its business.

use super::fields::Fields;
use super::head::{self, Head};
use super::{Fault, MAX_FIELDS, MAX_HEAD, is_token, is_value, line};

/// Reads the head at the start of `bytes`; `None` if its end is not there.
pub fn read(bytes: &[u8]) -> Result<Option<Head>, Fault> {
    let Some(line_end) = memchr::memchr(b'\n', bytes) else {
        return Ok(None);
    };
    let line = line::parse(bytes[..line_end].strip_suffix(b"\r").ok_or(Fault::BadRequest)?)?;
    let mut fields = Fields::default();
    let mut at = line_end + 1;
    let mut count = 0;
    loop {
        match bytes.get(at..) {
            Some([b'\r', b'\n', ..]) => break,
            None | Some([] | [b'\r']) => return Ok(None),
            Some(_) => {}
        }
        let Some(colon) = end_of(bytes, at, is_token) else {
            return Ok(None);
        };
        if bytes[colon] != b':' || colon == at {
            return Err(Fault::BadRequest);
        }
        let Some(end) = end_of(bytes, colon + 1, is_value) else {
            return Ok(None);
        };
        match bytes[end..] {
            [b'\r', b'\n', ..] => {}
            [b'\r'] => return Ok(None),
            _ => return Err(Fault::BadRequest),
        }
        count += 1;
        if count > MAX_FIELDS {
            return Err(Fault::HeadTooLarge);
        }
        fields.add(bytes, &bytes[at..colon], &bytes[colon + 1..end]);
        at = end + 2;
    }
    let len = at + 2;
    if len > MAX_HEAD {
        return Err(Fault::HeadTooLarge);
    }
    head::assemble(&bytes[..len], &line, &fields).map(Some)
}

/// The first byte from `start` on that is not one of `class`, if it has come.
fn end_of(bytes: &[u8], start: usize, class: fn(u8) -> bool) -> Option<usize> {
    bytes[start..].iter().position(|byte| !class(*byte)).map(|length| start + length)
}

#[cfg(test)]
mod tests {
    use super::super::fields;
    use super::*;

    /// The same head by httparse, whichever parser is in force.
    fn by_httparse(text: &str) -> Result<Head, Fault> {
        let end = text.find('\n').unwrap();
        let line = line::parse(&text.as_bytes()[..end - 1])?;
        head::assemble(text.as_bytes(), &line, &fields::parse(text.as_bytes(), end + 1)?)
    }

    #[test]
    fn it_agrees_with_httparse() {
        for field in [
            "Host: x",
            "host:x\r\nA: \u{ff} \t",
            "Host:",
            "Host: x\r\nContent-Length: 5\r\nConnection: a, close",
            " Host: x",
            "Host : x",
            ": x",
            "x",
            "Host: x\r\n y",
            "Host: \x01",
            "Host: \x7f",
            "Host: a\rb",
            "X(y): z",
            "Host: x\r\nX-API-Key:a\r\nX-API-Key:b",
        ] {
            let text = format!("PUT /user HTTP/1.1\r\n{field}\r\n\r\n");
            assert_eq!(read(text.as_bytes()), by_httparse(&text).map(Some), "{field:?}");
        }
    }

    #[test]
    fn a_bare_line_feed_is_refused_anywhere() {
        for text in
            ["GET / HTTP/1.1\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\n"]
        {
            assert_eq!(read(text.as_bytes()), Err(Fault::BadRequest), "{text:?}");
        }
    }
}
