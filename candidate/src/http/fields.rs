//! The fields of a head that matter here, and how they are picked out of all fields.
//! What they mean together is in `framing.rs`.

use httparse::Header;

use super::{Fault, MAX_FIELDS, Span};
use crate::choices::{FieldLookup, HeaderSlots};
use crate::tunables;

/// A field of which at most one may be there: how many there are, and where the last one's value lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Single {
    /// How many fields of this name there are.
    pub count: u32,
    /// The trimmed value of the last.
    pub value: Span,
}

impl Single {
    /// The value if there is exactly one.
    pub fn only(self) -> Option<Span> {
        (self.count == 1).then_some(self.value)
    }

    fn add(&mut self, value: Span) {
        self.count += 1;
        self.value = value;
    }
}

/// The wanted fields of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `Host`
    pub host: Single,
    /// `Content-Length`
    pub length: Single,
    /// `Transfer-Encoding`
    pub encoding: Single,
    /// `X-Forwarded-For`
    pub address: Single,
    /// `X-API-Key`
    pub key: Single,
    /// `Expect`
    pub expect: Single,
    /// Some `Connection` field lists `close`.
    pub close: bool,
    /// Some `Connection` field lists `keep-alive`.
    pub keep_alive: bool,
}

impl Fields {
    /// Takes note of a field if it is one of the wanted; `name` is a token, `value` lies in `bytes`.
    #[inline(always)]
    pub fn add(&mut self, bytes: &[u8], name: &[u8], value: &[u8]) {
        let span = || Span::within(bytes, super::trim(value));
        match name.len() {
            4 if is(name, b"host") => self.host.add(span()),
            6 if is(name, b"expect") => self.expect.add(span()),
            9 if is(name, b"x-api-key") => self.key.add(span()),
            10 if is(name, b"connection") => self.connection(super::trim(value)),
            14 if is(name, b"content-length") => self.length.add(span()),
            15 if is(name, b"x-forwarded-for") => self.address.add(span()),
            17 if is(name, b"transfer-encoding") => self.encoding.add(span()),
            _ => {}
        }
    }

    fn connection(&mut self, value: &[u8]) {
        if value == b"keep-alive" {
            self.keep_alive = true;
            return;
        }
        for element in value.split(|byte| *byte == b',') {
            let element = super::trim(element);
            self.close |= element.eq_ignore_ascii_case(b"close");
            self.keep_alive |= element.eq_ignore_ascii_case(b"keep-alive");
        }
    }
}

/// Whether `name`, a token, is `wanted`, which is in lower case. No token's byte but the capital becomes the wanted byte
/// by setting this bit, so that all bytes can be compared together.
fn is<const N: usize>(name: &[u8], wanted: &[u8; N]) -> bool {
    let Ok(name) = <&[u8; N]>::try_from(name) else {
        return false;
    };
    name.iter().zip(wanted).fold(0, |differences, (byte, wanted)| differences | ((byte | 0x20) ^ wanted)) == 0
}

/// Reads the fields that lie in `head` from `start` on to its end, which is the empty line.
pub fn parse(head: &[u8], start: usize) -> Result<Fields, Fault> {
    parse_by(tunables::FIELD_LOOKUP, tunables::HEADER_SLOTS, head, start)
}

/// The same in a way of one's choice.
pub fn parse_by(lookup: FieldLookup, slots: HeaderSlots, head: &[u8], start: usize) -> Result<Fields, Fault> {
    if slots == HeaderSlots::FewFirst {
        match parse_into(lookup, &mut [httparse::EMPTY_HEADER; 12], head, start) {
            Err(Fault::HeadTooLarge) => {}
            other => return other,
        }
    }
    parse_into(lookup, &mut [httparse::EMPTY_HEADER; MAX_FIELDS], head, start)
}

fn parse_into<'a>(
    lookup: FieldLookup,
    slots: &mut [Header<'a>],
    head: &'a [u8],
    start: usize,
) -> Result<Fields, Fault> {
    let fields = match httparse::parse_headers(&head[start..], slots) {
        Ok(httparse::Status::Complete((length, fields))) if start + length == head.len() => fields,
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLarge),
        Ok(_) | Err(_) => return Err(Fault::BadRequest),
    };
    Ok(match lookup {
        FieldLookup::ByName => by_name(head, fields),
        FieldLookup::OneWalk => {
            let mut wanted = Fields::default();
            for field in fields {
                wanted.add(head, field.name.as_bytes(), field.value);
            }
            wanted
        }
    })
}

fn by_name(head: &[u8], fields: &[Header<'_>]) -> Fields {
    let single = |name: &str| {
        let mut found = Single::default();
        for field in fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)) {
            found.add(Span::within(head, field.value));
        }
        found
    };
    let mut wanted = Fields {
        host: single("host"),
        length: single("content-length"),
        encoding: single("transfer-encoding"),
        address: single("x-forwarded-for"),
        key: single("x-api-key"),
        expect: single("expect"),
        ..Fields::default()
    };
    for field in fields.iter().filter(|field| field.name.eq_ignore_ascii_case("connection")) {
        wanted.connection(field.value);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_fields_are_found_in_any_case_and_counted() {
        let head = b"hOST: x\r\nX-Api-KEY: \t a b \r\nx-api-key:c\r\nother: 1\r\n\r\n";
        let fields = parse(head, 0).unwrap();
        assert_eq!((fields.host.count, fields.key.count, fields.length.count), (1, 2, 0));
        assert_eq!(fields.host.only().unwrap().of(head), b"x");
        assert_eq!(fields.key.only(), None);
        assert_eq!(fields.key.value.of(head), b"c");
    }

    #[test]
    fn connection_is_a_list_over_all_its_fields() {
        let fields = parse(b"Connection: xclose, Keep-Alive\r\nconnection: a,\tCLOSE ,b\r\n\r\n", 0).unwrap();
        assert!(fields.close && fields.keep_alive);
        assert!(!parse(b"Connection: xclose\r\n\r\n", 0).unwrap().close);
    }

    #[test]
    fn a_hundred_fields_are_read_and_one_more_is_too_many() {
        let fields = |count: usize| "a: b\r\n".repeat(count) + "\r\n";
        assert!(parse(fields(100).as_bytes(), 0).is_ok());
        assert_eq!(parse(fields(101).as_bytes(), 0), Err(Fault::HeadTooLarge));
    }

    #[test]
    fn malformed_fields_are_refused() {
        for head in [" a: b", "X : a", ": a", "foo", "X(a): b", "a: \x01", "a: \x7f", "a: b\r\n c", "a: b\rc"] {
            assert_eq!(parse(format!("{head}\r\n\r\n").as_bytes(), 0), Err(Fault::BadRequest), "{head:?}");
        }
    }
}
