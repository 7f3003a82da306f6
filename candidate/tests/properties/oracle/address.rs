//! Addresses (5.1) and networks (8.6, 1.4): whatever is written the way Rust would write it.

/// The number behind a decimal text, if that is how the number is written.
fn plain(text: &str, most: u8) -> Option<u64> {
    let number: u8 = text.parse().ok()?;
    (number <= most && number.to_string() == text).then_some(u64::from(number))
}

/// The address, as a number.
pub fn address(text: &[u8]) -> Option<u32> {
    let parts: Vec<&str> = std::str::from_utf8(text).ok()?.split('.').collect();
    if parts.len() != 4 {
        return None;
    }
    let mut address = 0;
    for part in parts {
        address = address * 256 + plain(part, 255)?;
    }
    u32::try_from(address).ok()
}

/// The prefix length.
pub fn prefix_length(text: &[u8]) -> Option<u8> {
    plain(std::str::from_utf8(text).ok()?, 32).map(|length| length as u8)
}

/// First address and prefix length of a network.
pub fn network(text: &[u8]) -> Option<(u32, u8)> {
    let (ip, length) = std::str::from_utf8(text).ok()?.split_once('/')?;
    let length = prefix_length(length.as_bytes())?;
    let size = 2u64.pow(32 - u32::from(length));
    let address = u64::from(address(ip.as_bytes())?);
    Some(((address - address % size) as u32, length))
}
