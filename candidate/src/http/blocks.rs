//! The usual head, 32 bytes at a time: one look at a line's first bytes tells where its name ends, whether the name is a
//! token, and where the line ends. It reads sound heads only. At anything else, and on a processor without AVX2, it gives
//! up and says nothing about the head, so that it can never disagree with the reader that is asked then.

use super::head::Head;

/// Reads the head at the start of `bytes`; `None` means "ask another reader".
#[cfg(target_arch = "x86_64")]
pub fn read(bytes: &[u8]) -> Option<Head> {
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1")) {
        return None;
    }
    // SAFETY: the processor has what the function needs.
    unsafe { avx2::read(bytes) }
}

/// Reads no head: there is no such reader for this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn read(_: &[u8]) -> Option<Head> {
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::super::fields::Fields;
    use super::super::head::{self, Head};
    use super::super::line::RequestLine;
    use super::super::{MAX_FIELDS, MAX_HEAD, Method, Span, is_token};

    /// Bytes looked at together.
    const WIDTH: usize = 32;

    #[target_feature(enable = "avx2,bmi1")]
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let first_end = line_end(bytes, 0)?;
        let line = request_line(&bytes[..first_end])?;
        let mut fields = Fields::default();
        let mut at = first_end + 2;
        for _ in 0..=MAX_FIELDS {
            let block = Block::load(bytes, at);
            let controls = block.controls();
            let end = match controls.trailing_zeros() as usize {
                0 => {
                    let head = bytes.get(..at + 2).filter(|head| head.ends_with(b"\r\n") && head.len() <= MAX_HEAD)?;
                    return head::assemble(head, &line, &fields).ok();
                }
                WIDTH => line_end(bytes, at + WIDTH)?,
                found => checked_end(bytes, at + found)?,
            };
            // A name ends at the first byte that is not a token's, and only if that is a colon: no control comes before it,
            // so that it lies before the end of the line.
            let (name, value) = bytes.get(at..end)?.split_at_checked(block.name_length()?)?;
            fields.add(bytes, name, &value[1..]);
            at = end + 2;
        }
        None
    }

    /// Where the first control from `start` on is, if it begins a CRLF.
    #[target_feature(enable = "avx2,bmi1")]
    fn line_end(bytes: &[u8], mut start: usize) -> Option<usize> {
        loop {
            let controls = Block::load(bytes, start).controls();
            if controls != 0 {
                return checked_end(bytes, start + controls.trailing_zeros() as usize);
            }
            start += WIDTH;
        }
    }

    fn checked_end(bytes: &[u8], end: usize) -> Option<usize> {
        (bytes.get(end..end + 2)? == b"\r\n").then_some(end)
    }

    /// Reads a request line of HTTP/1.1 with one of the known methods.
    fn request_line(line: &[u8]) -> Option<RequestLine> {
        let rest = line.strip_suffix(b" HTTP/1.1")?;
        let (method, start) = match rest {
            [b'G', b'E', b'T', b' ', ..] => (Method::Get, 4),
            [b'P', b'O', b'S', b'T', b' ', ..] => (Method::Post, 5),
            [b'P', b'U', b'T', b' ', ..] => (Method::Put, 4),
            [b'H', b'E', b'A', b'D', b' ', ..] => (Method::Head, 5),
            [b'P', b'A', b'T', b'C', b'H', b' ', ..] => (Method::Patch, 6),
            [b'D', b'E', b'L', b'E', b'T', b'E', b' ', ..] => (Method::Delete, 7),
            _ => return None,
        };
        Some(RequestLine { method, target: Span::new(start, rest.len()), old: false })
    }

    /// What a token byte has in common with others of its upper four bits, by its lower four: bit `n` stands for the upper
    /// four bits `n`, and is set if that byte is a token's.
    const TOKENS: [u8; 16] = {
        let mut table = [0; 16];
        let mut byte = 0;
        while byte < 128 {
            if is_token(byte) {
                table[byte as usize & 15] |= 1 << (byte >> 4);
            }
            byte += 1;
        }
        table
    };

    /// The bit of [`TOKENS`] for each upper four bits; none for bytes that are not ASCII.
    const UPPER: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

    /// The bytes from `start` on, fewer than 32, and zeros behind them.
    #[cold]
    fn padded(bytes: &[u8], start: usize) -> [u8; WIDTH] {
        let mut padded = [0; WIDTH];
        let rest = bytes.get(start..).unwrap_or_default();
        padded[..rest.len()].copy_from_slice(rest);
        padded
    }

    #[derive(Clone, Copy)]
    struct Block(__m256i);

    impl Block {
        /// The bytes from `start` on; zeros, which are controls, where there are no more.
        #[target_feature(enable = "avx2,bmi1")]
        fn load(bytes: &[u8], start: usize) -> Block {
            match bytes.get(start..).and_then(<[u8]>::first_chunk::<WIDTH>) {
                Some(whole) => Block::of(whole),
                None => Block::of(&padded(bytes, start)),
            }
        }

        #[target_feature(enable = "avx2,bmi1")]
        fn of(bytes: &[u8; WIDTH]) -> Block {
            // SAFETY: there are 32 bytes.
            Block(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
        }

        /// Which bytes may not stand in a value: a bit for each, the first one lowest.
        #[target_feature(enable = "avx2,bmi1")]
        fn controls(self) -> u32 {
            let low = _mm256_cmpeq_epi8(_mm256_min_epu8(self.0, _mm256_set1_epi8(0x1f)), self.0);
            let tab = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b'\t' as i8));
            let delete = _mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(0x7f));
            _mm256_movemask_epi8(_mm256_or_si256(_mm256_andnot_si256(tab, low), delete)) as u32
        }

        /// How many bytes of a token come before a colon, if it is here and there is at least one.
        #[target_feature(enable = "avx2,bmi1")]
        fn name_length(self) -> Option<usize> {
            let table = |table: &[u8; 16]| {
                // SAFETY: there are 16 bytes.
                _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
            };
            let nibbles = _mm256_set1_epi8(15);
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(self.0), nibbles);
            let tokens = _mm256_and_si256(
                _mm256_shuffle_epi8(table(&TOKENS), _mm256_and_si256(self.0, nibbles)),
                _mm256_shuffle_epi8(table(&UPPER), upper),
            );
            let others = _mm256_movemask_epi8(_mm256_cmpeq_epi8(tokens, _mm256_setzero_si256())) as u32;
            let colons = _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_set1_epi8(b':' as i8))) as u32;
            // A colon is no token byte: the first of the others has to be a colon.
            let first = others & others.wrapping_neg();
            (first > 1 && first & colons != 0).then(|| first.trailing_zeros() as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::{Progress, read_by};
    use super::*;
    use crate::choices::HeadParser;

    const HEAD: &str = "PATCH /user?a=b HTTP/1.1\r\nHost: x\r\nX-Forwarded-For:10.1.0.1\r\nx-api-KEY: \t abc \t\r\n\
                        Content-Length: 7\r\nConnection: keep-alive\r\nA-Rather-Long-Name-Of-30-Bytes: v\r\n\r\n";

    /// What httparse makes of it.
    fn expected(bytes: &[u8]) -> Option<Head> {
        read_by(HeadParser::Httparse, bytes, &mut Progress::default()).ok().flatten()
    }

    /// Whether there is a reader here at all.
    fn reads() -> bool {
        read(HEAD.as_bytes()).is_some()
    }

    #[test]
    fn a_usual_head_is_read_whatever_comes_behind_it() {
        #[cfg(target_arch = "x86_64")]
        assert_eq!(reads(), is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1"));
        for behind in 0..100 {
            let text = HEAD.to_owned() + &"GET / ".repeat(20)[..behind];
            assert!(!reads() || read(text.as_bytes()) == expected(text.as_bytes()), "{behind} bytes behind");
        }
        for end in 0..HEAD.len() {
            assert_eq!(read(&HEAD.as_bytes()[..end]), None, "after {end} bytes");
        }
    }

    #[test]
    fn no_head_is_read_otherwise_than_by_httparse() {
        let mut read_too = 0;
        for at in 0..HEAD.len() {
            for byte in 0..=255 {
                let mut bytes = HEAD.as_bytes().to_vec();
                bytes[at] = byte;
                let head = read(&bytes);
                assert!(head.is_none() || head == expected(&bytes), "byte {byte} at {at}");
                read_too += usize::from(head.is_some());
            }
        }
        assert!(!reads() || read_too > HEAD.len() * 50, "only {read_too} variants are read here");
    }

    #[test]
    fn limits_are_kept() {
        let fields = |count: usize| "GET / HTTP/1.1\r\nHost: x\r\n".to_owned() + &"a: b\r\n".repeat(count - 1) + "\r\n";
        assert_eq!(read(fields(100).as_bytes()).is_some(), reads());
        assert_eq!(read(fields(101).as_bytes()), None);
        let long = |length: usize| format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(length - 26));
        assert_eq!(read(long(16_384).as_bytes()).is_some(), reads());
        assert_eq!(read(long(16_385).as_bytes()), None);
    }
}
