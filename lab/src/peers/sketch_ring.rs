//! SpreadSketch, which finds hosts with many peers without a list of hosts, and two sliding variants of it.
//!
//! Tang, Huang and Lee, "SpreadSketch: Toward Invertible and Network-Wide Detection of
//! Superspreaders", IEEE INFOCOM 2020.
//!
//! A [`SpreadSketch`] consists of [`ROWS`] rows of buckets, and a host has one bucket in every row. A bucket counts the
//! pairs of its hosts in a [`Bitmap`]. It also stores a candidate: the host of the pair whose hash has the most leading
//! zeros. The candidate is most likely the host with the most pairs. Merging the sketches of two streams gives the
//! sketch of the first stream followed by the second. A `SpreadSketch` cannot forget pairs. A [`SketchRing`] therefore
//! has one sketch for every slice of the window. At every close, these sketches are merged into an additional sketch.
//! [`TwoZones`] consists of two sketches, as in Sliding Sketches (Gou et al., KDD 2020), and forgets bucket by bucket.

use srlg_core::hash::reduce;
use srlg_core::{Address, Ipv4Pair};
use srlg_traffic::synthetic::mix;

use crate::system::System;

/// A ring of SpreadSketches (Tang, Huang and Lee, INFOCOM 2020), which are merged at every close.
pub(crate) struct SketchRing {
    threshold: u32,
    /// Index of the running slice's sketch.
    current: usize,
    /// Sketches of the slices in the window. The index is the slice number modulo the length of the window.
    slices: Vec<SpreadSketch>,
    merged: SpreadSketch,
}

impl SketchRing {
    /// Creates an empty ring, whose sketches together use at most `memory_bytes`.
    ///
    /// # Panics
    ///
    /// Panics if `memory_bytes` is too small for one bucket per row and sketch, or if `window` is 0.
    pub(crate) fn new(window: u32, threshold: u32, memory_bytes: usize, seed: u64) -> Self {
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
        // The name includes the size, because rings of several sizes are compared with one another.
        let megabytes = self.memory_bytes() as f64 / 1e6;
        format!("ring of {} SpreadSketches, {megabytes:.0} MB", self.slices.len())
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
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

/// A SpreadSketch with two time zones.
///
/// Gou, He, Zhang, Wang, Liu, Yang, Wang and Cui, "Sliding Sketches: A Framework using Time Zones for Data Stream
/// Processing in Sliding Windows", KDD 2020. OmniWindow (SIGCOMM 2023) uses a SpreadSketch in this form as a baseline.
///
/// Once per window, a scan reaches each bucket. It replaces the bucket in the old zone with the bucket in the new zone,
/// which becomes empty. A report covers both zones. A bucket therefore covers the last one to two windows, depending on
/// the position of the scan.
pub(crate) struct TwoZones {
    window: u32,
    threshold: u32,
    /// Number of slices since the start of the current round of the scan.
    slice: u32,
    new: SpreadSketch,
    old: SpreadSketch,
}

impl TwoZones {
    /// Creates two empty zones, which together use at most `memory_bytes`.
    ///
    /// # Panics
    ///
    /// Panics if the memory is too small for one bucket per row and zone.
    pub(crate) fn new(window: u32, threshold: u32, memory_bytes: usize, seed: u64) -> Self {
        let columns = memory_bytes / 2 / SpreadSketch::bytes_per_column();
        assert!(columns > 0, "{memory_bytes} bytes are too few for two sketches");
        let new = SpreadSketch::new(seed, columns as u32);
        Self { window, threshold, slice: 0, old: new.clone(), new }
    }
}

impl System for TwoZones {
    fn name(&self) -> String {
        format!("SpreadSketch of two zones, {:.0} MB", self.memory_bytes() as f64 / 1e6)
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        pairs.iter().for_each(|&pair| self.new.touch(pair));
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let mut both = self.old.clone();
        both.merge(&self.new);
        self.skip_slice();
        both.super_points(self.threshold)
    }

    fn skip_slice(&mut self) {
        let buckets = self.new.buckets.len() as u64;
        let reached = |slice: u32| (buckets * u64::from(slice) / u64::from(self.window)) as usize;
        for bucket in reached(self.slice)..reached(self.slice + 1) {
            self.old.buckets[bucket] = std::mem::take(&mut self.new.buckets[bucket]);
        }
        self.slice = (self.slice + 1) % self.window;
    }

    fn memory_bytes(&self) -> usize {
        self.new.memory_bytes() + self.old.memory_bytes()
    }
}

/// Number of rows, as in the evaluation of the SpreadSketch paper.
const ROWS: u32 = 4;

/// The buckets of a sketch, row after row.
#[derive(Clone, Debug, PartialEq)]
struct SpreadSketch {
    seed: u64,
    columns: u32,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    pairs: Bitmap,
    candidate: Address,
    /// Level of the candidate: one more than the number of leading zeros in the hash of its pair, or 0 if there is no
    /// candidate.
    level: u32,
}

impl Bucket {
    /// Replaces the candidate if its level is at most `level`. Of several candidates with equal levels, the latest is
    /// kept.
    fn propose(&mut self, candidate: Address, level: u32) {
        if level >= self.level {
            (self.candidate, self.level) = (candidate, level);
        }
    }
}

impl SpreadSketch {
    /// Creates an empty sketch. Sketches with equal `seed` and `columns` can be merged.
    fn new(seed: u64, columns: u32) -> Self {
        Self { seed, columns, buckets: vec![Bucket::default(); (ROWS * columns) as usize] }
    }

    const fn bytes_per_column() -> usize {
        ROWS as usize * size_of::<Bucket>()
    }

    fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    fn touch(&mut self, pair: Ipv4Pair) {
        let name = u64::from(pair.inside) << 32 | u64::from(pair.peer);
        let hash = mix(self.seed ^ mix(name));
        let level = 1 + hash.leading_zeros();
        for bucket in self.buckets_of(pair.inside) {
            self.buckets[bucket].pairs.insert(hash);
            self.buckets[bucket].propose(pair.inside, level);
        }
    }

    /// Adds the pairs that `later` has counted.
    fn merge(&mut self, later: &Self) {
        debug_assert_eq!((self.seed, self.columns), (later.seed, later.columns));
        for (bucket, later) in self.buckets.iter_mut().zip(&later.buckets) {
            bucket.pairs.merge(&later.pairs);
            bucket.propose(later.candidate, later.level);
        }
    }

    fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
    }

    /// Returns the hosts and estimates of all candidates with an estimate of at least `threshold`, sorted by host.
    fn super_points(&self, threshold: u32) -> Vec<(Address, f64)> {
        let full =
            |bucket: &&Bucket| bucket.level > 0 && bucket.pairs.estimate() >= f64::from(threshold);
        let candidates = self.buckets.iter().filter(full).map(|bucket| bucket.candidate);
        let mut candidates: Vec<Address> = candidates.collect();
        candidates.sort_unstable();
        candidates.dedup();
        let estimated = candidates.into_iter().map(|host| (host, self.estimate(host)));
        estimated.filter(|&(_, estimate)| estimate >= f64::from(threshold)).collect()
    }

    /// Returns the smallest count among the host's buckets. Other hosts can only increase a count.
    fn estimate(&self, host: Address) -> f64 {
        let counts = self.buckets_of(host).map(|bucket| self.buckets[bucket].pairs.estimate());
        counts.into_iter().fold(f64::INFINITY, f64::min)
    }

    fn buckets_of(&self, host: Address) -> [usize; ROWS as usize] {
        let (low, high) = (u64::from(host), u64::from(host) | 1 << 32);
        let (first, second) = (mix(self.seed ^ low), mix(self.seed ^ high));
        let hashes = [first >> 32, first, second >> 32, second].map(|hash| hash as u32);
        let bucket = |row: u32| row * self.columns + reduce(hashes[row as usize], self.columns);
        [bucket(0), bucket(1), bucket(2), bucket(3)].map(|bucket| bucket as usize)
    }
}

/// Number of bitmaps. For a maximum count C and b bits per bitmap, Estan et al. use
/// `2 + ceil(log2(C / (2.6744 b)))` bitmaps. 13 bitmaps of 64 bits suffice for a maximum count of 350,000.
const COMPONENTS: usize = 13;

/// Number of bits of each component except the last. According to Estan et al., an error of 10 % requires
/// 0.6367 / 0.1^2 bits.
const BITS: f64 = 64.0;

/// Maximum number of set bits in a component that is used for counting: 0.9311 of all bits, as in Estan et al.
const MOST_SET: u32 = 59;

/// A multiresolution bitmap, which counts few or many distinct elements in 112 bytes.
///
/// Estan, Varghese and Fisk, "Bitmap algorithms for counting active flows on high-speed links", IEEE/ACM Transactions
/// on Networking 14(5), 2006.
///
/// It has [`COMPONENTS`] bitmaps. Each component i except the last has 64 bits and receives 2^-(i+1) of the hashes. The
/// last component has 128 bits and receives all remaining hashes. The bitmap of a set of hashes does not depend on
/// their order or on repetitions. The bitmap of a union of sets is the bitwise OR of their bitmaps. The standard error
/// is 10 % for counts up to about 350,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bitmap([u64; COMPONENTS + 1]);

impl Bitmap {
    /// Counts the element with this uniformly distributed `hash`.
    #[inline]
    fn insert(&mut self, hash: u64) {
        let component = (hash.leading_zeros() as usize).min(COMPONENTS - 1);
        // The bit number comes from the low bits, which are independent of the number of leading zeros.
        let second = usize::from(component == COMPONENTS - 1) & (hash >> 6) as usize;
        self.0[component + second] |= 1 << (hash & 63);
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    fn estimate(&self) -> f64 {
        let (singles, last) = self.0.split_at(COMPONENTS - 1);
        // Components from the base onwards are not too full. They count 2^-base of the elements.
        let too_full = singles.iter().rposition(|word| word.count_ones() > MOST_SET);
        let base = too_full.map_or(0, |component| component + 1);
        let sum: f64 = singles[base..].iter().map(|word| linear(word.count_zeros(), BITS)).sum();
        let zeros_of_last = last.iter().map(|word| word.count_zeros()).sum();
        (sum + linear(zeros_of_last, 2.0 * BITS)) * (1_u64 << base) as f64
    }
}

/// Returns the linear counting estimate for the number of elements, if `zeros` of `bits` bits are unset.
fn linear(zeros: u32, bits: f64) -> f64 {
    // A full bitmap is beyond its range. It is estimated as if one bit were unset.
    bits * (bits / f64::from(zeros.max(1))).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::testing;
    use proptest::prelude::*;
    use srlg_traffic::synthetic::mix;

    fn of(pairs: &[Ipv4Pair]) -> SpreadSketch {
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
                let mut expected = SpreadSketch::new(9, ring.merged.columns);
                slices[first..=end].iter().flatten().for_each(|&pair| expected.touch(pair));
                prop_assert_eq!(&ring.merged, &expected);
            }
        }
    }

    #[test]
    fn a_zone_forgets_a_pair_after_one_to_two_windows() {
        for first in 0..3 {
            let mut zones = TwoZones::new(3, 1, 100_000, 9);
            (0..first).for_each(|_| zones.skip_slice());
            zones.ingest(&[Ipv4Pair { inside: 1, peer: 2 }]);
            let reported = (0..9).map(|_| !zones.close_slice().is_empty());
            let reported: Vec<bool> = reported.collect();
            // The smallest of four counts is 0 as soon as one bucket is empty.
            let last = reported.iter().rposition(|&it| it).unwrap();
            assert!((2..6).contains(&last), "{reported:?}");
            assert!(reported[..=last].iter().all(|&it| it));
        }
    }

    #[test]
    fn errors_of_hosts_that_are_alone_in_their_buckets_are_those_of_the_bitmap() {
        // With 400 hosts in 20,000 columns, one host in 50 shares a bucket of a row, and no host shares buckets in all
        // four rows.
        let ring = SketchRing::new(2, 500, 3 * 20_000 * SpreadSketch::bytes_per_column(), 1);
        // The published error is 10 %. The standard deviation of the root mean square of 400 errors is 1/28 of this
        // error. The bound is four standard deviations.
        let rmse = testing::rmse(ring, 400);
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
    #[should_panic(expected = "100 bytes")]
    fn memory_for_less_than_a_column_is_refused() {
        let _ = SketchRing::new(300, 1024, 100, 1);
    }

    fn bitmap(hashes: impl IntoIterator<Item = u64>) -> Bitmap {
        let mut bitmap = Bitmap::default();
        hashes.into_iter().for_each(|hash| bitmap.insert(hash));
        bitmap
    }

    #[test]
    fn errors_are_the_published_10_percent_over_the_whole_range() {
        for count in [10, 100, 1000, 10_000, 100_000_u64] {
            let error = |run: u64| {
                let hashes = (0..count).map(|index| mix(run << 40 | index));
                bitmap(hashes).estimate() / count as f64 - 1.0
            };
            let squares: f64 = (0..200).map(error).map(|error| error * error).sum();
            // The standard deviation of the root mean square of 200 errors is 1/20 of the error. The bound is four
            // standard deviations.
            let rmse = (squares / 200.0).sqrt();
            assert!(rmse < 0.1 * 1.2, "{rmse} at {count}");
        }
    }

    proptest! {
        #[test]
        fn a_merged_bitmap_is_that_of_the_union(
            left in prop::collection::vec(any::<u64>(), 0..300),
            right in prop::collection::vec(any::<u64>(), 0..300),
        ) {
            let mut merged = bitmap(left.iter().copied());
            merged.merge(&bitmap(right.iter().copied()));
            prop_assert_eq!(merged, bitmap(right.into_iter().chain(left)));
        }
    }
}
