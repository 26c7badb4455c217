//! A stream of distinct pairs, for loads at which [`Slices`](super::Slices) would need too much memory.
//!
//! As in model A, 99.4 % of the hosts have few peers. The other 0.6 % are *heavy* hosts, whose numbers of peers have a
//! heavy tail. No pair repeats within 2^32 pairs. In a window of `load` pairs, hosts have on average the same
//! cardinalities as in model A. Only the heavy hosts are kept in memory. A heavy host needs 8 bytes, and there is one
//! for every 567 pairs in a window.

use super::network::{INSIDE_HOSTS, inside_host};
use super::rng::{Rng, mix};
use super::scatter;
use srlg_core::Ipv4Pair;

/// Number of pairs in a window per heavy host. A host has 3.40 pairs on average, and 0.6 % of the hosts are heavy.
const PAIRS_PER_HEAVY_HOST: f64 = 3.40 / 0.006;
/// Share of the pairs that belong to passing hosts: 0.994 zeta(2.2) = 1.48 of 3.40 pairs per host.
const PASSING_SHARE: f64 = 0.436;
const PASSING_MEAN: f64 = 1.49;
/// Minimum, maximum and Pareto tail index of the number of peers of a heavy host.
const HEAVY_FEWEST: f64 = 48.0;
const HEAVY_MOST: f64 = 200_000.0;
const HEAVY_TAIL: f64 = 1.1;

const SIZE_STREAM: u64 = 6 << 40;
const PAIR_STREAM: u64 = 7 << 40;

/// An endless stream of pairs, with hosts as in model A. Any 2^32 consecutive pairs are distinct.
///
/// ```
/// use srlg_traffic::synthetic::Stream;
/// let window: Vec<_> = Stream::new(1, 100_000).take(100_000).collect();
/// let of_first = window.iter().filter(|pair| pair.inside == window[0].inside);
/// assert!(of_first.count() < 20_000);
/// ```
pub struct Stream {
    rng: Rng,
    /// Cumulative sums of the sizes of the heavy hosts. The expected number of a host's pairs is proportional to its
    /// size.
    sums: Vec<f64>,
    passing: u32,
    counter: u32,
    key: u32,
}

impl Stream {
    /// Creates a stream for windows of `load` distinct pairs.
    ///
    /// If `load` is 57 million or more, there are not enough inside addresses for all passing hosts. Each passing host
    /// then has more pairs.
    #[must_use]
    pub fn new(seed: u64, load: u32) -> Self {
        let heavy = (f64::from(load) / PAIRS_PER_HEAVY_HOST + 1.0) as u32;
        // A host gets at most an eighth of the pairs so that a single host cannot use up a small window.
        let most = HEAVY_MOST.min(f64::from(load) / 8.0).max(HEAVY_FEWEST);
        let mut sizes = Rng::new(seed, SIZE_STREAM);
        let mut sum = 0.0;
        let add = |_| {
            sum += sizes.pareto(HEAVY_FEWEST, HEAVY_TAIL, most);
            sum
        };
        let sums = (0..heavy).map(add).collect();
        let passing = (f64::from(load) * PASSING_SHARE / PASSING_MEAN) as u32;
        Self {
            rng: Rng::new(seed, PAIR_STREAM),
            sums,
            passing: passing.clamp(1, INSIDE_HOSTS - heavy),
            counter: 0,
            key: mix(seed) as u32,
        }
    }

    /// Draws the index of a heavy host, with a probability proportional to its size.
    fn heavy(&mut self) -> u32 {
        let all = self.sums[self.sums.len() - 1];
        let place = self.rng.unit() * all;
        self.sums.partition_point(|&sum| sum <= place) as u32
    }
}

impl Iterator for Stream {
    type Item = Ipv4Pair;

    fn next(&mut self) -> Option<Ipv4Pair> {
        let index = if self.rng.unit() < PASSING_SHARE {
            self.sums.len() as u32 + self.rng.below(self.passing)
        } else {
            self.heavy()
        };
        let peer = scatter(self.counter ^ self.key);
        self.counter = self.counter.wrapping_add(1);
        Some(Ipv4Pair { inside: inside_host(index), peer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Model;
    use crate::synthetic::tests::cardinalities;
    use rustc_hash::FxHashSet;

    const LOAD: u32 = 1_000_000;

    fn super_points(pairs: &FxHashSet<Ipv4Pair>) -> usize {
        let counts = cardinalities(pairs.iter().copied());
        counts.into_values().filter(|&count| count >= 1024).count()
    }

    #[test]
    fn pairs_are_distinct_and_make_as_many_super_points_as_model_a() {
        let pairs: FxHashSet<Ipv4Pair> = Stream::new(1, LOAD).take(LOAD as usize).collect();
        assert_eq!(pairs.len(), LOAD as usize);
        let model: FxHashSet<Ipv4Pair> = Model::Backbone.slices(1, 300, LOAD).flatten().collect();
        // There are 1760 heavy hosts, and P(X > 1024) = (48 / 1024)^1.1 = 3.5 % of them are super points: 61, with a
        // standard deviation of 7.7. The standard deviation of the difference of two such numbers is sqrt(2) times as
        // large. The bound is five standard deviations.
        let (own, other) = (super_points(&pairs), super_points(&model));
        assert!(own.abs_diff(other) < 54, "{own} and {other}");
    }

    #[test]
    fn memory_is_that_of_the_heavy_hosts() {
        assert_eq!(Stream::new(1, 100_000_000).sums.len(), 176_471);
    }
}
