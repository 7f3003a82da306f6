//! IPv4 addresses and prefix lengths as text.

use crate::choices::AddressParser;
use crate::tunables;

/// Reads four octets without leading zeros; the address in host order.
pub fn parse(text: &[u8]) -> Option<u32> {
    parse_by(tunables::ADDRESS_PARSER, text)
}

/// The same by a parser of one's choice.
pub fn parse_by(parser: AddressParser, text: &[u8]) -> Option<u32> {
    match parser {
        AddressParser::Std => std_parse(text),
        AddressParser::Digits => digits(text),
    }
}

fn std_parse(text: &[u8]) -> Option<u32> {
    let address: std::net::Ipv4Addr = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(address.to_bits())
}

/// Also what reads the millions of networks at start.
fn digits(text: &[u8]) -> Option<u32> {
    let (mut address, mut rest) = octet(text)?;
    for _ in 0..3 {
        let (next, behind) = octet(rest.strip_prefix(b".")?)?;
        address = address << 8 | next;
        rest = behind;
    }
    rest.is_empty().then_some(address)
}

/// One octet without leading zeros, and what is behind it.
#[inline(always)]
fn octet(text: &[u8]) -> Option<(u32, &[u8])> {
    let digit = |at: usize| text.get(at).map(|byte| u32::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    let first = digit(0)?;
    let (octet, length) = match digit(1) {
        Some(second) if first > 0 => match digit(2) {
            Some(third) => (first * 100 + second * 10 + third, 3),
            None => (first * 10 + second, 2),
        },
        // A digit behind a zero is no dot and no end.
        _ => (first, 1),
    };
    (octet < 256).then(|| (octet, &text[length..]))
}

/// Reads a prefix length: `0` to `32`, one or two digits, no leading zero.
pub fn prefix_length(text: &[u8]) -> Option<u8> {
    let length = match text {
        [digit @ b'0'..=b'9'] => digit - b'0',
        [tens @ b'1'..=b'3', ones @ b'0'..=b'9'] => (tens - b'0') * 10 + (ones - b'0'),
        _ => return None,
    };
    (length <= 32).then_some(length)
}

/// Reads a network like `10.1.0.0/16`: its first address, for host bits are cleared, and its prefix length.
pub fn network(text: &[u8]) -> Option<(u32, u8)> {
    let slash = memchr::memchr(b'/', text)?;
    let length = prefix_length(&text[slash + 1..])?;
    Some((digits(&text[..slash])? & mask(length), length))
}

/// The bits of an address that a prefix of `length` bits fixes.
pub fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_readers_agree_on_what_an_address_is() {
        for text in [
            "10.1.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "256.0.0.1",
            "01.2.3.4",
            "1.2.3.00",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.4.",
            ".1.2.3",
            "1..2.3",
            "",
            "1.2.3.4 ",
            "+1.2.3.4",
            "1.2.3.4:80",
            "::1",
            "::ffff:10.1.0.1",
            "1.2.3.4, 1.2.3.4",
            "1.2.3.1000",
            "a.b.c.d",
            "999.1.1.1",
            "1.2.3.\u{664}",
        ] {
            assert_eq!(std_parse(text.as_bytes()), digits(text.as_bytes()), "{text}");
        }
        assert_eq!(digits(b"10.1.0.255"), Some(0x0a01_00ff));
        assert_eq!(digits(b"01.2.3.4"), None);
    }

    #[test]
    fn prefix_lengths_are_strict() {
        let right: Vec<u8> = (0..=99u8).filter_map(|n| prefix_length(n.to_string().as_bytes())).collect();
        assert_eq!(right, (0..=32).collect::<Vec<u8>>());
        for text in ["", "08", "+8", "-1", "8x", "8.0", "256", "4294967304"] {
            assert_eq!(prefix_length(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn masks_of_all_lengths_have_that_many_bits() {
        for length in 0..=32 {
            assert_eq!(mask(length).leading_ones(), u32::from(length));
            assert_eq!(mask(length).count_ones(), u32::from(length));
        }
    }
}
