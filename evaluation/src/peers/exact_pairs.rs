//! The fastest exact answer that is still simple: one map of pairs.
//!
//! Shape: [`Pairs`], a hash map from pairs to the slice of their last touch, and one from hosts to
//! cardinalities. Invariant: the cardinality of a host is the number of known pairs of which it
//! is the inside host.

use super::sliding::{PairTable, SlidingMap};
use super::table::table_bytes;
use rustc_hash::FxHashMap;
use srlg_core::{Address, IpPair};
use std::collections::hash_map::Entry;

/// Hash map of pairs, with the hash of `rustc-hash`.
///
/// ```
/// use srlg_core::IpPair;
/// use srlg_evaluation::{peers::ExactPairs, system::System};
/// let mut pairs = ExactPairs::new(2, 1);
/// pairs.ingest(&[IpPair { inside: 1, opposite: 2 }, IpPair { inside: 1, opposite: 3 }]);
/// assert_eq!(pairs.close_slice(), [(1, 2.0)]);
/// assert_eq!(pairs.close_slice(), [(1, 2.0)]);
/// assert_eq!(pairs.close_slice(), []);
/// ```
pub type ExactPairs = SlidingMap<Pairs>;

/// Pairs, and how many each host has.
#[derive(Default)]
pub struct Pairs {
    last_touch: FxHashMap<IpPair, u32>,
    cardinalities: FxHashMap<Address, u32>,
}

impl PairTable for Pairs {
    const NAME: &str = "hash map of pairs";

    fn touch(&mut self, pair: IpPair, now: u32) {
        if self.last_touch.insert(pair, now).is_none() {
            *self.cardinalities.entry(pair.inside).or_default() += 1;
        }
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, u32)> {
        self.cardinalities.iter().map(|(&host, &cardinality)| (host, cardinality))
    }

    fn retain(&mut self, kept: impl Fn(u32) -> bool) {
        self.last_touch.retain(|pair, last_touch| {
            let kept = kept(*last_touch);
            if !kept && let Entry::Occupied(mut cardinality) = self.cardinalities.entry(pair.inside)
            {
                *cardinality.get_mut() -= 1;
                if *cardinality.get() == 0 {
                    cardinality.remove();
                }
            }
            kept
        });
    }

    fn bytes(&self) -> usize {
        table_bytes::<(IpPair, u32)>(self.last_touch.capacity())
            + table_bytes::<(Address, u32)>(self.cardinalities.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    #[test]
    fn memory_is_that_of_both_tables() {
        let mut pairs = ExactPairs::new(1, 1);
        assert_eq!(pairs.memory_bytes(), 0);
        pairs.ingest(&[IpPair { inside: 1, opposite: 2 }, IpPair { inside: 1, opposite: 3 }]);
        assert_eq!(pairs.memory_bytes(), (4 * (12 + 1) + 16) + (4 * (8 + 1) + 16));
    }
}
