//! Objects by serde_json: right for every text, and the one place that names it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Kind, Member, NotThatObject};
use crate::choices::JsonText;
use crate::tunables;

/// Reads `wanted` from the object in `text`.
pub fn read<'a, const N: usize>(text: &'a str, wanted: &[(&str, Kind); N]) -> Result<[Member<'a>; N], NotThatObject> {
    let mut source = serde_json::Deserializer::from_str(text);
    let members = source.deserialize_map(Object(wanted)).map_err(|_| NotThatObject)?;
    source.end().map_err(|_| NotThatObject)?;
    Ok(members)
}

struct Object<'w, const N: usize>(&'w [(&'w str, Kind); N]);

impl<'de, const N: usize> Visitor<'de> for Object<'_, N> {
    type Value = [Member<'de>; N];

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = [const { Member::Absent }; N];
        while let Some(key) = map.next_key_seed(Text)? {
            let found = key.and_then(|key| self.0.iter().position(|(name, _)| *name == key));
            let Some(place) = found else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = match self.0[place].1 {
                Kind::Text => map.next_value_seed(Text)?.map(Member::Text),
                Kind::Number => number(map.next_value()?)?.map(Member::Number),
                Kind::Flag => map.next_value::<Option<bool>>()?.map(Member::Flag),
                Kind::Presence => map.next_value::<IgnoredAny>().map(|_| Some(Member::Present))?,
            };
            if let Some(value) = value {
                members[place] = value;
            }
        }
        Ok(members)
    }
}

/// A number of any size. Rust reads the grammar of JSON numbers and makes those too large infinite.
fn number<E: Error>(raw: &RawValue) -> Result<Option<f64>, E> {
    match raw.get() {
        "null" => Ok(None),
        text if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            text.parse().map(Some).map_err(|_| E::custom("not a number"))
        }
        _ => Err(E::custom("not a number")),
    }
}

/// A string or null.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(match tunables::JSON_TEXT {
            JsonText::Owned => Cow::Owned(text.to_owned()),
            JsonText::Borrowed => Cow::Borrowed(text),
        }))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
}
