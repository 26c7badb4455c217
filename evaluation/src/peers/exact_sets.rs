//! The first thing that anyone writes: for every host a map of its opposite hosts.
//!
//! Shape: [`Sets`], the standard library's hash maps in one another, with the slice of the last
//! touch. Invariant: after a close no host is without a pair.

use super::sliding::{PairTable, SlidingMap};
use super::table::table_bytes;
use srlg_core::{Address, IpPair};
use std::collections::HashMap;

/// Hash map of hash maps, with the standard library's hash.
///
/// ```
/// use srlg_core::IpPair;
/// use srlg_evaluation::{peers::ExactSets, system::System};
/// let mut sets = ExactSets::new(2, 1);
/// sets.ingest(&[IpPair { inside: 1, opposite: 2 }, IpPair { inside: 1, opposite: 3 }]);
/// assert_eq!(sets.close_slice(), [(1, 2.0)]);
/// assert_eq!(sets.close_slice(), [(1, 2.0)]);
/// assert_eq!(sets.close_slice(), []);
/// ```
pub type ExactSets = SlidingMap<Sets>;

/// For every inside host its opposite hosts, with the slice of the last touch.
#[derive(Default)]
pub struct Sets(HashMap<Address, HashMap<Address, u32>>);

impl PairTable for Sets {
    const NAME: &str = "hash map of hash maps";

    fn touch(&mut self, pair: IpPair, now: u32) {
        self.0.entry(pair.inside).or_default().insert(pair.opposite, now);
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, u32)> {
        self.0.iter().map(|(&host, peers)| (host, peers.len() as u32))
    }

    fn retain(&mut self, kept: impl Fn(u32) -> bool) {
        self.0.retain(|_, peers| {
            peers.retain(|_, last_touch| kept(*last_touch));
            !peers.is_empty()
        });
    }

    fn bytes(&self) -> usize {
        let inner = |peers: &HashMap<_, _>| table_bytes::<(Address, u32)>(peers.capacity());
        table_bytes::<(Address, HashMap<Address, u32>)>(self.0.capacity())
            + self.0.values().map(inner).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::System;

    #[test]
    fn memory_is_that_of_all_tables() {
        let mut sets = ExactSets::new(1, 1);
        assert_eq!(sets.memory_bytes(), 0);
        sets.ingest(&[IpPair { inside: 1, opposite: 2 }, IpPair { inside: 1, opposite: 3 }]);
        // Four places in either: a host with a map, and peers with slices.
        let outer = 4 * (size_of::<(Address, HashMap<Address, u32>)>() + 1) + 16;
        assert_eq!(sets.memory_bytes(), outer + 4 * (8 + 1) + 16);
    }
}
