//! JSON objects in and strings out. A caller names the members it wants and their types; the rest is checked and ignored.

pub mod escape;
mod flat;
mod general;
mod strict;

use std::borrow::Cow;

pub use flat::login_and_nonce;

use crate::choices::JsonReader;

/// What a wanted member must be, null aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Anything; only whether it is there counts.
    Presence,
}

/// A wanted member's last value that is not null.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Member<'a> {
    /// Not there, or null wherever it is.
    #[default]
    Absent,
    /// A string.
    Text(Cow<'a, str>),
    /// A number; infinite if it is too large for a double.
    Number(f64),
    /// A truth value.
    Flag(bool),
    /// It is there, be it null.
    Present,
}

impl<'a> Member<'a> {
    /// The string, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The string by value, if it is one.
    pub fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Not the object that was asked for: bad syntax, another type at the top, or a wanted member of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotThatObject;

/// Nesting that is still read, the top object included.
pub const MAX_DEPTH: usize = 64;

/// The members `wanted` of the object in `bytes`, in that order.
pub fn read<'a, const N: usize>(
    reader: JsonReader,
    bytes: &'a [u8],
    wanted: &[(&str, Kind); N],
) -> Result<[Member<'a>; N], NotThatObject> {
    if reader == JsonReader::FlatFirst
        && let Some(members) = flat::read(bytes, wanted)
    {
        return Ok(members);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| NotThatObject)?;
    strict::check(text)?;
    general::read(text, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [(&str, Kind); 4] =
        [("login", Kind::Text), ("exp", Kind::Number), ("is_admin", Kind::Flag), ("crit", Kind::Presence)];

    fn of(text: &[u8]) -> Result<[Member<'_>; 4], NotThatObject> {
        let general = read(JsonReader::General, text, &WANTED);
        let flat_first = read(JsonReader::FlatFirst, text, &WANTED);
        assert_eq!(general, flat_first, "the readers differ on {:?}", String::from_utf8_lossy(text));
        general
    }

    fn login(text: &str) -> Option<String> {
        of(text.as_bytes()).unwrap()[0].text().map(str::to_owned)
    }

    #[test]
    fn the_last_value_that_is_not_null_counts() {
        assert_eq!(login(r#"{"login":"bob","login":"ann","login":null}"#).as_deref(), Some("ann"));
        assert_eq!(login(r#" { "x" : {"login":"bob"} , "LOGIN":"adm" } "#), None);
        assert_eq!(login("{}"), None);
        assert_eq!(login(r#"{"l\u006fgin":"\u00ff\ud83d\ude00\/\u0000"}"#).as_deref(), Some("\u{ff}\u{1f600}/\0"));
        assert_eq!(login(r#"{"nonce":"\"login\":\"bob\"","login":"ann"}"#).as_deref(), Some("ann"));
    }

    #[test]
    fn every_occurrence_has_the_right_type() {
        for text in [
            r#"{"login":5,"login":"ann"}"#,
            r#"{"login":[]}"#,
            r#"{"login":true}"#,
            r#"{"exp":"1"}"#,
            r#"{"is_admin":1}"#,
        ] {
            assert_eq!(of(text.as_bytes()), Err(NotThatObject), "{text}");
        }
    }

    #[test]
    fn numbers_flags_and_presence_are_told_apart() {
        let members = of(br#"{"exp":-1.5e2,"is_admin":true,"crit":null}"#).unwrap();
        assert_eq!(members[1..], [Member::Number(-150.0), Member::Flag(true), Member::Present]);
        assert_eq!(of(br#"{"exp":1e999}"#).unwrap()[1], Member::Number(f64::INFINITY));
        assert!(of(br#"{"x":1e999,"y":-0,"z":0.0E+1}"#).is_ok());
    }

    #[test]
    fn bad_syntax_is_refused_also_in_what_is_ignored() {
        for text in [
            "",
            " ",
            "[]",
            "null",
            "\"x\"",
            "{",
            "{\"login\":\"ann\",}",
            "{'login':'ann'}",
            "{/**/}",
            "{\"x\":NaN}",
            "{\"x\":01}",
            "{\"x\":+1}",
            "{\"x\":1.}",
            "{\"x\":.5}",
            "{\"x\":1e}",
            "{\"x\":tru}",
            "\u{feff}{}",
            "{\"x\":\"\t\"}",
            "{\"x\":\"\n\"}",
            "{\"x\":\"\\x41\"}",
            "{\"x\":\"\\u12G4\"}",
            "{} x",
            "{}{}",
            "{\"login\":\"\\ud83d\"}",
            "{\"x\":\"\\ud83d\"}",
            "{\"x\":\"\\ude00\\ud83d\"}",
            "{\"x\":\"\\ud83dx\"}",
            "{\"x\":[\"\\ud83d\\u0041\"]}",
            "{\"\\ud83d\":1}",
            "{\"x\" \"y\"}",
            "{\"x\":\"a\\\"}",
            "{,}",
            "{\"x\":1 \"y\":2}",
            "{\"x\"}",
            "{x:1}",
            "{\"login\":\"a\u{1}\"}",
            "{}\u{0}",
            "{}\u{c}",
        ] {
            assert_eq!(of(text.as_bytes()), Err(NotThatObject), "{text:?}");
        }
        for bytes in [
            &b"{\"x\":\"\xff\"}"[..],
            b"{\"x\":\"\xc0\xaf\"}",
            b"{\"x\":\"\xed\xa0\x80\"}",
            b"{\"login\":\"\xff\"}",
            b"{\"\xff\":\"a\"}",
        ] {
            assert_eq!(of(bytes), Err(NotThatObject), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_utf8_is_refused_wherever_it_stands() {
        for length in 0..150 {
            for at in 0..length {
                let mut text = format!(r#"{{"login":"{0}","nonce":"{0}"}}"#, "a".repeat(length)).into_bytes();
                assert!(login_and_nonce(&text).is_some() && of(&text).is_ok());
                for start in [10, 21 + length] {
                    text[start + at] = 0xff;
                    assert!(login_and_nonce(&text).is_none(), "{at} of {length} from {start}");
                    assert_eq!(of(&text), Err(NotThatObject), "{at} of {length} from {start}");
                    text[start + at] = b'a';
                }
            }
        }
    }

    #[test]
    fn nesting_ends_at_64() {
        let nested = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(of(nested(64).as_bytes()).is_ok());
        assert_eq!(of(nested(65).as_bytes()), Err(NotThatObject));
        assert_eq!(of("[".repeat(30_000).as_bytes()), Err(NotThatObject));
        assert_eq!(of(format!("{{\"x\":{}", "[".repeat(30_000)).as_bytes()), Err(NotThatObject));
        assert!(of(format!("{{\"x\":\"{}\"}}", "[".repeat(100)).as_bytes()).is_ok());
    }
}
