//! A hash map with one distinct-count estimator per host. The estimators are from public crates.
//!
//! An estimator cannot forget a pair, so a [`TumblingMap`] restarts every `window` slices. Every `window`-th report
//! covers a whole window, and the reports in between cover fewer slices.

use super::exact::table_bytes;
use crate::system::System;
use cardinality_estimator::CardinalityEstimator;
use hyperloglogplus::{HyperLogLog, HyperLogLogPlus};
use rustc_hash::FxHashMap;
use srlg_core::{Address, Ipv4Pair};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A map with one estimator of the crate `cardinality-estimator` per host. An estimator has 2^12 registers and counts
/// up to 128 peers exactly.
pub(crate) type EstimatorMap = TumblingMap<CardinalityEstimator<Address>>;

/// A map with one estimator of the crate `hyperloglogplus` per host. An estimator has 2^12 registers, but remains a
/// sparse list until the registers would need less memory.
pub(crate) type HyperLogLogMap =
    TumblingMap<HyperLogLogPlus<Address, BuildHasherDefault<DefaultHasher>>>;

pub(crate) trait DistinctCounter {
    /// Name of the crate in tables and plots.
    const NAME: &str;

    fn empty() -> Self;

    /// Counts `address` once.
    fn add(&mut self, address: Address);

    fn estimate(&mut self) -> f64;

    fn heap_bytes(&self) -> usize;
}

/// Estimators of all hosts, which restart after every window.
pub(crate) struct TumblingMap<Counter> {
    window: u32,
    threshold: u32,
    /// Number of slices closed since the last restart.
    closed: u32,
    hosts: FxHashMap<Address, Counter>,
}

impl<Counter: DistinctCounter> TumblingMap<Counter> {
    /// Creates an empty map for windows of `window` slices and super points with at least `threshold` peers.
    pub(crate) fn new(window: u32, threshold: u32) -> Self {
        Self { window, threshold, closed: 0, hosts: FxHashMap::default() }
    }
}

impl<Counter: DistinctCounter> System for TumblingMap<Counter> {
    fn name(&self) -> String {
        format!("{} per host", Counter::NAME)
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        for pair in pairs {
            self.hosts.entry(pair.inside).or_insert_with(Counter::empty).add(pair.peer);
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let all = self.hosts.iter_mut().map(|(&host, counter)| (host, counter.estimate()));
        let points = all.filter(|&(_, estimate)| estimate >= self.threshold.into()).collect();
        self.skip_slice();
        points
    }

    fn skip_slice(&mut self) {
        self.closed += 1;
        if self.closed >= self.window {
            self.closed = 0;
            self.hosts.clear();
        }
    }

    fn memory_bytes(&self) -> usize {
        table_bytes::<(Address, Counter)>(self.hosts.capacity())
            + self.hosts.values().map(Counter::heap_bytes).sum::<usize>()
    }
}

impl DistinctCounter for CardinalityEstimator<Address> {
    const NAME: &str = "cardinality-estimator";

    fn empty() -> Self {
        Self::new()
    }

    fn add(&mut self, address: Address) {
        self.insert(&address);
    }

    fn estimate(&mut self) -> f64 {
        Self::estimate(self) as f64
    }

    fn heap_bytes(&self) -> usize {
        self.size_of() - size_of::<Self>()
    }
}

impl DistinctCounter for HyperLogLogPlus<Address, BuildHasherDefault<DefaultHasher>> {
    const NAME: &str = "hyperloglogplus";

    fn empty() -> Self {
        Self::new(12, BuildHasherDefault::default())
            .expect("the crate supports a precision of 4 to 18")
    }

    fn add(&mut self, address: Address) {
        self.insert(&address);
    }

    fn estimate(&mut self) -> f64 {
        self.count()
    }

    /// Returns a lower bound on the heap memory, because the crate does not report it. The bound follows from the
    /// representation of addresses in the crate.
    ///
    /// New addresses are collected in a hash set, whose table remains allocated. When the 33rd address is added, all
    /// addresses are moved to a sparse list. The list stores the differences of sorted 26-bit codes, with 7 bits per
    /// byte. A difference needs 3 bytes, or 2 bytes if it is below 2^14. If the list would be longer than the
    /// registers, it is replaced by the registers, five of which share a 32-bit word. The buffer of the list, which was
    /// just doubled, remains allocated.
    fn heap_bytes(&self) -> usize {
        const REGISTER_BYTES: usize = (1_usize << 12).div_ceil(5) * size_of::<u32>();
        const OUTGROWN_LIST_BYTES: usize = 2 * (REGISTER_BYTES - 33 * 3);
        let distinct = self.clone().count();
        let list = (distinct * (2.0 + (-distinct / 4096.0).exp())) as usize;
        let outgrown = list > REGISTER_BYTES;
        table_bytes::<u32>(1) + if outgrown { REGISTER_BYTES + OUTGROWN_LIST_BYTES } else { list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;

    #[test]
    fn errors_of_hyperloglog_are_the_published_ones() {
        // Flajolet et al. (2007) give an error of 1.04 / sqrt(2^12) = 1.625 %. The standard deviation of the root mean
        // square of 200 errors is 1/20 of this error. The bound is four standard deviations.
        let most = 1.04 / 64.0 * 1.2;
        assert!(testing::rmse(EstimatorMap::new(1, 512), 200) < most);
        assert!(testing::rmse(HyperLogLogMap::new(1, 512), 200) < most);
    }

    #[test]
    fn a_window_restarts_after_its_slices() {
        let mut map = HyperLogLogMap::new(3, 1);
        let counts = (1..=7).map(|slice| {
            map.ingest(&[Ipv4Pair { inside: 1, peer: slice }]);
            map.close_slice()[0].1.round()
        });
        assert!(counts.eq([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]));
    }

    #[test]
    fn memory_of_hyperloglog_is_a_lower_bound_of_what_an_allocator_counts() {
        // These numbers were counted by an allocator that adds up bytes, for one host with all its pairs in one slice.
        let counted = [(1, 736), (100, 1628), (800, 5470), (1100, 7024), (10_000, 10_810)];
        for (cardinality, bytes) in counted {
            let mut map = HyperLogLogMap::new(2, 1);
            map.ingest(&testing::pairs_of(1, cardinality));
            map.close_slice();
            // The buffer of a sparse list is up to twice as long as the list.
            assert!((bytes / 2..=bytes).contains(&map.memory_bytes()), "{}", map.memory_bytes());
        }
    }

    #[test]
    fn memory_grows_with_the_peers_of_a_host() {
        let bytes = |cardinality| {
            let mut map = EstimatorMap::new(1, 1);
            map.ingest(&testing::pairs_of(1, cardinality));
            map.memory_bytes()
        };
        // The map has four places with a host and a word each. The estimator adds nothing for 2 peers, 32 hashes for 20
        // peers, and its registers for 129 peers. These are 4096 registers of 6 bits, with fields for their sum and
        // zeros.
        let table = 4 * (16 + 1) + 16;
        assert_eq!([bytes(2), bytes(20), bytes(129)], [table, table + 128, table + 3084]);
    }
}
