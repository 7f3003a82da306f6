//! A scanner for the usual object: flat, all members plain strings without escapes. At anything else it gives up and says
//! nothing about the text, so that it can never disagree with the general reader.

use std::borrow::Cow;

use super::{Kind, Member};
use crate::choices::JsonText;
use crate::tunables;

/// Reads `wanted` from the object in `bytes`; `None` means "ask the general reader".
pub fn read<'a, const N: usize>(bytes: &'a [u8], wanted: &[(&str, Kind); N]) -> Option<[Member<'a>; N]> {
    let mut members = [const { Member::Absent }; N];
    let mut rest = punctuation(bytes, b'{')?;
    if let Some(end) = punctuation(rest, b'}') {
        return blank(end).is_empty().then_some(members);
    }
    loop {
        let (key, after) = string(blank(rest))?;
        let (value, after) = string(blank(punctuation(after, b':')?))?;
        if let Some(place) = wanted.iter().position(|(name, _)| *name == key) {
            members[place] = match wanted[place].1 {
                Kind::Text if tunables::JSON_TEXT == JsonText::Owned => Member::Text(Cow::Owned(value.to_owned())),
                Kind::Text => Member::Text(Cow::Borrowed(value)),
                Kind::Presence => Member::Present,
                Kind::Number | Kind::Flag => return None,
            };
        }
        if let Some(next) = punctuation(after, b',') {
            rest = next;
        } else {
            let end = punctuation(after, b'}')?;
            return blank(end).is_empty().then_some(members);
        }
    }
}

fn blank(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    &bytes[end.unwrap_or(bytes.len())..]
}

/// What is behind `mark`, which may have white space before it.
fn punctuation(bytes: &[u8], mark: u8) -> Option<&[u8]> {
    match blank(bytes) {
        [first, rest @ ..] if *first == mark => Some(rest),
        _ => None,
    }
}

/// A string that stands for itself, and what is behind it.
fn string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let [b'"', rest @ ..] = bytes else {
        return None;
    };
    let end = rest.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\')?;
    if rest[end] != b'"' {
        return None;
    }
    Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
}
