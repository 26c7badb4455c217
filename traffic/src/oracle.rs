//! Exact sliding cardinalities of all hosts, computed with hash maps.
//!
//! At the end of slice t, a pair is counted if its last touch is in slices t - window + 1 to t. Each slice has a bucket
//! of pairs, and every pair in the window is in exactly one bucket. The slice of this bucket is not later than the
//! slice of the pair's last touch. Touches and expiries therefore take amortised O(1) time. The memory grows with the
//! number of distinct pairs in the window.

use rustc_hash::FxHashMap;
use srlg_core::{Address, Ipv4Pair};
use std::collections::hash_map::Entry;

/// Exact sliding cardinalities over the last `window` slices.
///
/// ```
/// use srlg_core::Ipv4Pair;
/// use srlg_traffic::oracle::ExactWindow;
/// let mut exact = ExactWindow::new(2);
/// exact.touch(Ipv4Pair { inside: 1, peer: 2 });
/// assert_eq!(exact.close_slice(1), [(1, 1)]);
/// exact.touch(Ipv4Pair { inside: 1, peer: 3 });
/// assert_eq!(exact.close_slice(1), [(1, 2)]);
/// assert_eq!(exact.cardinality(1), 1); // the first pair has left the window
/// ```
pub struct ExactWindow {
    /// Number of the running slice. It starts at `window` so that `now - window` cannot be negative.
    now: u64,
    last_touch: FxHashMap<Ipv4Pair, u64>,
    /// Buckets of pairs. The index of a bucket is its slice modulo the length of the window.
    buckets: Vec<Vec<Ipv4Pair>>,
    /// Cardinality of every host with at least one peer.
    cardinalities: FxHashMap<Address, u32>,
}

impl ExactWindow {
    /// Creates an empty window of `window` slices.
    ///
    /// # Panics
    /// Panics if `window` is 0.
    #[must_use]
    pub fn new(window: u32) -> Self {
        assert!(window > 0, "a window has at least one slice");
        Self {
            now: window.into(),
            last_touch: FxHashMap::default(),
            buckets: vec![Vec::new(); window as usize],
            cardinalities: FxHashMap::default(),
        }
    }

    /// Records a contact of `pair` in the running slice.
    pub fn touch(&mut self, pair: Ipv4Pair) {
        if self.last_touch.insert(pair, self.now).is_none() {
            *self.cardinalities.entry(pair.inside).or_default() += 1;
            let bucket = self.bucket(self.now);
            self.buckets[bucket].push(pair);
        }
    }

    /// Returns the cardinality of `host` in the window that ends with the running slice.
    #[must_use]
    pub fn cardinality(&self, host: Address) -> u32 {
        self.cardinalities.get(&host).copied().unwrap_or(0)
    }

    /// Returns the hosts with at least `threshold` peers and their cardinalities, sorted by address. Hosts without
    /// peers are never included.
    #[must_use]
    pub fn super_points(&self, threshold: u32) -> Vec<(Address, u32)> {
        let all = self.cardinalities.iter().map(|(&host, &cardinality)| (host, cardinality));
        let mut points: Vec<_> = all.filter(|&(_, count)| count >= threshold).collect();
        points.sort_unstable();
        points
    }

    /// Returns the number of distinct pairs in the window.
    #[must_use]
    pub fn distinct_pairs(&self) -> usize {
        self.last_touch.len()
    }

    /// Returns the [`super_points`](Self::super_points) of the window, and moves the window forward by one slice.
    ///
    /// If `threshold` is 1, all hosts with peers are returned.
    pub fn close_slice(&mut self, threshold: u32) -> Vec<(Address, u32)> {
        let points = self.super_points(threshold);
        self.skip(1);
        points
    }

    /// Moves the window forward by `slices` slices.
    pub fn skip(&mut self, slices: u64) {
        // After a whole window of slices, all pairs have expired.
        for _ in 0..slices.min(self.buckets.len() as u64) {
            self.now += 1;
            self.expire(self.now - self.buckets.len() as u64);
        }
        self.now += slices.saturating_sub(self.buckets.len() as u64);
    }

    /// Empties the bucket of `slice`. A pair that was touched again moves to the bucket of its last touch, and all
    /// other pairs are removed.
    fn expire(&mut self, slice: u64) {
        let bucket = self.bucket(slice);
        for pair in std::mem::take(&mut self.buckets[bucket]) {
            let last = self.last_touch[&pair];
            if last > slice {
                let later = self.bucket(last);
                self.buckets[later].push(pair);
                continue;
            }
            self.last_touch.remove(&pair);
            if let Entry::Occupied(mut cardinality) = self.cardinalities.entry(pair.inside) {
                *cardinality.get_mut() -= 1;
                if *cardinality.get() == 0 {
                    cardinality.remove();
                }
            }
        }
    }

    fn bucket(&self, slice: u64) -> usize {
        (slice % self.buckets.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_hash::FxHashSet;

    #[derive(Default)]
    struct Naive {
        now: i64,
        touches: Vec<(i64, Ipv4Pair)>,
    }

    impl Naive {
        fn pairs(&self, window: u32) -> FxHashSet<Ipv4Pair> {
            let first = self.now - i64::from(window) + 1;
            let within = |&&(slice, _): &&(i64, Ipv4Pair)| (first..=self.now).contains(&slice);
            self.touches.iter().filter(within).map(|&(_, pair)| pair).collect()
        }
    }

    #[derive(Clone, Debug)]
    enum Action {
        Touch(Ipv4Pair),
        Close,
        Skip(u64),
    }

    fn step() -> impl Strategy<Value = Action> {
        let pair = (0..4_u32, 0..6_u32).prop_map(|(inside, peer)| Ipv4Pair { inside, peer });
        prop_oneof![
            12 => pair.prop_map(Action::Touch),
            4 => Just(Action::Close),
            1 => (0..12_u64).prop_map(Action::Skip),
        ]
    }

    proptest! {
        #[test]
        fn exact_window_matches_naive(
            window in 1..8_u32,
            steps in prop::collection::vec(step(), 0..150),
        ) {
            let (mut exact, mut naive) = (ExactWindow::new(window), Naive::default());
            for step in steps {
                match step {
                    Action::Touch(pair) => {
                        exact.touch(pair);
                        naive.touches.push((naive.now, pair));
                    }
                    Action::Close => {
                        let expected = exact.super_points(2);
                        prop_assert_eq!(exact.close_slice(2), expected);
                        naive.now += 1;
                    }
                    Action::Skip(slices) => {
                        exact.skip(slices);
                        naive.now += slices as i64;
                    }
                }
                let pairs = naive.pairs(window);
                prop_assert_eq!(exact.distinct_pairs(), pairs.len());
                let count = |host| pairs.iter().filter(|pair| pair.inside == host).count() as u32;
                let expected: Vec<_> =
                    (0..4).map(|host| (host, count(host))).filter(|point| point.1 >= 1).collect();
                prop_assert_eq!(exact.super_points(1), expected);
                prop_assert!((0..5).all(|host| exact.cardinality(host) == count(host)));
            }
        }
    }

    #[test]
    fn a_skip_of_any_length_ends_at_once() {
        let mut exact = ExactWindow::new(3);
        exact.touch(Ipv4Pair { inside: 1, peer: 2 });
        exact.skip(1 << 60);
        assert_eq!((exact.distinct_pairs(), exact.cardinality(1)), (0, 0));
        exact.touch(Ipv4Pair { inside: 1, peer: 2 });
        exact.skip(2);
        assert_eq!(exact.close_slice(1), [(1, 1)]);
        assert_eq!(exact.close_slice(1), []);
    }
}
