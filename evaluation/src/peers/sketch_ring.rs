//! How a sketch that cannot forget is made to slide: one for every slice of the window.
//!
//! Shape: [`SketchRing`], `window` [`SpreadSketch`]es and one more, into which they are
//! merged at every close. Invariant: the sketch of slice t is at place t modulo the
//! window, and all of them together take no more than the memory given.

use super::spread_sketch::SpreadSketch;
use crate::system::System;
use srlg_core::{Address, IpPair};

/// A ring of SpreadSketches (Tang, Huang and Lee, INFOCOM 2020), merged at every close.
///
/// ```
/// use srlg_core::IpPair;
/// use srlg_evaluation::{peers::SketchRing, system::System};
/// let mut ring = SketchRing::new(2, 100, 1 << 20, 1);
/// let pairs: Vec<IpPair> = (0..1000).map(|opposite| IpPair { inside: 1, opposite }).collect();
/// ring.ingest(&pairs);
/// assert_eq!(ring.close_slice().len(), 1);
/// assert_eq!(ring.close_slice().len(), 1);
/// assert_eq!(ring.close_slice().len(), 0);
/// assert!(ring.memory_bytes() <= 1 << 20);
/// ```
pub struct SketchRing {
    threshold: u32,
    /// Place of the current slice's sketch.
    current: usize,
    /// Sketches of the slices of the window, by slice modulo their number.
    slices: Vec<SpreadSketch>,
    merged: SpreadSketch,
}

impl SketchRing {
    /// Empty, for windows of `window` slices and super points of at least `threshold` peers,
    /// in at most `memory_bytes` for all sketches together.
    ///
    /// # Panics
    /// When `memory_bytes` is too small for one bucket per row, slice and merged sketch, or
    /// `window` is 0.
    #[must_use]
    pub fn new(window: u32, threshold: u32, memory_bytes: usize, seed: u64) -> Self {
        assert!(window > 0, "a window has at least one slice");
        let sketches = window as usize + 1;
        let columns = memory_bytes / sketches / SpreadSketch::bytes_per_column();
        assert!(columns > 0, "{memory_bytes} bytes are too few for {sketches} sketches");
        let merged = SpreadSketch::new(seed, columns as u32);
        Self { threshold, current: 0, slices: vec![merged.clone(); window as usize], merged }
    }
}

impl System for SketchRing {
    fn name(&self) -> String {
        // Rings of several sizes are compared with one another.
        let megabytes = self.memory_bytes() as f64 / 1e6;
        format!("ring of {} SpreadSketches, {megabytes:.0} MB", self.slices.len())
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        let sketch = &mut self.slices[self.current];
        pairs.iter().for_each(|&pair| sketch.touch(pair));
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let oldest = (self.current + 1) % self.slices.len();
        self.merged.clear();
        let (newer, older) = self.slices.split_at(oldest);
        older.iter().chain(newer).for_each(|slice| self.merged.merge(slice));
        self.slices[oldest].clear();
        self.current = oldest;
        self.merged.super_points(self.threshold)
    }

    fn memory_bytes(&self) -> usize {
        let slices = self.slices.iter().map(SpreadSketch::memory_bytes);
        self.merged.memory_bytes() + slices.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_merged_sketch_is_that_of_the_slices_of_the_window(
            window in 1..6_u32,
            slices in testing::slices(),
        ) {
            let mut ring = SketchRing::new(window, 1, 20_000, 9);
            for end in 0..slices.len() {
                ring.ingest(&slices[end]);
                ring.close_slice();
                let first = (end + 1).saturating_sub(window as usize);
                let mut expected = SpreadSketch::new(9, ring.merged.columns());
                slices[first..=end].iter().flatten().for_each(|&pair| expected.touch(pair));
                prop_assert_eq!(&ring.merged, &expected);
            }
        }
    }

    #[test]
    fn errors_of_hosts_that_are_alone_in_their_buckets_are_those_of_the_bitmap() {
        // 400 hosts in 20,000 columns: one in 50 meets another in a row, none in all four.
        let mut ring = SketchRing::new(2, 500, 3 * 20_000 * SpreadSketch::bytes_per_column(), 1);
        let cardinality = |host: u32| 1024 + 5 * host;
        for host in 0..400 {
            ring.ingest(&testing::pairs_of(host, cardinality(host)));
        }
        let report = ring.close_slice();
        assert_eq!(report.len(), 400);
        // Published: 10 %. The deviation of the root mean square of 400 errors is 1/28 of it;
        // four of them.
        let rmse = testing::rmse(&report, cardinality);
        assert!(rmse < 0.1 * (1.0 + 4.0 / 28.0), "{rmse}");
    }

    #[test]
    fn memory_is_at_most_the_given_one_and_at_most_a_column_less() {
        for window in [1, 30, 300] {
            let given = 33_000_000;
            let held = SketchRing::new(window, 1024, given, 1).memory_bytes();
            let column = (window as usize + 1) * SpreadSketch::bytes_per_column();
            assert!((given - column..=given).contains(&held), "{held}");
        }
    }

    #[test]
    #[should_panic(expected = "100 bytes are too few for 301 sketches")]
    fn memory_for_less_than_a_column_is_refused() {
        let _ = SketchRing::new(300, 1024, 100, 1);
    }
}
