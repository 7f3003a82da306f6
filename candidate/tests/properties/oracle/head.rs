//! Request heads (3.1 to 3.7, 3.10, 10.1), by splitting lines. Where a head has several faults, all of them are right, but for
//! those that a bad version beats (14.1).

use candidate::http::Fault;
use candidate::http::framing::Length;
use candidate::http::{Ending, Method};

use super::route::{self, Route};

/// What the bytes from the first of a request on come to.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// More is needed.
    Waiting,
    /// A head.
    Head(Box<Head>),
    /// The complete head has these faults.
    Wrong(Vec<Fault>),
    /// The end has not come, but these faults are certain, and must be answered now if `now`.
    WrongAlready { faults: Vec<Fault>, now: bool },
}

/// What a head says.
#[derive(Debug, PartialEq)]
pub struct Head {
    pub len: usize,
    pub method: Method,
    pub route: Route,
    pub address: Option<Vec<u8>>,
    pub key: Option<Vec<u8>>,
    pub length: Length,
    pub expects_continue: bool,
    pub ending: Ending,
}

#[derive(Default)]
struct Faults {
    line: Vec<Fault>,
    others: Vec<Fault>,
}

impl Faults {
    fn list(self) -> Vec<Fault> {
        let version = self.line.contains(&Fault::Version);
        let sizes = |fault: &Fault| !version || *fault == Fault::HeadTooLarge;
        self.line.into_iter().chain(self.others.into_iter().filter(sizes)).collect()
    }
}

/// Reads a head.
pub fn read(bytes: &[u8]) -> Outcome {
    let mut faults = Faults::default();
    let mut lines: Vec<&[u8]> = Vec::new();
    let mut rest = bytes;
    let mut ended = false;
    let mut now = false;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some(line) = line.strip_suffix(b"\r") else {
            let place = if lines.is_empty() { &mut faults.line } else { &mut faults.others };
            place.push(Fault::BadRequest);
            lines.push(line);
            now = true;
            break;
        };
        if line.is_empty() {
            ended = true;
            break;
        }
        lines.push(line);
    }
    let len = bytes.len() - rest.len();
    if len > 16_384 || (!ended && bytes.len() >= 16_384) {
        faults.others.push(Fault::HeadTooLarge);
        now = true;
    }
    let begun = usize::from(!ended && !matches!(rest, [] | [b'\r', ..]));
    if (lines.len() + begun).saturating_sub(1) > 100 {
        faults.others.push(Fault::HeadTooLarge);
        now = true;
    }
    if bytes.first().is_some_and(|first| !is_token(*first)) {
        faults.line.push(Fault::BadRequest);
        now = true;
    }
    let line = lines.first().map(|line| request_line(line, &mut faults));
    let fields: Vec<(String, &[u8])> = lines.iter().skip(1).filter_map(|line| field(line, &mut faults)).collect();
    if !ended {
        // A method or a field that is none already can become nothing else.
        let begun = rest.strip_suffix(b"\r").unwrap_or(rest);
        if lines.is_empty() {
            let method = begun.split(|byte| *byte == b' ').next().unwrap_or_default();
            if !method.iter().all(|byte| is_token(*byte)) {
                faults.line.push(Fault::BadRequest);
            }
        } else if !begun.is_empty() && !is_field(begun) && (begun != rest || !begun.iter().all(|byte| is_token(*byte)))
        {
            faults.others.push(Fault::BadRequest);
        }
        if fields.iter().any(|(name, value)| name == "content-length" && length(value) == Err(Fault::TooLarge)) {
            faults.others.push(Fault::TooLarge);
            now = true;
        }
        let faults = faults.list();
        return if faults.is_empty() { Outcome::Waiting } else { Outcome::WrongAlready { faults, now } };
    }
    let judged = line.flatten().map(|line| judge(len, line, &fields, &mut faults));
    match (faults.list(), judged) {
        (faults, Some(head)) if faults.is_empty() => Outcome::Head(Box::new(head)),
        (faults, _) => Outcome::Wrong(faults),
    }
}

struct Line {
    method: Method,
    route: Route,
    old: bool,
}

fn request_line(line: &[u8], faults: &mut Faults) -> Option<Line> {
    let parts: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let version = parts.last()?;
    let major = match version {
        _ if parts.len() < 2 => None,
        [b'H', b'T', b'T', b'P', b'/', major @ b'0'..=b'9', b'.', b'0'..=b'9'] => Some(*major),
        _ => None,
    };
    match major {
        Some(b'1') => {}
        Some(_) => faults.line.push(Fault::Version),
        None => faults.line.push(Fault::BadRequest),
    }
    let [method, target, version] = parts[..] else {
        faults.line.push(Fault::BadRequest);
        return None;
    };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        faults.line.push(Fault::BadRequest);
    }
    let method = match method {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"PATCH" => Method::Patch,
        b"DELETE" => Method::Delete,
        _ => Method::Other,
    };
    let Some(route) = route::route(target) else {
        faults.others.push(Fault::BadRequest);
        return None;
    };
    Some(Line { method, route, old: version == b"HTTP/1.0" })
}

/// Name in lower case and trimmed value.
fn field<'a>(line: &'a [u8], faults: &mut Faults) -> Option<(String, &'a [u8])> {
    if !is_field(line) {
        faults.others.push(Fault::BadRequest);
    }
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase(), trimmed(&line[colon + 1..])))
}

/// Whether `line` is a field, by the grammar.
pub fn is_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return false;
    };
    let value = |byte: &u8| matches!(byte, 0x20..=0x7e | b'\t' | 0x80..=0xff);
    colon > 0 && line[..colon].iter().all(|byte| is_token(*byte)) && line[colon + 1..].iter().all(value)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn length(value: &[u8]) -> Result<usize, Fault> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Fault::BadRequest);
    }
    match std::str::from_utf8(value).unwrap().parse::<usize>() {
        Ok(length) if length <= 65_536 => Ok(length),
        _ => Err(Fault::TooLarge),
    }
}

fn judge(len: usize, line: Line, fields: &[(String, &[u8])], faults: &mut Faults) -> Head {
    let all = |wanted: &str| -> Vec<&[u8]> {
        fields.iter().filter(|(name, _)| name == wanted).map(|(_, value)| *value).collect()
    };
    let only = |wanted: &str| match all(wanted)[..] {
        [value] => Some(value.to_vec()),
        _ => None,
    };
    let hosts = all("host").len();
    if hosts > 1 || (hosts == 0 && !line.old) {
        faults.others.push(Fault::BadRequest);
    }
    let (lengths, codings) = (all("content-length"), all("transfer-encoding"));
    let mut body = Length::Exact(0);
    if lengths.len() > 1 || (!lengths.is_empty() && !codings.is_empty()) {
        faults.others.push(Fault::BadRequest);
    }
    for value in lengths {
        match length(value) {
            Ok(length) => body = Length::Exact(length),
            Err(fault) => faults.others.push(fault),
        }
    }
    if !codings.is_empty() {
        if line.old {
            faults.others.push(Fault::BadRequest);
        }
        if codings.len() > 1 || !codings[0].eq_ignore_ascii_case(b"chunked") {
            faults.others.push(Fault::NotImplemented);
        }
        body = Length::Chunked;
    }
    let expectations = all("expect");
    let mut expects = false;
    if !line.old && !expectations.is_empty() {
        expects = expectations.len() == 1 && expectations[0].eq_ignore_ascii_case(b"100-continue");
        if !expects {
            faults.others.push(Fault::Expectation);
        }
    }
    let options: Vec<Vec<u8>> = all("connection")
        .iter()
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|option| trimmed(option).to_ascii_lowercase())
        .collect();
    let has = |option: &[u8]| options.iter().any(|found| found == option);
    let ending = match (line.old, has(b"close"), has(b"keep-alive")) {
        (_, true, _) | (true, false, false) => Ending::Close,
        (true, false, true) => Ending::KeepAlive,
        (false, false, _) => Ending::Open,
    };
    Head {
        len,
        method: line.method,
        route: line.route,
        address: only("x-forwarded-for"),
        key: only("x-api-key"),
        length: body,
        expects_continue: expects && body != Length::Exact(0),
        ending,
    }
}
