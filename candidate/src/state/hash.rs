//! The hasher of tables: the standard one, or a multiplication.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

use crate::choices::TableHash;
use crate::tunables;

/// Makes hashers as the tunable says.
#[derive(Clone, Default)]
pub struct TableState(RandomState);

impl BuildHasher for TableState {
    type Hasher = TableHasher;

    fn build_hasher(&self) -> TableHasher {
        match tunables::TABLE_HASH {
            TableHash::Sip => TableHasher::Sip(self.0.build_hasher()),
            TableHash::Multiply => TableHasher::Multiply(0),
        }
    }
}

/// One of the two hashers; which one is known at compile time.
pub enum TableHasher {
    /// Safe against chosen keys.
    Sip(DefaultHasher),
    /// Quick for short keys; whoever can choose many logins can slow it down.
    Multiply(u64),
}

impl Hasher for TableHasher {
    fn write(&mut self, bytes: &[u8]) {
        match self {
            Self::Sip(hasher) => hasher.write(bytes),
            Self::Multiply(state) => {
                for part in bytes.chunks(8) {
                    let mut word = [0; 8];
                    word[..part.len()].copy_from_slice(part);
                    *state = mix(*state, u64::from_le_bytes(word));
                }
            }
        }
    }

    fn write_u8(&mut self, byte: u8) {
        match self {
            Self::Sip(hasher) => hasher.write_u8(byte),
            Self::Multiply(state) => *state = mix(*state, u64::from(byte)),
        }
    }

    fn write_u32(&mut self, word: u32) {
        match self {
            Self::Sip(hasher) => hasher.write_u32(word),
            Self::Multiply(state) => *state = mix(*state, u64::from(word)),
        }
    }

    fn finish(&self) -> u64 {
        match self {
            Self::Sip(hasher) => hasher.finish(),
            Self::Multiply(state) => *state,
        }
    }
}

/// Both halves of a wide product, so that the last bytes of a word reach the lower bits too. The multiplier is 2^64
/// divided by the golden ratio, made odd.
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state.rotate_left(5) ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn multiplication_spreads_similar_logins_over_the_upper_and_lower_bits() {
        let hash = |text: String| {
            let mut hasher = TableHasher::Multiply(0);
            hasher.write(text.as_bytes());
            hasher.finish()
        };
        let hashes: Vec<u64> = (0..1000).map(|number| hash(format!("user{number}"))).collect();
        let lower: HashSet<u64> = hashes.iter().map(|hash| hash & 0xfff).collect();
        let upper: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert!(lower.len() > 600 && upper.len() > 100, "{} lower, {} upper", lower.len(), upper.len());
    }
}
