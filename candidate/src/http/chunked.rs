//! Decoding of a chunked body in place: data is moved together behind the head as it arrives, so that a body is one
//! stretch of bytes in the end and what has been decoded takes no further room.

use super::{Fault, MAX_BODY, MAX_CHUNK_LINE, MAX_TRAILERS, is_token, is_value};

#[derive(Clone, Copy, Debug)]
enum Stage {
    Size,
    Data { left: usize },
    DataEnd,
    Trailers { seen: usize },
    Done,
}

/// A body in the middle of being decoded.
#[derive(Clone, Copy, Debug)]
pub struct Chunked {
    stage: Stage,
    decoded: usize,
}

impl Default for Chunked {
    fn default() -> Self {
        Self { stage: Stage::Size, decoded: 0 }
    }
}

impl Chunked {
    /// Decodes what is there. `bytes` is everything behind the head: the data decoded so far, then what came since.
    /// Returns how many of them are left: the data, then what is not decoded (yet, or because it is behind the body).
    pub fn advance(&mut self, bytes: &mut [u8]) -> Result<usize, Fault> {
        let mut read = self.decoded;
        while let Some(consumed) = self.step(bytes, read)? {
            read += consumed;
        }
        if read > self.decoded {
            bytes.copy_within(read.., self.decoded);
        }
        Ok(bytes.len() - (read - self.decoded))
    }

    /// The length of the body once it is complete.
    pub fn complete(&self) -> Option<usize> {
        matches!(self.stage, Stage::Done).then_some(self.decoded)
    }

    /// One element of the coding at `read`; how long it was, or `None` if it has to wait.
    fn step(&mut self, bytes: &mut [u8], read: usize) -> Result<Option<usize>, Fault> {
        let rest = &bytes[read..];
        match self.stage {
            Stage::Size => {
                let (line, complete) = line(rest)?;
                let size = chunk_size(line)?;
                if self.decoded.saturating_add(size) > MAX_BODY {
                    return Err(Fault::TooLarge);
                }
                if !complete {
                    return Ok(None);
                }
                let used = line.len() + 2;
                self.stage = match size {
                    _ if !line.first().is_some_and(u8::is_ascii_hexdigit) => return Err(Fault::BadRequest),
                    0 => Stage::Trailers { seen: 0 },
                    left => Stage::Data { left },
                };
                Ok(Some(used))
            }
            Stage::Data { left } => {
                let part = left.min(rest.len());
                if part == 0 {
                    return Ok(None);
                }
                bytes.copy_within(read..read + part, self.decoded);
                self.decoded += part;
                self.stage = if part == left { Stage::DataEnd } else { Stage::Data { left: left - part } };
                Ok(Some(part))
            }
            Stage::DataEnd => match rest {
                [] | [b'\r'] => Ok(None),
                [b'\r', b'\n', ..] => {
                    self.stage = Stage::Size;
                    Ok(Some(2))
                }
                _ => Err(Fault::BadRequest),
            },
            Stage::Trailers { seen } => {
                let (line, complete) = line(rest)?;
                let seen = seen + line.len() + if line.is_empty() { 0 } else { 2 };
                if seen > MAX_TRAILERS {
                    return Err(Fault::HeadTooLarge);
                }
                if !complete {
                    return Ok(None);
                }
                self.stage = if line.is_empty() { Stage::Done } else { Stage::Trailers { seen } };
                if !line.is_empty() {
                    check_field(line)?;
                }
                Ok(Some(line.len() + 2))
            }
            Stage::Done => Ok(None),
        }
    }
}

/// The line at the start of `rest` without its CRLF, and whether that has come.
fn line(rest: &[u8]) -> Result<(&[u8], bool), Fault> {
    match memchr::memchr(b'\n', rest) {
        Some(end) => Ok((rest[..end].strip_suffix(b"\r").ok_or(Fault::BadRequest)?, true)),
        None => Ok((rest.strip_suffix(b"\r").unwrap_or(rest), false)),
    }
}

/// The size a line announces. An incomplete line is judged as far as it goes: its size can only grow.
fn chunk_size(line: &[u8]) -> Result<usize, Fault> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let extension = &line[digits..];
    let sound = match extension {
        [] => true,
        [b';', rest @ ..] => digits > 0 && rest.iter().all(|byte| is_value(*byte)),
        _ => false,
    };
    if !sound || digits > 16 || line.len() > MAX_CHUNK_LINE {
        return Err(Fault::BadRequest);
    }
    let size = line[..digits]
        .iter()
        .fold(0u64, |size, digit| size << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0)));
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

fn check_field(line: &[u8]) -> Result<(), Fault> {
    let colon = memchr::memchr(b':', line).ok_or(Fault::BadRequest)?;
    let sound = colon > 0
        && line[..colon].iter().all(|byte| is_token(*byte))
        && line[colon + 1..].iter().all(|byte| is_value(*byte));
    if sound { Ok(()) } else { Err(Fault::BadRequest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body and what is behind it.
    type Decoded = (Vec<u8>, Vec<u8>);

    /// What comes out of `text`, fed `step` bytes at a time.
    fn decode(text: &[u8], step: usize) -> Result<Option<Decoded>, Fault> {
        let mut chunked = Chunked::default();
        let mut bytes = Vec::new();
        for part in text.chunks(step) {
            bytes.extend_from_slice(part);
            let left = chunked.advance(&mut bytes)?;
            bytes.truncate(left);
        }
        Ok(chunked.complete().map(|body| {
            let behind = bytes.split_off(body);
            (bytes, behind)
        }))
    }

    #[test]
    fn a_body_is_the_same_in_any_cut() {
        let text = b"1\r\na\r\n0002;x=\"y\"\r\nbc\r\n3;\r\nde\n\r\n0\r\nX: y\r\nZ:\r\n\r\nGET /";
        for step in 1..=text.len() {
            let (body, behind) = decode(text, step).unwrap().unwrap();
            assert_eq!((body.as_slice(), behind.as_slice()), (&b"abcde\n"[..], &b"GET /"[..]), "{step} at a time");
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for text in [
            "x",
            "\r\n",
            ";\r\n",
            "1\n",
            "1 \r\n",
            "1\r\nab",
            "1\r\na\n",
            "00000000000000001",
            "1;\x01",
            "0\r\nfoo\r\n",
            "0\r\n a: b\r\n",
            "0\r\na\n",
        ] {
            for step in [1, text.len()] {
                assert_eq!(decode(text.as_bytes(), step), Err(Fault::BadRequest), "{text:?}");
            }
        }
        let long = format!("1;{}", "x".repeat(MAX_CHUNK_LINE));
        assert_eq!(decode(long.as_bytes(), 7), Err(Fault::BadRequest));
        assert_eq!(decode(&long.as_bytes()[..MAX_CHUNK_LINE], 7), Ok(None));
    }

    #[test]
    fn the_decoded_total_is_bounded_by_what_is_announced() {
        for size in ["10001", "ffffffffffffffff"] {
            assert_eq!(decode(format!("{size}\r\n").as_bytes(), 3), Err(Fault::TooLarge), "{size}");
        }
        let full = format!("10000\r\n{}\r\n", "x".repeat(MAX_BODY));
        assert_eq!(decode((full.clone() + "1\r\n").as_bytes(), 4_096), Err(Fault::TooLarge));
        let (body, _) = decode((full + "0\r\n\r\n").as_bytes(), 4_096).unwrap().unwrap();
        assert_eq!(body.len(), MAX_BODY);
    }

    #[test]
    fn trailers_may_have_4096_bytes() {
        let with = |length: usize| format!("0\r\na:{}\r\n\r\n", "b".repeat(length - 4));
        for step in [1, 10_000] {
            assert!(decode(with(MAX_TRAILERS).as_bytes(), step).unwrap().is_some());
            assert_eq!(decode(with(MAX_TRAILERS + 1).as_bytes(), step), Err(Fault::HeadTooLarge));
        }
    }
}
