//! SpreadSketch, which names the hosts of many peers without a list of hosts.
//!
//! Tang, Huang and Lee, "SpreadSketch: Toward Invertible and Network-Wide Detection of
//! Superspreaders", IEEE INFOCOM 2020.
//!
//! Shape: [`SpreadSketch`], [`ROWS`] rows of buckets; a host has a bucket in every row. A
//! bucket counts the pairs of its hosts in a [`Bitmap`] and keeps as candidate the host
//! of its pair of the highest level, the leading zeros of the pair's hash: most likely
//! the one with the most pairs. Invariant: merging the sketches of two streams gives the
//! sketch of the first stream followed by the second.

use super::multiresolution::Bitmap;
use srlg_core::hash::reduce;
use srlg_core::{Address, IpPair};
use srlg_traffic::synthetic::mix;

/// Rows, as in the paper's evaluation.
const ROWS: u32 = 4;

/// Buckets of a sketch: rows after rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpreadSketch {
    seed: u64,
    columns: u32,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    pairs: Bitmap,
    candidate: Address,
    /// Level of the candidate: one more than the leading zeros; 0 while there is none.
    level: u32,
}

impl Bucket {
    /// Takes `candidate` when its level is not below the present one's: of equals the last.
    fn propose(&mut self, candidate: Address, level: u32) {
        if level >= self.level {
            (self.candidate, self.level) = (candidate, level);
        }
    }
}

impl SpreadSketch {
    /// An empty sketch. Sketches of equal `seed` and `columns` can be merged.
    pub(crate) fn new(seed: u64, columns: u32) -> Self {
        Self { seed, columns, buckets: vec![Bucket::default(); (ROWS * columns) as usize] }
    }

    /// Bytes of a sketch for each of its columns.
    pub(crate) const fn bytes_per_column() -> usize {
        ROWS as usize * size_of::<Bucket>()
    }

    #[cfg(test)]
    pub(crate) const fn columns(&self) -> u32 {
        self.columns
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    pub(crate) fn touch(&mut self, pair: IpPair) {
        let name = u64::from(pair.inside) << 32 | u64::from(pair.opposite);
        let hash = mix(self.seed ^ mix(name));
        let level = 1 + hash.leading_zeros();
        for bucket in self.buckets_of(pair.inside) {
            self.buckets[bucket].pairs.insert(hash);
            self.buckets[bucket].propose(pair.inside, level);
        }
    }

    /// Adds what `later` has seen.
    pub(crate) fn merge(&mut self, later: &Self) {
        debug_assert_eq!((self.seed, self.columns), (later.seed, later.columns));
        for (bucket, later) in self.buckets.iter_mut().zip(&later.buckets) {
            bucket.pairs.merge(&later.pairs);
            bucket.propose(later.candidate, later.level);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
    }

    /// Candidates whose estimate is at least `threshold`, with it, sorted by host.
    pub(crate) fn super_points(&self, threshold: u32) -> Vec<(Address, f64)> {
        let full =
            |bucket: &&Bucket| bucket.level > 0 && bucket.pairs.estimate() >= f64::from(threshold);
        let candidates = self.buckets.iter().filter(full).map(|bucket| bucket.candidate);
        let mut candidates: Vec<Address> = candidates.collect();
        candidates.sort_unstable();
        candidates.dedup();
        let estimated = candidates.into_iter().map(|host| (host, self.estimate(host)));
        estimated.filter(|&(_, estimate)| estimate >= f64::from(threshold)).collect()
    }

    /// The least of the counts of the host's buckets: others can only add to them.
    fn estimate(&self, host: Address) -> f64 {
        let counts = self.buckets_of(host).map(|bucket| self.buckets[bucket].pairs.estimate());
        counts.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Indices of the buckets of `host`, one in every row.
    fn buckets_of(&self, host: Address) -> [usize; ROWS as usize] {
        let (low, high) = (u64::from(host), u64::from(host) | 1 << 32);
        let (first, second) = (mix(self.seed ^ low), mix(self.seed ^ high));
        let hashes = [first >> 32, first, second >> 32, second].map(|hash| hash as u32);
        let bucket = |row: u32| row * self.columns + reduce(hashes[row as usize], self.columns);
        [bucket(0), bucket(1), bucket(2), bucket(3)].map(|bucket| bucket as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;

    fn of(pairs: &[IpPair]) -> SpreadSketch {
        let mut sketch = SpreadSketch::new(3, 5);
        pairs.iter().for_each(|&pair| sketch.touch(pair));
        sketch
    }

    proptest! {
        #[test]
        fn a_merged_sketch_is_that_of_one_stream_after_the_other(slices in testing::slices()) {
            let mut merged = SpreadSketch::new(3, 5);
            slices.iter().for_each(|slice| merged.merge(&of(slice)));
            prop_assert_eq!(merged, of(&slices.concat()));
        }
    }

    #[test]
    fn a_host_has_one_bucket_in_every_row() {
        let sketch = SpreadSketch::new(3, 7);
        for host in 0..1000 {
            let rows = sketch.buckets_of(host).map(|bucket| bucket / 7);
            assert_eq!(rows, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_cleared_sketch_is_an_empty_one() {
        let mut sketch = of(&testing::pairs_of(1, 100));
        sketch.clear();
        assert_eq!(sketch, SpreadSketch::new(3, 5));
    }
}
