//! Bodies that are not the JSON they should be, made from a right one.

use crate::chance::{Chance, Deck};
use crate::spell::Value;

/// Breaks documents; the ways come in fixed proportions.
#[derive(Debug)]
pub struct Breaker {
    ways: Deck<u8>,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker { ways: Deck::new((0..16).collect::<Vec<_>>()) }
    }
}

impl Breaker {
    /// A document that is right but for one fault. `right` must be an object with at least one member.
    pub fn spoil(&mut self, chance: &mut Chance, right: &str) -> Vec<u8> {
        let right = right.trim();
        let open = &right[..right.len() - 1];
        let with = |member: &str| format!("{open},{member}}}");
        let text = match self.ways.deal(chance) {
            0 => format!("{right}x"),
            1 => open.to_string(),
            2 => format!("{open},}}"),
            3 => format!("[{right}]"),
            4 => (*chance.pick(&["null", "5", "\"x\"", "true", "[]"])).to_string(),
            5 => String::new(),
            6 => with("\"x\":NaN"),
            7 => with("\"x\":01"),
            8 => with("\"x\":\"\\ud83d\""),
            9 => with("\"x\":\"a\tb\""),
            10 => with(&format!("\"x\":{}{}", "[".repeat(64), "]".repeat(64))),
            11 => format!("\u{feff}{right}"),
            12 => with("\"x\":\"\\x41\""),
            13 => format!("{right}{right}"),
            14 => with("'x':1"),
            _ => {
                let mut bytes = format!("{open},\"x\":\"").into_bytes();
                let faults: [&[u8]; 4] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"];
                bytes.extend_from_slice(faults[chance.below(4)]);
                bytes.extend_from_slice(b"\"}");
                return bytes;
            }
        };
        text.into_bytes()
    }
}

/// A value of a type that no wanted member may have.
pub fn wrong_type(chance: &mut Chance) -> Value {
    Value::Raw((*chance.pick(&["5", "true", "[]", "{}", "-0.0", "[\"x\"]"])).to_string())
}
