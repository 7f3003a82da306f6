//! From networks that nest to ranges that do not: for every address the longest prefix wins.

use crate::http::address::mask;

/// A network and what its addresses get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// First address.
    pub first: u32,
    /// Prefix length.
    pub length: u8,
    /// What its addresses get.
    pub value: u32,
}

impl Network {
    fn last(&self) -> u32 {
        self.first | !mask(self.length)
    }
}

/// Ranges by their first address, each up to the next one; `nothing` where no network is. The first range starts at 0.
/// Among equal networks the last in `networks` counts.
pub fn flatten(mut networks: Vec<Network>, nothing: u32) -> Vec<(u32, u32)> {
    // Stable, so that equal networks stay in the order of the file.
    networks.sort_by_key(|network| (network.first, network.length));
    let mut ranges = Ranges { list: vec![(0, nothing)] };
    let mut open: Vec<Network> = Vec::new();
    let mut left = networks.into_iter().peekable();
    while let Some(network) = left.next() {
        if left.peek().is_some_and(|next| (next.first, next.length) == (network.first, network.length)) {
            continue;
        }
        close(&mut open, &mut ranges, nothing, |last| last < network.first);
        ranges.start(network.first, network.value);
        open.push(network);
    }
    close(&mut open, &mut ranges, nothing, |_| true);
    ranges.list
}

/// Ends the open networks whose last address `is_over`, the innermost first.
fn close(open: &mut Vec<Network>, ranges: &mut Ranges, nothing: u32, is_over: impl Fn(u32) -> bool) {
    while let Some(inner) = open.last().copied().filter(|inner| is_over(inner.last())) {
        open.pop();
        if let Some(next) = inner.last().checked_add(1) {
            ranges.start(next, open.last().map_or(nothing, |outer| outer.value));
        }
    }
}

struct Ranges {
    list: Vec<(u32, u32)>,
}

impl Ranges {
    /// From `first` on it is `value`, whatever was said about `first` before.
    fn start(&mut self, first: u32, value: u32) {
        if self.list.last().is_some_and(|last| last.0 == first) {
            self.list.pop();
        }
        if self.list.last().is_none_or(|last| last.1 != value) {
            self.list.push((first, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(first: u32, length: u8, value: u32) -> Network {
        Network { first, length, value }
    }

    #[test]
    fn no_network_is_one_range_of_nothing() {
        assert_eq!(flatten(Vec::new(), 9), [(0, 9)]);
    }

    #[test]
    fn nested_networks_give_way_to_the_longest_prefix() {
        let ranges =
            flatten(vec![network(0x100, 28, 2), network(0, 23, 1), network(0x100, 24, 3), network(0x10f, 32, 1)], 9);
        assert_eq!(ranges, [(0, 1), (0x100, 2), (0x10f, 1), (0x110, 3), (0x200, 9)]);
    }

    #[test]
    fn equal_networks_are_those_of_the_later_row_and_neighbours_merge() {
        let ranges = flatten(vec![network(0, 8, 1), network(0x100_0000, 8, 2), network(0, 8, 2)], 9);
        assert_eq!(ranges, [(0, 2), (0x200_0000, 9)]);
    }

    #[test]
    fn the_end_of_the_address_space_is_an_end() {
        assert_eq!(flatten(vec![network(0, 0, 1), network(u32::MAX, 32, 2)], 9), [(0, 1), (u32::MAX, 2)]);
    }
}
