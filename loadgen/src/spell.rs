//! JSON documents spelled in the many ways the grammar allows: spacing, escapes, order, ignored and repeated members.
//! What a document means is not changed by how it is spelled.

use crate::chance::{Chance, Deck};

/// A member's value: a string still to be spelled, or JSON text that is already.
#[derive(Debug, Clone)]
pub enum Value {
    /// A string.
    Text(String),
    /// Any JSON, written as it stands.
    Raw(String),
}

/// One way of spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Spaced,
    Escaped,
    Ignored,
    Repeated,
}

/// Spells documents; the styles come in fixed proportions.
#[derive(Debug)]
pub struct Speller {
    styles: Deck<Style>,
    orders: Deck<bool>,
}

impl Default for Speller {
    fn default() -> Speller {
        use Style::{Escaped, Ignored, Plain, Repeated, Spaced};
        Speller {
            styles: Deck::new([
                Plain, Plain, Plain, Plain, Plain, Plain, Spaced, Spaced, Spaced, Escaped, Escaped, Ignored, Ignored,
                Repeated,
            ]),
            orders: Deck::once_in(2),
        }
    }
}

/// Members a reader has to walk over, each of another type.
const IGNORED: &[&str] = &[
    "null",
    "true",
    "-0.5e+3",
    "12345678901234567890123",
    "[]",
    "[1,[2,[3]],{\"a\":{}}]",
    "{\"login\":\"nobody\",\"password\":\"none\"}",
    "\"\\u0000\\\\\\\"login\\\":\\\"x\\\"\"",
    "\"日本 \\ud83d\\ude00\"",
];

impl Speller {
    /// An object with these members. `repeats` allows a known member to come twice, the first time with another
    /// string or the second time as null.
    pub fn object(&mut self, chance: &mut Chance, members: &[(&str, Value)], repeats: bool) -> String {
        let style = self.styles.deal(chance);
        let mut members: Vec<(String, Value)> =
            members.iter().map(|(key, value)| ((*key).to_string(), value.clone())).collect();
        if self.orders.deal(chance) {
            chance.shuffle(&mut members);
        }
        if style == Style::Ignored {
            for _ in 0..2 {
                let key = format!("x{}", chance.word(5));
                let at = chance.below(members.len() + 1);
                members.insert(at, (key, Value::Raw((*chance.pick(IGNORED)).to_string())));
            }
        }
        if style == Style::Repeated && repeats && !members.is_empty() {
            let at = chance.below(members.len());
            let key = members[at].0.clone();
            if chance.once_in(2) {
                members.insert(at + 1, (key, Value::Raw("null".into())));
            } else {
                members.insert(at, (key, Value::Text(chance.word(6))));
            }
        }
        let mut out = String::new();
        let gap = |chance: &mut Chance| match style {
            Style::Spaced => *chance.pick(&["", " ", "  ", "\n", "\t", "\r\n "]),
            _ => "",
        };
        out.push_str(gap(chance));
        out.push('{');
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(gap(chance));
            self.string(chance, &mut out, key, style);
            out.push_str(gap(chance));
            out.push(':');
            out.push_str(gap(chance));
            match value {
                Value::Text(text) => self.string(chance, &mut out, text, style),
                Value::Raw(raw) => out.push_str(raw),
            }
            out.push_str(gap(chance));
        }
        out.push('}');
        out.push_str(gap(chance));
        out
    }

    fn string(&mut self, chance: &mut Chance, out: &mut String, text: &str, style: Style) {
        out.push('"');
        for c in text.chars() {
            let escape = style == Style::Escaped && chance.once_in(4);
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '/' if escape => out.push_str("\\/"),
                '\0'..='\u{1f}' => unit(chance, out, c as u16),
                _ if escape => {
                    for &mut half in c.encode_utf16(&mut [0; 2]) {
                        unit(chance, out, half);
                    }
                }
                _ => out.push(c),
            }
        }
        out.push('"');
    }
}

fn unit(chance: &mut Chance, out: &mut String, unit: u16) {
    if chance.once_in(2) {
        out.push_str(&format!("\\u{unit:04x}"));
    } else {
        out.push_str(&format!("\\u{unit:04X}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_means_the_same() {
        let mut chance = Chance::new(3, "spell");
        let mut speller = Speller::default();
        let text = "a\"\\/\u{1}\n\tö😀\u{2028}<";
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let members = [("login", Value::Text(text.into())), ("n", Value::Raw("5".into()))];
            let spelled = speller.object(&mut chance, &members, false);
            let read: serde_json::Value = serde_json::from_str(&spelled).unwrap();
            assert_eq!(read["login"], text);
            assert_eq!(read["n"], 5);
            seen.insert(spelled);
        }
        assert!(seen.len() > 50);
    }
}
