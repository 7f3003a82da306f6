//! Chance from one seed: named streams of a cipher, and decks that deal a fixed multiset in random order.
//!
//! A cipher and not a small generator, because a server under test sees what was drawn and must not be able to
//! compute what comes next. Nothing here knows what is drawn.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of random numbers, wholly decided by a seed and a name.
#[derive(Debug, Clone)]
pub struct Chance(ChaCha8Rng);

impl Chance {
    /// The stream `name` of `seed`: streams of other names say nothing about it.
    pub fn new(seed: u64, name: &str) -> Chance {
        let mut key = Sha256::new();
        key.update(seed.to_le_bytes());
        key.update(name.as_bytes());
        Chance(ChaCha8Rng::from_seed(key.finalize().into()))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, which must not be 0. The bias of the multiplication is below 2^-32 for all ends used.
    pub fn below(&mut self, end: usize) -> usize {
        assert!(end > 0, "nothing is below 0");
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the items, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Puts the items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `length` characters of an ASCII alphabet.
    pub fn text(&mut self, length: usize, alphabet: &str) -> String {
        (0..length).map(|_| char::from(*self.pick(alphabet.as_bytes()))).collect()
    }

    /// `length` letters and digits.
    pub fn word(&mut self, length: usize) -> String {
        self.text(length, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    }
}

/// Items dealt in random order, each once before any comes again: the order is the seed's, the multiset is not.
#[derive(Debug, Clone)]
pub struct Deck<T> {
    items: Vec<T>,
    next: usize,
}

impl<T: Clone> Deck<T> {
    /// A deck of these items, which must not be empty; an item given twice comes twice as often.
    pub fn new(items: impl Into<Vec<T>>) -> Deck<T> {
        let items = items.into();
        assert!(!items.is_empty(), "a deck needs cards");
        Deck { next: items.len(), items }
    }

    /// The next card.
    pub fn deal(&mut self, chance: &mut Chance) -> T {
        if self.next == self.items.len() {
            chance.shuffle(&mut self.items);
            self.next = 0;
        }
        self.next += 1;
        self.items[self.next - 1].clone()
    }
}

impl Deck<bool> {
    /// True exactly once in each `times` cards.
    pub fn once_in(times: usize) -> Deck<bool> {
        Deck::new((0..times).map(|card| card == 0).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_stream_and_others_do_not() {
        let first = |seed, name| Chance::new(seed, name).bits();
        assert_eq!(first(7, "a"), first(7, "a"));
        assert_ne!(first(7, "a"), first(7, "b"));
        assert_ne!(first(7, "a"), first(8, "a"));
    }

    #[test]
    fn a_deck_deals_every_card_once_before_it_repeats() {
        let mut chance = Chance::new(1, "deck");
        let mut deck = Deck::new(vec![1, 2, 2, 3]);
        for _ in 0..5 {
            let mut dealt: Vec<_> = (0..4).map(|_| deck.deal(&mut chance)).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, [1, 2, 2, 3]);
        }
    }
}
