//! The blocked subnets, and whether an address lies in one.

use std::collections::HashSet;

use super::hash::TableState;
use crate::choices::SubnetCheck;
use crate::http::address::mask;
use crate::tunables;

/// A set of networks, one table for each prefix length.
#[derive(Clone)]
pub struct Subnets {
    by_length: [HashSet<u32, TableState>; 33],
    /// Bit n is set if there is a network of prefix length n.
    used: u64,
    /// First and last address of each network, ascending. Only kept where ranges are searched.
    networks: Vec<(u32, u32)>,
    /// The same, merged where they touch one another.
    ranges: Vec<(u32, u32)>,
}

impl Default for Subnets {
    fn default() -> Self {
        let by_length = std::array::from_fn(|_| HashSet::default());
        Self { by_length, used: 0, networks: Vec::new(), ranges: Vec::new() }
    }
}

impl Subnets {
    /// Whether `address` lies in any of them.
    pub fn contain(&self, address: u32) -> bool {
        match tunables::SUBNET_CHECK {
            SubnetCheck::EveryLength => (0..=32).any(|length| self.has(address, length)),
            SubnetCheck::UsedLengths => {
                let mut left = self.used;
                while left != 0 {
                    if self.has(address, left.trailing_zeros() as u8) {
                        return true;
                    }
                    left &= left - 1;
                }
                false
            }
            SubnetCheck::Ranges => {
                let behind = self.ranges.partition_point(|(first, _)| *first <= address);
                behind > 0 && self.ranges[behind - 1].1 >= address
            }
        }
    }

    /// Whether the network of `address` is one of them.
    pub fn has(&self, address: u32, length: u8) -> bool {
        self.by_length[usize::from(length)].contains(&(address & mask(length)))
    }

    /// Adds the network of `address`, whose host bits do not count; whether it is new.
    pub fn insert(&mut self, address: u32, length: u8) -> bool {
        let first = address & mask(length);
        let new = self.by_length[usize::from(length)].insert(first);
        self.used |= 1 << length;
        if new && tunables::SUBNET_CHECK == SubnetCheck::Ranges {
            let network = (first, first | !mask(length));
            let place = self.networks.partition_point(|other| *other < network);
            self.networks.insert(place, network);
            self.merge();
        }
        new
    }

    /// Removes the network of `address`; whether it was there.
    pub fn remove(&mut self, address: u32, length: u8) -> bool {
        let first = address & mask(length);
        let table = &mut self.by_length[usize::from(length)];
        let found = table.remove(&first);
        if table.is_empty() {
            self.used &= !(1 << length);
        }
        if found && tunables::SUBNET_CHECK == SubnetCheck::Ranges {
            let network = (first, first | !mask(length));
            let place = self.networks.partition_point(|other| *other < network);
            self.networks.remove(place);
            self.merge();
        }
        found
    }

    fn merge(&mut self) {
        self.ranges.clear();
        for (first, last) in &self.networks {
            match self.ranges.last_mut() {
                Some(before) if before.1 >= *first => before.1 = before.1.max(*last),
                _ => self.ranges.push((*first, *last)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u32 = 0x4d63_0000;

    #[test]
    fn a_network_inside_another_lives_on_without_it() {
        let mut subnets = Subnets::default();
        assert!(subnets.insert(A | 0x1234, 16));
        assert!(!subnets.insert(A, 16));
        assert!(subnets.insert(A, 17));
        assert!(
            subnets.contain(A)
                && subnets.contain(A | 0xffff)
                && !subnets.contain(A + 0x1_0000)
                && !subnets.contain(A - 1)
        );
        assert!(subnets.remove(A | 1, 16));
        assert!(!subnets.remove(A, 16));
        assert!(subnets.contain(A | 0x7fff) && !subnets.contain(A | 0x8000));
    }

    #[test]
    fn the_shortest_and_the_longest_prefix_work() {
        let mut subnets = Subnets::default();
        assert!(!subnets.contain(0));
        subnets.insert(0x4000_0000, 2);
        assert!(subnets.contain(0x4101_0101) && subnets.contain(0x7f00_0001));
        assert!(!subnets.contain(0x8000_0000) && !subnets.contain(0x3fff_ffff));
        subnets.insert(u32::MAX, 32);
        assert!(subnets.contain(u32::MAX) && !subnets.contain(u32::MAX - 1));
        subnets.insert(5, 0);
        assert!(subnets.contain(0) && subnets.contain(u32::MAX - 1));
        assert!(subnets.remove(0, 0));
        assert!(!subnets.contain(0));
    }
}
