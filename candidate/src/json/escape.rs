//! Strings as the contract writes them, in tokens and bodies alike: without their quotes, escaped.

use crate::choices::Escaping;
use crate::tunables;

/// Appends `text` to `out`, escaped.
pub fn append(out: &mut Vec<u8>, text: &str) {
    append_by(tunables::ESCAPING, out, text);
}

/// The same in a way of one's choice.
pub fn append_by(escaping: Escaping, out: &mut Vec<u8>, text: &str) {
    match escaping {
        Escaping::EachChar => each_char(out, text),
        Escaping::Stretches => stretches(out, text),
    }
}

fn each_char(out: &mut Vec<u8>, text: &str) {
    for character in text.chars() {
        match escaped(character) {
            Some(escape) => escape.append(out),
            None => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn stretches(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        // The two separators are the only special characters beyond ASCII; both begin with E2 80.
        if !SPECIAL[usize::from(*byte)] {
            at += 1;
            continue;
        }
        let character = match (*byte, bytes.get(at + 1), bytes.get(at + 2)) {
            (0xe2, Some(0x80), Some(0xa8)) => '\u{2028}',
            (0xe2, Some(0x80), Some(0xa9)) => '\u{2029}',
            (0xe2, ..) => {
                at += 3;
                continue;
            }
            (ascii, ..) => char::from(ascii),
        };
        out.extend_from_slice(&bytes[copied..at]);
        if let Some(escape) = escaped(character) {
            escape.append(out);
        }
        at += character.len_utf8();
        copied = at;
    }
    out.extend_from_slice(&bytes[copied..]);
}

const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte < 0x20 || matches!(byte as u8, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2);
        byte += 1;
    }
    table
};

enum Escape {
    Short(u8),
    Unit(u16),
}

impl Escape {
    fn append(self, out: &mut Vec<u8>) {
        match self {
            Self::Short(letter) => out.extend_from_slice(&[b'\\', letter]),
            Self::Unit(unit) => {
                out.extend_from_slice(b"\\u");
                for shift in [12, 8, 4, 0] {
                    out.push(b"0123456789abcdef"[usize::from(unit >> shift & 15)]);
                }
            }
        }
    }
}

fn escaped(character: char) -> Option<Escape> {
    Some(match character {
        '"' | '\\' => Escape::Short(character as u8),
        '\u{8}' => Escape::Short(b'b'),
        '\u{c}' => Escape::Short(b'f'),
        '\n' => Escape::Short(b'n'),
        '\r' => Escape::Short(b'r'),
        '\t' => Escape::Short(b't'),
        '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => Escape::Unit(character as u16),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_escape_alike() {
        for (text, expected) in [
            ("", ""),
            ("plain /'\u{7f}\u{e9}\u{1f600}", "plain /'\u{7f}\u{e9}\u{1f600}"),
            ("\"\\\u{8}\u{c}\n\r\t\0\u{1f}", r#"\"\\\b\f\n\r\t\u0000\u001f"#),
            ("<>&", r"\u003c\u003e\u0026"),
            ("a\u{2027}\u{2028}b\u{2029}\u{2030}\u{20ac}", "a\u{2027}\\u2028b\\u2029\u{2030}\u{20ac}"),
        ] {
            for way in [each_char, stretches] {
                let mut out = Vec::new();
                way(&mut out, text);
                assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }
}
