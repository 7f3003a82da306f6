//! Which address lies in which country. Built once at start, then only read.

use std::collections::HashMap;

pub use super::flatten::Network;
use super::flatten::flatten;
use crate::choices::CountryLookup;
use crate::tunables;

/// The number that stands for "no record".
const NOTHING: u32 = u32::MAX;
/// Marks an entry of the trie that is the number of a node, not of a country.
const NODE: u32 = 1 << 31;

/// Country names by number, and the number of every address.
pub struct Countries {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Where each range starts, and its country; the first starts at 0.
    ranges: Vec<(u32, u32)>,
    /// For the upper 16 bits of an address: the range that its first address lies in. One more at the end.
    index: Vec<u32>,
    /// 65,536 entries for the upper 16 bits, then nodes of 256 entries.
    trie: Vec<u32>,
}

impl Countries {
    /// The table over `networks`, whose values are places in `names`; no name is there twice.
    pub fn new(names: Vec<String>, networks: Vec<Network>) -> Self {
        let numbers = names.iter().cloned().zip(0..).collect();
        let ranges = flatten(networks, NOTHING);
        let mut countries = Self { names, numbers, ranges, index: Vec::new(), trie: Vec::new() };
        match tunables::COUNTRY_LOOKUP {
            CountryLookup::BinarySearch => {}
            CountryLookup::Indexed16 => countries.index = countries.build_index(),
            CountryLookup::Trie => countries.trie = countries.build_trie(),
        }
        countries
    }

    /// The number of the country `address` lies in; `None` if there is no record of it.
    pub fn find(&self, address: u32) -> Option<u32> {
        let number = match tunables::COUNTRY_LOOKUP {
            CountryLookup::BinarySearch => search(&self.ranges, address),
            CountryLookup::Indexed16 => self.find_indexed(&self.index, address),
            CountryLookup::Trie => find_in_trie(&self.trie, address),
        };
        (number != NOTHING).then_some(number)
    }

    /// The name of the country of that number.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// The number of the country of that name, if some location has it.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// How many ranges there are, those without a record included.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    fn build_index(&self) -> Vec<u32> {
        let mut index = Vec::with_capacity(0x1_0001);
        let mut range = 0;
        for upper in 0..=0xffffu32 {
            while self.ranges.get(range + 1).is_some_and(|next| next.0 <= upper << 16) {
                range += 1;
            }
            index.push(range as u32);
        }
        index.push(self.ranges.len() as u32 - 1);
        index
    }

    fn find_indexed(&self, index: &[u32], address: u32) -> u32 {
        let upper = (address >> 16) as usize;
        let (first, last) = (index[upper] as usize, index[upper + 1] as usize);
        search(&self.ranges[first..=last], address)
    }

    fn build_trie(&self) -> Vec<u32> {
        let mut trie = vec![NOTHING; 0x1_0000];
        for (place, (first, value)) in self.ranges.iter().enumerate() {
            let last = self.ranges.get(place + 1).map_or(u32::MAX, |next| next.0 - 1);
            fill(&mut trie, 0, 16, 16, 0, (*first, last), *value);
        }
        trie
    }
}

/// The value of the range `address` lies in; the first range must start at or before it.
fn search(ranges: &[(u32, u32)], address: u32) -> u32 {
    ranges[ranges.partition_point(|(first, _)| *first <= address) - 1].1
}

fn find_in_trie(trie: &[u32], address: u32) -> u32 {
    let mut entry = trie[(address >> 16) as usize];
    for shift in [8, 0] {
        if entry & NODE == 0 || entry == NOTHING {
            return entry;
        }
        entry = trie[(entry & !NODE) as usize + (address >> shift & 0xff) as usize];
    }
    entry
}

/// Sets the entries of a node that stand for addresses of `range`, making nodes below it where it is covered in part.
/// The node starts at `node`, has 2^`bits` entries of 2^`shift` addresses each, and its first address is `base`.
fn fill(trie: &mut Vec<u32>, node: usize, bits: u32, shift: u32, base: u32, range: (u32, u32), value: u32) {
    let span = (1u32 << shift) - 1;
    let entry_of = |address: u32| ((address - base) >> shift) as usize;
    let first = range.0.max(base);
    let last = range.1.min(base | (((1u64 << (bits + shift)) - 1) as u32));
    for entry in entry_of(first)..=entry_of(last) {
        let start = base + ((entry as u32) << shift);
        let end = start | span;
        if range.0 <= start && end <= range.1 {
            trie[node + entry] = value;
            continue;
        }
        let before = trie[node + entry];
        let below = if before & NODE != 0 && before != NOTHING {
            (before & !NODE) as usize
        } else {
            let below = trie.len();
            trie.resize(below + 256, before);
            trie[node + entry] = NODE | below as u32;
            below
        };
        fill(trie, below, 8, shift - 8, start, range, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::address::mask;

    fn networks() -> Vec<Network> {
        let network = |first, length, value| Network { first, length, value };
        vec![
            network(0x0a01_0000, 16, 0),
            network(0x0a06_0000, 16, 0),
            network(0x0a06_0700, 24, 1),
            network(0x0a06_0780, 25, 2),
            network(0x0a06_07ff, 32, 0),
            network(0xc000_0000, 4, 1),
            network(0xff00_0000, 8, 2),
        ]
    }

    #[test]
    fn all_lookups_agree_at_every_border() {
        let countries = Countries::new(["a", "b", ""].map(str::to_owned).to_vec(), networks());
        let (index, trie) = (countries.build_index(), countries.build_trie());
        for (first, _) in &countries.ranges {
            for address in [first.wrapping_sub(1), *first, first.wrapping_add(1), first | 0xff, first | 0xffff] {
                let by_search = search(&countries.ranges, address);
                let all = networks();
                let expected = all.iter().filter(|network| network.first == address & mask(network.length));
                let expected = expected.max_by_key(|network| network.length).map_or(NOTHING, |network| network.value);
                assert_eq!(by_search, expected, "{address:x}");
                assert_eq!(countries.find_indexed(&index, address), expected, "{address:x} by index");
                assert_eq!(find_in_trie(&trie, address), expected, "{address:x} in the trie");
            }
        }
    }

    #[test]
    fn an_empty_country_is_a_country_and_no_record_is_none() {
        let countries = Countries::new(["a", "b", ""].map(str::to_owned).to_vec(), networks());
        assert_eq!(countries.find(0xff01_0203).map(|number| countries.name(number)), Some(""));
        assert_eq!(countries.find(0x6363_0909), None);
        assert_eq!(countries.number(""), Some(2));
        assert_eq!(countries.number("c"), None);
    }
}
