//! HTTP/1 as the contract wants it: what a request is made of, the limits, the faults.
//! Pure functions over bytes; nothing here knows of sockets, users or the bytes of a response.

pub mod address;
pub mod blocks;
pub mod chunked;
pub mod fields;
pub mod framing;
pub mod head;
pub mod line;
pub mod one_pass;
pub mod target;

/// Longest head, from the request line to the empty line, in bytes.
pub const MAX_HEAD: usize = 16_384;
/// Most fields in a head.
pub const MAX_FIELDS: usize = 100;
/// Longest body, decoded, in bytes.
pub const MAX_BODY: usize = 65_536;
/// Longest line that announces a chunk, without its CRLF, in bytes.
pub const MAX_CHUNK_LINE: usize = 256;
/// Longest trailer section, with its CRLFs, in bytes.
pub const MAX_TRAILERS: usize = 4_096;

/// Why a request cannot be taken; each is a final status after which the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 400: the bytes are no request.
    BadRequest,
    /// 408: the rest did not come in time.
    Timeout,
    /// 413: the body is, or will be, too long.
    TooLarge,
    /// 417: an expectation other than `100-continue`.
    Expectation,
    /// 431: the head has too many bytes or fields.
    HeadTooLarge,
    /// 501: a transfer coding other than `chunked`.
    NotImplemented,
    /// 505: a major version other than 1.
    Version,
}

/// The methods that some route knows, and all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// Any other token.
    Other,
}

/// What becomes of the connection after the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It stays open and nothing is said.
    Open,
    /// It stays open and that is said (HTTP/1.0).
    KeepAlive,
    /// It closes and that is said.
    Close,
}

/// A stretch of the bytes a head was read from, by offsets, so that it survives a move of the buffer. Narrow, for heads are
/// passed by value: what is not in the first 4 GiB is in no head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// From the byte at `start` to the one before `end`.
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(end <= u32::MAX as usize);
        Self { start: start as u32, end: end as u32 }
    }

    /// Where `part`, a subslice of `whole`, lies in it.
    pub fn within(whole: &[u8], part: &[u8]) -> Self {
        let start = part.as_ptr() as usize - whole.as_ptr() as usize;
        Self::new(start, start + part.len())
    }

    /// The bytes this stands for in `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// Whether `byte` may stand in a token (method, field name).
pub const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Whether `byte` may stand in a field value or a chunk extension.
pub fn is_value(byte: u8) -> bool {
    VALUE[usize::from(byte)]
}

/// `value` without blanks and tabs around it.
pub fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0x21;
    while byte < 0x7f {
        table[byte] =
            !matches!(byte as u8, b'"' | b'(' | b')' | b',' | b'/' | b':'..=b'@' | b'[' | b'\\' | b']' | b'{' | b'}');
        byte += 1;
    }
    table
};

const VALUE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte == 0x09 || (byte >= 0x20 && byte != 0x7f);
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_bytes_are_those_of_the_standard() {
        let all: Vec<u8> = (0..=255).filter(|byte| is_token(*byte)).collect();
        let mut expected = b"!#$%&'*+-.^_`|~".to_vec();
        expected.extend(b'0'..=b'9');
        expected.extend(b'a'..=b'z');
        expected.extend(b'A'..=b'Z');
        expected.sort_unstable();
        assert_eq!(all, expected);
    }

    #[test]
    fn only_blanks_and_tabs_are_trimmed() {
        assert_eq!(trim(b" \t a b\t "), b"a b");
        assert_eq!(trim(b" \t "), b"");
        assert_eq!(trim(b"\x0bx"), b"\x0bx");
    }
}
