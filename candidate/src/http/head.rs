//! From bytes to the head of a request: finding its end while it arrives, refusing what can never become one, and
//! putting line, fields and framing together. What a line, a field or a target is, is decided in their own files.

use super::fields::Fields;
use super::framing::Framing;
use super::line::RequestLine;
use super::target::Route;
use super::{Fault, MAX_FIELDS, MAX_HEAD, Method, Span, blocks, fields, framing, is_token, line, one_pass, target};
use crate::choices::HeadParser;
use crate::tunables;

/// Everything that is kept of a head. Spans count from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of the head, the empty line included.
    pub len: usize,
    /// The method.
    pub method: Method,
    /// What the path stands for.
    pub route: Route,
    /// The value of `X-Forwarded-For` if there is exactly one.
    pub address: Option<Span>,
    /// The value of `X-API-Key` if there is exactly one.
    pub key: Option<Span>,
    /// Body and connection.
    pub framing: Framing,
}

/// How far an incomplete head has been looked at, so that no byte is looked at twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    scanned: usize,
    line_start: usize,
    lines: usize,
    judged: usize,
}

/// Reads the head at the start of `bytes`; `None` if more bytes are needed. `progress` belongs to this head: it starts
/// as the default and is passed again when more bytes have come.
pub fn read(bytes: &[u8], progress: &mut Progress) -> Result<Option<Head>, Fault> {
    read_by(tunables::HEAD_PARSER, bytes, progress)
}

/// The same by a parser of one's choice.
pub fn read_by(parser: HeadParser, bytes: &[u8], progress: &mut Progress) -> Result<Option<Head>, Fault> {
    // The readers that find the end themselves are asked before it is looked for, but once only: a head that comes byte by
    // byte would be read as often.
    let first = progress.scanned == 0;
    let read = match parser {
        HeadParser::OnePass if first => one_pass::read(bytes)?,
        HeadParser::Blocks if first => blocks::read(bytes),
        _ => None,
    };
    if read.is_some() {
        return Ok(read);
    }
    let end = progress.find_end(bytes).map_err(|fault| version_first(bytes, fault))?;
    let Some(len) = end else {
        return Ok(None);
    };
    let head = &bytes[..len];
    let read = match parser {
        HeadParser::OnePass => return one_pass::read(head),
        // What it has given up on it would give up on again.
        HeadParser::Blocks if !first => blocks::read(head),
        _ => None,
    };
    if read.is_some() {
        return Ok(read);
    }
    let line_end = memchr::memchr(b'\n', head).ok_or(Fault::BadRequest)?;
    let line = line::parse(&head[..line_end - 1])?;
    let fields = fields::parse(head, line_end + 1)?;
    assemble(head, &line, &fields).map(Some)
}

/// Judges target and framing of a head whose line and fields are read.
pub fn assemble(head: &[u8], line: &RequestLine, fields: &Fields) -> Result<Head, Fault> {
    Ok(Head {
        len: head.len(),
        method: line.method,
        route: target::route(head, line.target)?,
        address: fields.address.only(),
        key: fields.key.only(),
        framing: framing::judge(head, fields, line.old)?,
    })
}

/// A bad version beats every other fault, also one that was noticed earlier.
fn version_first(bytes: &[u8], fault: Fault) -> Fault {
    let line = memchr::memchr(b'\n', bytes).and_then(|end| bytes[..end].strip_suffix(b"\r"));
    match line.map(line::parse) {
        Some(Err(Fault::Version)) => Fault::Version,
        _ => fault,
    }
}

impl Progress {
    /// The length of the head once its end is there; a fault as soon as it can never become valid.
    fn find_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        if bytes.first().is_some_and(|first| !is_token(*first)) {
            return Err(Fault::BadRequest);
        }
        while let Some(found) = memchr::memchr(b'\n', &bytes[self.scanned..]) {
            let end = self.scanned + found;
            let line = bytes[self.line_start..end].strip_suffix(b"\r").ok_or(Fault::BadRequest)?;
            self.scanned = end + 1;
            self.line_start = end + 1;
            if line.is_empty() {
                return if end < MAX_HEAD { Ok(Some(end + 1)) } else { Err(Fault::HeadTooLarge) };
            }
            self.lines += 1;
        }
        self.scanned = bytes.len();
        self.judge_incomplete(bytes)?;
        Ok(None)
    }

    /// What is certain although the end of the head has not come.
    fn judge_incomplete(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() >= MAX_HEAD {
            return Err(Fault::HeadTooLarge);
        }
        if self.lines == 0 {
            let method = memchr::memchr(b' ', bytes).unwrap_or(bytes.len());
            // What comes after the last token byte might be the CR of a line that is too short; that can wait.
            let method = bytes[..method].strip_suffix(b"\r").unwrap_or(&bytes[..method]);
            return if method.iter().all(|byte| is_token(*byte)) { Ok(()) } else { Err(Fault::BadRequest) };
        }
        let begins_field = bytes.get(self.line_start).is_some_and(|byte| *byte != b'\r');
        while self.judged < self.line_start {
            let rest = &bytes[self.judged..self.line_start];
            let end = memchr::memchr(b'\n', rest).ok_or(Fault::BadRequest)?;
            let line = &rest[..end - 1];
            if self.judged == 0 {
                line::parse(line)?;
            } else if announces_too_much(line) {
                return Err(Fault::TooLarge);
            }
            self.judged += end + 1;
        }
        if self.lines > MAX_FIELDS + 1 || (self.lines > MAX_FIELDS && begins_field) {
            return Err(Fault::HeadTooLarge);
        }
        Ok(())
    }
}

/// Whether a field line is a `Content-Length` beyond what any head could make acceptable.
fn announces_too_much(line: &[u8]) -> bool {
    let Some(colon) = memchr::memchr(b':', line) else {
        return false;
    };
    line[..colon].eq_ignore_ascii_case(b"content-length")
        && framing::content_length(super::trim(&line[colon + 1..])) == Err(Fault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Head>, Fault> {
        read(text.as_bytes(), &mut Progress::default())
    }

    const GET: &str = "GET /user HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.1.0.1\r\nX-API-Key: k\r\n\r\n";

    #[test]
    fn a_head_is_read_the_same_however_it_arrives() {
        let whole = of(GET).unwrap().unwrap();
        assert_eq!((whole.len, whole.method, whole.route), (GET.len(), Method::Get, Route::User));
        assert_eq!(whole.address.unwrap().of(GET.as_bytes()), b"10.1.0.1");
        assert_eq!(whole.key.unwrap().of(GET.as_bytes()), b"k");
        let mut progress = Progress::default();
        for end in 1..GET.len() {
            assert_eq!(read(&GET.as_bytes()[..end], &mut progress), Ok(None), "after {end} bytes");
        }
        assert_eq!(read(GET.as_bytes(), &mut progress), Ok(Some(whole)));
        for end in 1..GET.len() {
            let mut progress = Progress::default();
            assert_eq!(read(&GET.as_bytes()[..end], &mut progress), Ok(None));
            assert_eq!(read(GET.as_bytes(), &mut progress), Ok(Some(whole)), "cut after {end} bytes");
        }
        assert_eq!(of(&(GET.to_owned() + "GET /")), Ok(Some(whole)));
    }

    #[test]
    fn what_can_never_become_a_head_is_refused_before_its_end() {
        for (text, fault) in [
            ("\x16\x03\x01", Fault::BadRequest),
            ("\r\n", Fault::BadRequest),
            ("\n", Fault::BadRequest),
            ("G(T", Fault::BadRequest),
            ("GET /user HTTP/1.1\n", Fault::BadRequest),
            ("GET /user HTTP/1.1\r\nHost: x\n", Fault::BadRequest),
            ("GET /user HTTP/2.0\r\nHost: x\n", Fault::Version),
            ("GET /user HTTP/2.0\r\n", Fault::Version),
            ("GET /user HTTP/1.1\r\nContent-Length: 70000\r\n", Fault::TooLarge),
        ] {
            assert_eq!(of(text), Err(fault), "{text:?}");
        }
        assert_eq!(of("GET /user HTTP/1.1\r\nContent-Length: 70000"), Ok(None));
    }

    #[test]
    fn the_head_may_have_16384_bytes() {
        let with = |length: usize| {
            let fixed = "GET /user HTTP/1.1\r\nHost: x\r\na: \r\n\r\n".len();
            format!("GET /user HTTP/1.1\r\nHost: x\r\na: {}\r\n\r\n", "b".repeat(length - fixed))
        };
        assert_eq!(of(&with(MAX_HEAD)).unwrap().unwrap().len, MAX_HEAD);
        assert_eq!(of(&with(MAX_HEAD + 1)), Err(Fault::HeadTooLarge));
        assert_eq!(of(&with(MAX_HEAD + 1)[..MAX_HEAD]), Err(Fault::HeadTooLarge));
        assert_eq!(of(&with(MAX_HEAD)[..MAX_HEAD - 1]), Ok(None));
        assert_eq!(of(&"A".repeat(MAX_HEAD)), Err(Fault::HeadTooLarge));
    }

    #[test]
    fn the_field_that_is_one_too_many_is_refused_when_it_begins() {
        let fields = |count: usize| "GET /user HTTP/1.1\r\nHost: x\r\n".to_owned() + &"a: b\r\n".repeat(count - 1);
        assert!(of(&(fields(100) + "\r\n")).is_ok_and(|head| head.is_some()));
        assert_eq!(of(&(fields(101) + "\r\n")), Err(Fault::HeadTooLarge));
        assert_eq!(of(&fields(100)), Ok(None));
        assert_eq!(of(&(fields(100) + "\r")), Ok(None));
        assert_eq!(of(&(fields(100) + "a")), Err(Fault::HeadTooLarge));
    }
}
