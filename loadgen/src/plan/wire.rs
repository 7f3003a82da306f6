//! From a request to its bytes: header order, names' case, spacing, further fields, chunks, targets, all drawn at
//! random so that no server can tell this client from others by its looks. Nothing here changes a meaning.

use super::ask::Ask;
use crate::chance::{Chance, Deck};

#[derive(Debug, Clone, Copy)]
enum Case {
    AsIs,
    Lower,
    Upper,
    Mixed,
}

/// Writes requests; every variation comes in fixed proportions.
#[derive(Debug)]
pub struct Writer {
    cases: Deck<Case>,
    spaces: Deck<(&'static str, &'static str)>,
    extras: Deck<usize>,
    values: Deck<usize>,
    absolute: Deck<bool>,
    queries: Deck<bool>,
    empty_line: Deck<bool>,
    versions: Deck<&'static str>,
    chunked: Deck<bool>,
    ignored_body: Deck<bool>,
}

impl Default for Writer {
    fn default() -> Writer {
        let mut spaces = vec![(" ", ""); 24];
        spaces.extend([("", ""), ("  ", ""), ("\t", ""), (" ", " "), (" \t ", "\t")]);
        let mut versions = vec!["HTTP/1.1"; 47];
        versions.push("HTTP/1.2");
        Writer {
            cases: Deck::new([
                Case::AsIs,
                Case::AsIs,
                Case::AsIs,
                Case::Lower,
                Case::Lower,
                Case::Lower,
                Case::Upper,
                Case::Mixed,
            ]),
            spaces: Deck::new(spaces),
            extras: Deck::new([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 12]),
            values: Deck::new([1, 3, 5, 8, 12, 16, 20, 24, 32, 48, 64, 90]),
            absolute: Deck::once_in(20),
            queries: Deck::once_in(20),
            empty_line: Deck::once_in(40),
            versions: Deck::new(versions),
            chunked: Deck::once_in(8),
            ignored_body: Deck::once_in(60),
        }
    }
}

/// Fields that must make no difference.
const NAMES: &[&str] = &[
    "Accept",
    "User-Agent",
    "Accept-Encoding",
    "Accept-Language",
    "Cache-Control",
    "Cookie",
    "Referer",
    "Origin",
    "X-Request-Id",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "Via",
    "Pragma",
    "DNT",
    "Authorization",
    "If-None-Match",
    "Range",
    "X-API-Key-Id",
    "X-Forwarded-For-Port",
    "Forwarded",
    "Traceparent",
    "Content-Language",
];

/// Letters of values: no comma is needed, all are allowed.
const VALUE: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/;=.-_ \"(){}:,*";

impl Writer {
    /// The request's bytes.
    pub fn write(&mut self, chance: &mut Chance, ask: &Ask) -> Vec<u8> {
        let host = format!("{}.{}", chance.text(6, "abcdefgh"), chance.text(3, "abcxyz"));
        let mut body = ask.body.clone();
        if body.is_none() && self.ignored_body.deal(chance) {
            body = Some(b"GET /user HTTP/1.1\r\nHost: inside\r\n\r\n".to_vec());
        }
        let mut fields = vec![("Host".to_string(), host.clone())];
        fields.extend(ask.addresses.iter().map(|value| ("X-Forwarded-For".to_string(), value.clone())));
        fields.extend(ask.keys.iter().map(|value| ("X-API-Key".to_string(), value.clone())));
        let mut tail = Vec::new();
        if let Some(body) = body {
            fields.push(("Content-Type".into(), "application/json".into()));
            if self.chunked.deal(chance) {
                fields.push(("Transfer-Encoding".into(), "chunked".into()));
                tail = chunks(chance, &body);
            } else {
                fields.push(("Content-Length".into(), body.len().to_string()));
                tail = body;
            }
        }
        for _ in 0..self.extras.deal(chance) {
            let length = self.values.deal(chance);
            let name = match chance.below(8) {
                0 => format!("X-{}", chance.word(7)),
                1 => "Connection".to_string(),
                _ => (*chance.pick(NAMES)).to_string(),
            };
            let value = if name == "Connection" { "keep-alive".into() } else { chance.text(length, VALUE) };
            fields.push((name, value.trim().to_string()));
        }
        chance.shuffle(&mut fields);
        let mut out = Vec::with_capacity(512 + tail.len());
        if self.empty_line.deal(chance) {
            out.extend_from_slice(b"\r\n");
        }
        let target = self.target(chance, &ask.path, &host);
        let version = self.versions.deal(chance);
        out.extend_from_slice(format!("{} {target} {version}\r\n", ask.method).as_bytes());
        let case = self.cases.deal(chance);
        for (name, value) in fields {
            let (before, after) = self.spaces.deal(chance);
            let name = in_case(chance, case, &name);
            out.extend_from_slice(format!("{name}:{before}{value}{after}\r\n").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&tail);
        out
    }

    fn target(&mut self, chance: &mut Chance, path: &str, host: &str) -> String {
        let mut target = path.to_string();
        if self.queries.deal(chance) {
            let query: &str = *chance.pick(&["?", "?a=1&b=/user", "?%zz", "?login=x?y"]);
            target.push_str(query);
        }
        if self.absolute.deal(chance) && target.starts_with('/') {
            let scheme = *chance.pick(&["http", "https", "HTTP"]);
            target = format!("{scheme}://{host}{target}");
        }
        target
    }
}

fn in_case(chance: &mut Chance, case: Case, name: &str) -> String {
    match case {
        Case::AsIs => name.to_string(),
        Case::Lower => name.to_ascii_lowercase(),
        Case::Upper => name.to_ascii_uppercase(),
        Case::Mixed => (name.chars())
            .map(|c| if chance.once_in(2) { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect(),
    }
}

fn chunks(chance: &mut Chance, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(chance.between(1, rest.len()));
        rest = after;
        let size = match chance.below(3) {
            0 => format!("{:x}", chunk.len()),
            1 => format!("{:X}", chunk.len()),
            _ => format!("{:05x}", chunk.len()),
        };
        let extension = *chance.pick(&["", "", "", ";a", ";name=\"value\""]);
        out.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    let trailer = *chance.pick(&["", "", "X-Forwarded-For: 1.2.3.4\r\n", "Content-Length: 5\r\nX-API-Key: x\r\n"]);
    out.extend_from_slice(format!("0\r\n{trailer}\r\n").as_bytes());
    out
}

/// A path parameter: what must be encoded is, and some of what need not be.
pub fn parameter(chance: &mut Chance, text: &str) -> String {
    let mut out = String::new();
    for &byte in text.as_bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~+".contains(&byte);
        if plain && !chance.once_in(24) {
            out.push(char::from(byte));
        } else if chance.once_in(2) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}
