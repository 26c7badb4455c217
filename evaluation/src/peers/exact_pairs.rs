//! The fastest exact answer that is still simple: one map of pairs.
//!
//! Shape: [`ExactPairs`], a hash map from pairs to the slice of their last touch, and
//! one from hosts to cardinalities; a sweep at every close. Invariant: the cardinality
//! of a host is the number of known pairs of which it is the inside host.

use super::table::table_bytes;
use crate::system::System;
use rustc_hash::FxHashMap;
use srlg_core::{Address, IpPair};
use std::collections::hash_map::Entry;

/// Hash map of pairs, with the hash of `rustc-hash`.
///
/// ```
/// use srlg_core::IpPair;
/// use srlg_evaluation::{peers::ExactPairs, system::System};
/// let mut pairs = ExactPairs::new(2, 1);
/// pairs.ingest(&[IpPair { aip: 1, bip: 2 }, IpPair { aip: 1, bip: 3 }]);
/// assert_eq!(pairs.close_slice(), [(1, 2.0)]);
/// assert_eq!(pairs.close_slice(), [(1, 2.0)]);
/// assert_eq!(pairs.close_slice(), []);
/// ```
pub struct ExactPairs {
    window: u32,
    threshold: u32,
    /// Number of the current slice.
    now: u32,
    last_touch: FxHashMap<IpPair, u32>,
    cardinalities: FxHashMap<Address, u32>,
}

impl ExactPairs {
    /// Empty, for windows of `window` slices and super points of at least `threshold` peers.
    #[must_use]
    pub fn new(window: u32, threshold: u32) -> Self {
        Self {
            window,
            threshold,
            now: 0,
            last_touch: FxHashMap::default(),
            cardinalities: FxHashMap::default(),
        }
    }

    /// Forgets the pairs that are not in the window of the current slice.
    fn sweep(&mut self) {
        let Self { window, now, last_touch, cardinalities, .. } = self;
        last_touch.retain(|pair, last_touch| {
            let kept = *now - *last_touch < *window;
            if !kept && let Entry::Occupied(mut cardinality) = cardinalities.entry(pair.aip) {
                *cardinality.get_mut() -= 1;
                if *cardinality.get() == 0 {
                    cardinality.remove();
                }
            }
            kept
        });
    }
}

impl System for ExactPairs {
    fn name(&self) -> String {
        "hash map of pairs".to_owned()
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        for &pair in pairs {
            if self.last_touch.insert(pair, self.now).is_none() {
                *self.cardinalities.entry(pair.aip).or_default() += 1;
            }
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let all = self.cardinalities.iter();
        let points = all.filter(|&(_, &cardinality)| cardinality >= self.threshold);
        let points = points.map(|(&host, &cardinality)| (host, cardinality.into())).collect();
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
        table_bytes::<(IpPair, u32)>(self.last_touch.capacity())
            + table_bytes::<(Address, u32)>(self.cardinalities.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exact_pairs_match_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let mut pairs = ExactPairs::new(window, threshold);
            prop_assert_eq!(
                testing::reports(&mut pairs, &slices),
                testing::true_reports(window, threshold, &slices)
            );
        }
    }

    #[test]
    fn memory_is_that_of_both_tables() {
        let mut pairs = ExactPairs::new(1, 1);
        assert_eq!(pairs.memory_bytes(), 0);
        pairs.ingest(&[IpPair { aip: 1, bip: 2 }, IpPair { aip: 1, bip: 3 }]);
        assert_eq!(pairs.memory_bytes(), (4 * (12 + 1) + 16) + (4 * (8 + 1) + 16));
    }
}
