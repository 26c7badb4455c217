//! Exact answers: hash maps that remember when each pair came last.
//!
//! Shape: [`SlidingMap`], a [`PairTable`] and the number of the running slice; a sweep at every
//! close. Invariant: after a close the table holds the pairs of the window that has just moved on.

use crate::system::System;
use srlg_core::{Address, IpPair};

/// Pairs, each with the slice of its last touch.
pub trait PairTable: Default {
    /// Name in tables and plots.
    const NAME: &str;

    /// Remembers that `pair` came in the slice `now`.
    fn touch(&mut self, pair: IpPair, now: u32);

    /// All hosts with their cardinalities.
    fn cardinalities(&self) -> impl Iterator<Item = (Address, u32)>;

    /// Forgets the pairs whose last slice is not `kept`.
    fn retain(&mut self, kept: impl Fn(u32) -> bool);

    /// Bytes of all tables.
    fn bytes(&self) -> usize;
}

/// Pairs of a sliding window.
pub struct SlidingMap<Table> {
    window: u32,
    threshold: u32,
    /// Number of the current slice.
    now: u32,
    table: Table,
}

impl<Table: PairTable> SlidingMap<Table> {
    /// Empty, for windows of `window` slices and super points of at least `threshold` peers.
    #[must_use]
    pub fn new(window: u32, threshold: u32) -> Self {
        Self { window, threshold, now: 0, table: Table::default() }
    }
}

impl<Table: PairTable> System for SlidingMap<Table> {
    fn name(&self) -> String {
        Table::NAME.to_owned()
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        pairs.iter().for_each(|&pair| self.table.touch(pair, self.now));
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let all = self.table.cardinalities();
        let points = all.filter(|&(_, cardinality)| cardinality >= self.threshold);
        let points = points.map(|(host, cardinality)| (host, cardinality.into())).collect();
        self.skip_slice();
        points
    }

    fn skip_slice(&mut self) {
        self.now += 1;
        let Self { window, now, .. } = *self;
        // Before that nothing is old enough to leave.
        if now >= window {
            self.table.retain(|last_touch| now - last_touch < window);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.table.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::peers::{ExactPairs, ExactSets, testing};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exact_maps_match_the_oracle(
            window in 1..6_u32,
            threshold in 1..4_u32,
            slices in testing::slices(),
        ) {
            let truth = testing::true_reports(window, threshold, &slices);
            let mut pairs = ExactPairs::new(window, threshold);
            prop_assert_eq!(&testing::reports(&mut pairs, &slices), &truth);
            let mut sets = ExactSets::new(window, threshold);
            prop_assert_eq!(&testing::reports(&mut sets, &slices), &truth);
        }
    }
}
