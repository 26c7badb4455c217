//! Exact answers from hash maps that store, for each pair, the slice of its last touch.
//!
//! A [`SlidingMap`] consists of a [`PairTable`] and the number of the running slice. At every close, a pass over the
//! table removes the pairs that have left the window. This module contains two tables. [`Sets`] is the simplest
//! implementation. [`Pairs`] is the fastest exact table that is still simple.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use srlg_core::{Address, Ipv4Pair};

use crate::system::{Counter, System};

/// A table of pairs, each with the slice of its last touch.
pub(crate) trait PairTable {
    fn name(&self) -> String;

    /// Records that `pair` occurred in the slice `now`.
    fn touch(&mut self, pair: Ipv4Pair, now: u32);

    /// Returns the hosts with the numbers of their peers. A table that does not store every pair estimates them.
    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)>;

    /// Removes the pairs whose last touch was in the slice `left`, which has just left the window.
    fn forget(&mut self, left: u32);

    fn bytes(&self) -> usize;
}

/// The pairs of a sliding window, in a table of any type.
pub(crate) struct SlidingMap<Table> {
    window: u32,
    threshold: u32,
    /// Number of the running slice.
    now: u32,
    table: Table,
}

impl<Table: PairTable> SlidingMap<Table> {
    pub(crate) fn new(window: u32, threshold: u32, table: Table) -> Self {
        Self { window, threshold, now: 0, table }
    }
}

impl<Table: PairTable> System for SlidingMap<Table> {
    fn name(&self) -> String {
        self.table.name()
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        pairs.iter().for_each(|&pair| self.table.touch(pair, self.now));
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let all = self.table.cardinalities();
        let points = all.filter(|&(_, cardinality)| cardinality >= self.threshold.into()).collect();
        self.skip_slice();
        points
    }

    fn skip_slice(&mut self) {
        self.now += 1;
        // Before the first window is full, no slice is old enough to leave it.
        if let Some(left) = self.now.checked_sub(self.window) {
            self.table.forget(left);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.table.bytes()
    }
}

impl<Table: PairTable> Counter for SlidingMap<Table> {
    fn estimates(&self, hosts: &[Address]) -> Vec<f64> {
        let all: FxHashMap<_, _> = self.table.cardinalities().collect();
        hosts.iter().map(|host| all.get(host).copied().unwrap_or(0.0)).collect()
    }
}

/// A hash map of hash maps, with the hash function of the standard library. It contains the peers of every inside host,
/// each with the slice of its last touch.
#[derive(Default)]
pub(crate) struct Sets(HashMap<Address, HashMap<Address, u32>>);

impl PairTable for Sets {
    fn name(&self) -> String {
        "hash map of hash maps".to_owned()
    }

    fn touch(&mut self, pair: Ipv4Pair, now: u32) {
        self.0.entry(pair.inside).or_default().insert(pair.peer, now);
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)> {
        self.0.iter().map(|(&host, peers)| (host, peers.len() as f64))
    }

    fn forget(&mut self, left: u32) {
        self.0.retain(|_, peers| {
            peers.retain(|_, last_touch| *last_touch != left);
            !peers.is_empty()
        });
    }

    fn bytes(&self) -> usize {
        let inner = |peers: &HashMap<_, _>| table_bytes::<(Address, u32)>(peers.capacity());
        table_bytes::<(Address, HashMap<Address, u32>)>(self.0.capacity())
            + self.0.values().map(inner).sum::<usize>()
    }
}

/// A hash map of pairs, with the hash function of `rustc-hash`, and the number of pairs of each host.
#[derive(Default)]
pub(crate) struct Pairs {
    last_touch: FxHashMap<Ipv4Pair, u32>,
    cardinalities: FxHashMap<Address, u32>,
}

impl PairTable for Pairs {
    fn name(&self) -> String {
        "hash map of pairs".to_owned()
    }

    fn touch(&mut self, pair: Ipv4Pair, now: u32) {
        if self.last_touch.insert(pair, now).is_none() {
            *self.cardinalities.entry(pair.inside).or_default() += 1;
        }
    }

    fn cardinalities(&self) -> impl Iterator<Item = (Address, f64)> {
        self.cardinalities.iter().map(|(&host, &cardinality)| (host, cardinality.into()))
    }

    fn forget(&mut self, left: u32) {
        self.last_touch.retain(|pair, last_touch| {
            let kept = *last_touch != left;
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
        table_bytes::<(Ipv4Pair, u32)>(self.last_touch.capacity())
            + table_bytes::<(Address, u32)>(self.cardinalities.capacity())
    }
}

/// Returns the size in bytes of the table in a hash map that has this `capacity` and entries of type `T`.
///
/// The maps of the standard library and of `rustc-hash` use the layout of hashbrown. The number of slots is a power of
/// two, and at most 7/8 of them are in use. Each slot has a control byte, and 16 more control bytes follow the last
/// group.
pub(super) const fn table_bytes<T>(capacity: usize) -> usize {
    let places = match capacity {
        0 => return 0,
        1..4 => 4,
        4..8 => 8,
        _ => (capacity * 8 / 7).next_power_of_two(),
    };
    places * (size_of::<T>() + 1) + 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exact_maps_match_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let truth = testing::true_reports(window, threshold, &slices);
            let mut pairs = SlidingMap::new(window, threshold, Pairs::default());
            prop_assert_eq!(&testing::reports(&mut pairs, &slices), &truth);
            let mut sets = SlidingMap::new(window, threshold, Sets::default());
            prop_assert_eq!(&testing::reports(&mut sets, &slices), &truth);
        }
    }

    #[test]
    fn memory_of_sets_is_that_of_all_tables() {
        let mut sets = SlidingMap::new(1, 1, Sets::default());
        assert_eq!(sets.memory_bytes(), 0);
        sets.ingest(&[Ipv4Pair { inside: 1, peer: 2 }, Ipv4Pair { inside: 1, peer: 3 }]);
        // Both maps have four places. The outer map stores a host with its map, and the inner map stores peers with
        // slices.
        let outer = 4 * (size_of::<(Address, HashMap<Address, u32>)>() + 1) + 16;
        assert_eq!(sets.memory_bytes(), outer + 4 * (8 + 1) + 16);
    }

    #[test]
    fn memory_of_pairs_is_that_of_both_tables() {
        let mut pairs = SlidingMap::new(1, 1, Pairs::default());
        assert_eq!(pairs.memory_bytes(), 0);
        pairs.ingest(&[Ipv4Pair { inside: 1, peer: 2 }, Ipv4Pair { inside: 1, peer: 3 }]);
        assert_eq!(pairs.memory_bytes(), (4 * (12 + 1) + 16) + (4 * (8 + 1) + 16));
    }

    #[test]
    fn capacities_that_maps_report_are_7_of_8_places() {
        assert_eq!(table_bytes::<u32>(FxHashMap::<u32, ()>::default().capacity()), 0);
        for entries in 1..3000 {
            let map: FxHashMap<u32, ()> = (0..entries).map(|key| (key, ())).collect();
            let places = (table_bytes::<u32>(map.capacity()) - 16) / 5;
            assert!(places.is_power_of_two());
            // A table with fewer than eight places keeps one place free instead of an eighth.
            assert_eq!(map.capacity(), if places < 8 { places - 1 } else { places / 8 * 7 });
        }
    }
}
