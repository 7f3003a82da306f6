//! Which country an address belongs to (contract 1.5), the slow and simple way: one table for each prefix length,
//! asked from the longest on.

use std::collections::HashMap;

/// Country by address.
#[derive(Debug, Clone)]
pub struct Countries {
    by_length: Vec<HashMap<u32, String>>,
}

impl Countries {
    /// From locations (id, country) and block rows (network, prefix length, id), each in the order of the files.
    pub fn new<'a>(
        locations: impl IntoIterator<Item = (&'a str, &'a str)>,
        blocks: impl IntoIterator<Item = (u32, u8, &'a str)>,
    ) -> Countries {
        let names: HashMap<&str, &str> = locations.into_iter().collect();
        let mut by_length = vec![HashMap::new(); 33];
        for (address, length, id) in blocks {
            if let (false, Some(name)) = (id.is_empty(), names.get(id)) {
                by_length[usize::from(length)].insert(network(address, length), (*name).to_string());
            }
        }
        Countries { by_length }
    }

    /// The country of the longest network that holds the address, or no record.
    pub fn of(&self, address: u32) -> Option<&str> {
        (0..=32u8)
            .rev()
            .find_map(|length| self.by_length[usize::from(length)].get(&network(address, length)).map(String::as_str))
    }
}

/// The address with its host bits cleared.
pub fn network(address: u32, length: u8) -> u32 {
    address & u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_of_equal_networks_the_later_row() {
        let locations = [("1", "France"), ("2", "Germany"), ("4", "")];
        let ten = 10 << 24;
        let blocks = [
            (ten, 8, "2"),
            (ten | 1, 8, "1"),
            (ten | 7 << 8, 24, "2"),
            (ten | 8 << 8, 24, ""),
            (ten | 9 << 8, 24, "999"),
            (ten | 10 << 8, 24, "4"),
            (0, 0, "999"),
        ];
        let countries = Countries::new(locations, blocks);
        assert_eq!(countries.of(ten | 7 << 8 | 255), Some("Germany"));
        assert_eq!(countries.of(ten | 8 << 8), Some("France"));
        assert_eq!(countries.of(ten | 9 << 8), Some("France"));
        assert_eq!(countries.of(ten | 10 << 8), Some(""));
        assert_eq!(countries.of(11 << 24), None);
    }
}
