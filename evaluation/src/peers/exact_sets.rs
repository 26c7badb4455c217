//! The first thing that anyone writes: for every host a map of its opposite hosts.
//!
//! Shape: [`ExactSets`], the standard library's hash maps in one another, with the
//! slice of the last touch; a sweep at every close. Invariant: after a close the maps
//! hold the pairs of the window that has just moved on, and no host without a pair.

use super::table::table_bytes;
use crate::system::System;
use srlg_core::{Address, IpPair};
use std::collections::HashMap;

/// Hash map of hash maps, with the standard library's hash.
///
/// ```
/// use srlg_core::IpPair;
/// use srlg_evaluation::{peers::ExactSets, system::System};
/// let mut sets = ExactSets::new(2, 1);
/// sets.ingest(&[IpPair { aip: 1, bip: 2 }, IpPair { aip: 1, bip: 3 }]);
/// assert_eq!(sets.close_slice(), [(1, 2.0)]);
/// assert_eq!(sets.close_slice(), [(1, 2.0)]);
/// assert_eq!(sets.close_slice(), []);
/// ```
pub struct ExactSets {
    window: u32,
    threshold: u32,
    /// Number of the current slice.
    now: u32,
    /// For every inside host its opposite hosts, with the slice of the last touch.
    hosts: HashMap<Address, HashMap<Address, u32>>,
}

impl ExactSets {
    /// Empty, for windows of `window` slices and super points of at least `threshold` peers.
    #[must_use]
    pub fn new(window: u32, threshold: u32) -> Self {
        Self { window, threshold, now: 0, hosts: HashMap::new() }
    }

    /// Forgets the pairs that are not in the window of the current slice.
    fn sweep(&mut self) {
        self.hosts.retain(|_, peers| {
            peers.retain(|_, last_touch| self.now - *last_touch < self.window);
            !peers.is_empty()
        });
    }
}

impl System for ExactSets {
    fn name(&self) -> String {
        "hash map of hash maps".to_owned()
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        for pair in pairs {
            self.hosts.entry(pair.aip).or_default().insert(pair.bip, self.now);
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let cardinalities = self.hosts.iter().map(|(&host, peers)| (host, peers.len()));
        let points = cardinalities.filter(|&(_, count)| count >= self.threshold as usize);
        let points = points.map(|(host, count)| (host, count as f64)).collect();
        self.skip_slice();
        points
    }

    fn skip_slice(&mut self) {
        self.now += 1;
        // Before that nothing is old enough to leave.
        if self.now >= self.window {
            self.sweep();
        }
    }

    fn memory_bytes(&self) -> usize {
        let inner = |peers: &HashMap<_, _>| table_bytes::<(Address, u32)>(peers.capacity());
        table_bytes::<(Address, HashMap<Address, u32>)>(self.hosts.capacity())
            + self.hosts.values().map(inner).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exact_sets_match_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let mut sets = ExactSets::new(window, threshold);
            prop_assert_eq!(
                testing::reports(&mut sets, &slices),
                testing::true_reports(window, threshold, &slices)
            );
        }
    }

    #[test]
    fn memory_is_that_of_all_tables() {
        let mut sets = ExactSets::new(1, 1);
        assert_eq!(sets.memory_bytes(), 0);
        sets.ingest(&[IpPair { aip: 1, bip: 2 }, IpPair { aip: 1, bip: 3 }]);
        // Four places in either: a host with a map, and peers with slices.
        let outer = 4 * (size_of::<(Address, HashMap<Address, u32>)>() + 1) + 16;
        assert_eq!(sets.memory_bytes(), outer + 4 * (8 + 1) + 16);
    }
}
