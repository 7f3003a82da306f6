//! A scanner for the usual object: flat, its members strings, short whole numbers, truth values, null. At anything else it
//! gives up and says nothing about the text, so that it can never disagree with the general reader.

use std::borrow::Cow;

use super::{Kind, Member};
use crate::choices::JsonText;
use crate::tunables;

/// Reads `wanted` from the object in `bytes`; `None` means "ask the general reader".
pub(super) fn read<'a, const N: usize>(bytes: &'a [u8], wanted: &[(&str, Kind); N]) -> Option<[Member<'a>; N]> {
    let mut members = [const { Member::Absent }; N];
    let mut scan = Scan::new(bytes);
    scan.mark(b'{')?;
    if scan.mark(b'}').is_some() {
        return scan.end().then_some(members);
    }
    loop {
        scan.mark(b'"')?;
        let key = scan.plain()?;
        let place = if scan.next_is(b'"') { place_of(key, wanted) } else { place_of(&scan.escaped(key)?, wanted) };
        scan.mark(b':')?;
        let value = scan.value()?;
        if let Some(place) = place {
            match (wanted[place].1, value) {
                (Kind::Presence, _) => members[place] = Member::Present,
                (_, Value::Null) => {}
                (Kind::Text, Value::Text(text)) => members[place] = Member::Text(text),
                (Kind::Number, Value::Number(number)) => members[place] = Member::Number(number),
                (Kind::Flag, Value::Flag(flag)) => members[place] = Member::Flag(flag),
                _ => return None,
            }
        }
        if scan.mark(b',').is_none() {
            scan.mark(b'}')?;
            return scan.end().then_some(members);
        }
    }
}

/// The login of an object `{"login":"...","nonce":"..."}` in this very form, its strings without escapes; `None` means "ask
/// another reader".
pub fn login_and_nonce(bytes: &[u8]) -> Option<&str> {
    let mut scan = Scan::new(bytes);
    scan.literal(br#"{"login":""#)?;
    let login = scan.plain()?;
    scan.literal(br#"","nonce":""#)?;
    scan.plain()?;
    scan.literal(br#""}"#)?;
    (scan.at == bytes.len()).then_some(login)
}

#[inline(always)]
fn place_of(key: &str, wanted: &[(&str, Kind)]) -> Option<usize> {
    wanted.iter().position(|(name, _)| *name == key)
}

enum Value<'a> {
    Text(Cow<'a, str>),
    Number(f64),
    Flag(bool),
    Null,
}

/// The object, and how far it is read.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The bytes from `start` on.
    window: Window,
    start: usize,
}

impl<'a> Scan<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, window: Window::of(bytes), start: 0 }
    }

    /// Goes behind `text`, which has to come next.
    #[inline(always)]
    fn literal<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        let next: &[u8; N] = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        (next == text).then_some(())
    }

    /// Goes behind `mark`, which may have white space before it; if something else comes, up to that.
    #[inline(always)]
    fn mark(&mut self, mark: u8) -> Option<()> {
        while let Some(byte) = self.bytes.get(self.at) {
            if *byte == mark {
                self.at += 1;
                return Some(());
            }
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                break;
            }
            self.at += 1;
        }
        None
    }

    /// Goes behind `byte` if it comes next.
    fn next_is(&mut self, byte: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is);
        is
    }

    /// Whether nothing but white space comes.
    fn end(&self) -> bool {
        self.bytes[self.at..].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    #[inline(always)]
    fn value(&mut self) -> Option<Value<'a>> {
        if self.mark(b'"').is_some() {
            return self.string().map(Value::Text);
        }
        let rest = &self.bytes[self.at..];
        let (value, length) = match rest {
            [b'0'..=b'9', ..] => {
                let length = rest.iter().position(|byte| !byte.is_ascii_digit())?;
                (Value::Number(whole(&rest[..length])?), length)
            }
            [b't', b'r', b'u', b'e', ..] => (Value::Flag(true), 4),
            [b'f', b'a', b'l', b's', b'e', ..] => (Value::Flag(false), 5),
            [b'n', b'u', b'l', b'l', ..] => (Value::Null, 4),
            _ => return None,
        };
        self.at += length;
        Some(value)
    }

    /// A string whose first quote is behind us.
    #[inline(always)]
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let text = self.plain()?;
        if !self.next_is(b'"') {
            return self.escaped(text).map(Cow::Owned);
        }
        Some(match tunables::JSON_TEXT {
            JsonText::Owned => Cow::Owned(text.to_owned()),
            JsonText::Borrowed => Cow::Borrowed(text),
        })
    }

    /// The rest of a string that begins with `text`, up to its first escape.
    fn escaped(&mut self, text: &str) -> Option<String> {
        let mut whole = text.to_owned();
        loop {
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(whole);
                }
                b'\\' => whole.push(self.escape()?),
                _ => return None,
            }
            whole.push_str(self.plain()?);
        }
    }

    /// What an escape stands for.
    fn escape(&mut self) -> Option<char> {
        let (character, length) = match self.bytes.get(self.at + 1)? {
            byte @ (b'"' | b'\\' | b'/') => (char::from(*byte), 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => match super::strict::unit(&self.bytes[self.at..])? {
                // The first of a pair.
                unit @ 0xd800..=0xdbff => {
                    let second = super::strict::unit(self.bytes.get(self.at + 6..)?)?;
                    (char::decode_utf16([unit as u16, second as u16]).next()?.ok()?, 12)
                }
                unit => (char::from_u32(unit)?, 6),
            },
            _ => return None,
        };
        self.at += length;
        Some(character)
    }

    /// The bytes that stand for themselves, up to a quote, an escape or what no string has.
    #[inline(always)]
    fn plain(&mut self) -> Option<&'a str> {
        let start = self.at;
        let mut others = 0;
        loop {
            let offset = self.at - self.start;
            if offset >= WIDTH {
                self.window = Window::of(self.bytes.get(self.at..)?);
                self.start = self.at;
                continue;
            }
            let ends = self.window.ends >> offset;
            if ends != 0 {
                others |= (self.window.others >> offset) & ((ends & ends.wrapping_neg()) - 1);
                self.at += ends.trailing_zeros() as usize;
                break;
            }
            others |= self.window.others >> offset;
            self.at = self.start + WIDTH;
        }
        let text = &self.bytes[start..self.at];
        if others == 0 {
            // SAFETY: ASCII is UTF-8.
            return Some(unsafe { std::str::from_utf8_unchecked(text) });
        }
        std::str::from_utf8(text).ok()
    }
}

/// A whole number that a double holds exactly. Behind the digits of any other number comes no mark, but a dot or an `e`.
fn whole(digits: &[u8]) -> Option<f64> {
    if digits.len() > 15 || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    Some(digits.iter().fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0')) as f64)
}

/// Bytes looked at together.
const WIDTH: usize = 64;

/// What the next bytes are: a bit for each, the first one lowest.
struct Window {
    /// Ends what stands for itself: a quote, a backslash, a control, the end of the text.
    ends: u64,
    /// Is not ASCII.
    others: u64,
}

impl Window {
    fn of(bytes: &[u8]) -> Window {
        match bytes.first_chunk() {
            Some(whole) => Window::whole(whole),
            None => {
                // Zeros are controls.
                let mut padded = [0; WIDTH];
                padded[..bytes.len()].copy_from_slice(bytes);
                Window::whole(&padded)
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn whole(bytes: &[u8; WIDTH]) -> Window {
        use std::arch::x86_64::*;
        let mut window = Window { ends: 0, others: 0 };
        for (part, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: there are 16 bytes, and every processor of this kind has SSE2.
            let (ends, others) = unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
                let low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
                let ends = _mm_or_si128(low, _mm_or_si128(is(b'"'), is(b'\\')));
                (_mm_movemask_epi8(ends) as u32, _mm_movemask_epi8(bytes) as u32)
            };
            window.ends |= u64::from(ends) << (16 * part);
            window.others |= u64::from(others) << (16 * part);
        }
        window
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn whole(bytes: &[u8; WIDTH]) -> Window {
        let mut window = Window { ends: 0, others: 0 };
        for (at, byte) in bytes.iter().enumerate() {
            window.ends |= u64::from(*byte < 0x20 || matches!(byte, b'"' | b'\\')) << at;
            window.others |= u64::from(!byte.is_ascii()) << at;
        }
        window
    }
}
