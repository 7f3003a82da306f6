//! JSON in and out: one object, whose wanted members have the right type, the last that is not null counting; and
//! strings escaped as the contract spells them.

use std::io;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::Failure;

/// Objects and arrays inside each other at most.
const DEEPEST: usize = 64;

/// The members of an object, repeated ones too.
#[derive(Debug)]
pub struct Object(Vec<(String, Value)>);

impl Object {
    /// The one object that the text is.
    pub fn parse(text: &[u8]) -> Result<Object, Failure> {
        if deepest(text) > DEEPEST {
            return Err("nested too deep".into());
        }
        // Checked whole: serde_json looks only into the strings it hands over.
        Ok(serde_json::from_str(std::str::from_utf8(text)?)?)
    }

    /// Whether there is such a member, null or not.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    /// A string; absent and null are `None`.
    pub fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        self.last(name, |value| value.as_str().map(str::to_owned))
    }

    /// True or false.
    pub fn truth(&self, name: &str) -> Result<Option<bool>, Failure> {
        self.last(name, Value::as_bool)
    }

    /// A number; one that is too large is infinite.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Failure> {
        self.last(name, |value| value.as_number()?.as_str().parse().ok())
    }

    fn last<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, Failure> {
        let mut found = None;
        for (_, value) in self.0.iter().filter(|(own, value)| own == name && !value.is_null()) {
            found = Some(read(value).ok_or_else(|| format!("{name} has the wrong type"))?);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// How deep brackets are nested, outside strings. What is no JSON has some depth too; it is refused later.
fn deepest(text: &[u8]) -> usize {
    let (mut depth, mut most, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// The value as text, escaped as the contract wants.
pub fn text(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Escaping)).expect("strings can always be written");
    String::from_utf8(out).expect("JSON of strings is UTF-8")
}

/// Beside what JSON must escape, what HTML and JavaScript stumble over.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, mut text: &str) -> io::Result<()> {
        const SPECIAL: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        while let Some(at) = text.find(SPECIAL) {
            out.write_all(&text.as_bytes()[..at])?;
            let special = text[at..].chars().next().expect("found at a character");
            write!(out, "\\u{:04x}", special as u32)?;
            text = &text[at + special.len_utf8()..];
        }
        out.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_member_that_is_not_null_counts_and_each_must_have_its_type() {
        let text = |json: &str| Object::parse(json.as_bytes()).unwrap().text("a").map_err(|error| error.to_string());
        assert_eq!(text(r#"{"a":"x","a":"y","a":null}"#), Ok(Some("y".to_owned())));
        assert_eq!(text(r#"{"A":"x","b":{"a":"x"}}"#), Ok(None));
        assert!(text(r#"{"a":5,"a":"y"}"#).is_err());
    }

    #[test]
    fn what_is_not_one_object_is_refused_also_inside_members_that_nobody_reads() {
        for json in ["[]", "{} x", r#"{"a":01}"#, r#"{"a":"\ud83d"}"#, "{\"a\":\"\u{1}\"}", r#"{"a":1,}"#] {
            assert!(Object::parse(json.as_bytes()).is_err(), "{json}");
        }
        assert!(Object::parse(b"{\"a\":\"\xff\"}").is_err());
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert!(Object::parse(nested(DEEPEST).as_bytes()).is_ok());
        assert!(Object::parse(nested(DEEPEST + 1).as_bytes()).is_err());
        assert!(Object::parse(br#"{"a":1e999,"b":"[[{\""}"#).is_ok());
    }

    #[test]
    fn strings_are_escaped_as_the_contract_spells_them() {
        assert_eq!(
            text(&"a<b>&\"\\/\u{8}\u{1f}\u{7f}\u{2028}é"),
            r#""a\u003cb\u003e\u0026\"\\/\b\u001f"#.to_owned() + "\u{7f}\\u2028é\""
        );
    }
}
