//! GSE: Shin, Im, Yoon, "A grand spread estimator using a graphics processing unit", Journal of Parallel and
//! Distributed Computing 74 (2014).
//!
//! A [`Gse`] consists of one array of bits that all hosts share. The virtual vector of a host consists of `vector_bits`
//! bits of the array, which hashes select. A pair sets one bit in the vector of its inside host. Let V_m be the
//! fraction of zero bits in the array, and V_s the fraction of zero bits in the vector. The maximum likelihood estimate
//! is then `vector_bits * (ln V_m - ln V_s)`.
//!
//! A *glimpse* reads the first bits of a host's vector. If far too many of these bits are zero, the host is dismissed
//! and the remaining bits are not read. The published algorithm reads all bits, which takes about ten times as long for
//! the same report.
//!
//! The system estimates cardinalities but cannot recover hosts, so it also stores an exact set of the hosts in the
//! slice. [`System::memory_bytes`] does not include this set.

use super::{WORD, linear_count, zeros};
use crate::system::{Counter, System};
use rustc_hash::FxHashSet;
use srlg_core::hash::{Key, KeySequence, hash, reduce};
use srlg_core::{Address, Ipv4Pair};

/// Number of bits in a glimpse.
const GLIMPSE: u32 = 256;
/// Maximum shortfall of ones in a glimpse, in standard deviations. Only one in 10^12 hosts at the threshold exceeds it.
const GLIMPSE_DEVIATIONS: f64 = 7.0;

/// The configuration of a [`Gse`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Minimum estimate at which a host is reported.
    pub(crate) threshold: u32,
    /// Number of bits in the shared array: a multiple of 64.
    pub(crate) array_bits: u32,
    pub(crate) vector_bits: u32,
    pub(crate) seed: u64,
}

impl Config {
    /// Returns the configuration for `bytes` of memory and super points that have at least `threshold` peers.
    ///
    /// `bytes` is rounded down to whole words and limited to 512 MiB. Vectors have `4 * threshold` bits, which is best
    /// for 4 million pairs in 16 MiB. Most of the time of `close_slice` is spent on reading the vectors of hosts that
    /// the glimpse does not dismiss.
    ///
    /// Let s be the number of bits per vector, `t = n / s`, and a the number of pairs per bit of the array (1/32 for 4
    /// million pairs in 16 MiB). An estimate of n peers then has the variance `s (e^(t + a) - t - 1)`, which is nearly
    /// `n^2 / 2s + s a`. Larger vectors contain more bits that other hosts have set. In smaller vectors, more pairs
    /// share a bit, and a count cannot exceed `s ln s`.
    pub(crate) fn with_memory(bytes: usize, threshold: u32, seed: u64) -> Self {
        let words = (bytes / 8).min((u32::MAX / WORD) as usize) as u32;
        Self { threshold, array_bits: words * WORD, vector_bits: 4 * threshold, seed }
    }
}

/// The GSE system. See the [module](self).
pub(crate) struct Gse {
    config: Config,
    array: Vec<u64>,
    hosts: FxHashSet<Address>,
    /// Hash keys for the peer, the bit of a vector, the host, and the index in the array.
    keys: [Key; 4],
}

impl Gse {
    /// # Panics
    /// Panics if the array is empty or not a whole number of words, or if vectors are empty.
    pub(crate) fn new(config: Config) -> Self {
        let Config { array_bits, vector_bits, seed, .. } = config;
        assert!(
            array_bits > 0 && array_bits.is_multiple_of(WORD),
            "the array must be a whole number of words"
        );
        assert!(vector_bits > 0, "a virtual vector must have at least one bit");
        let mut keys = KeySequence::new(seed);
        let keys = std::array::from_fn(|_| keys.next_key());
        let array = vec![0; (array_bits / WORD) as usize];
        Self { config, array, hosts: FxHashSet::default(), keys }
    }

    /// Returns the constant that represents bit `index` of every vector.
    fn constant(&self, index: u32) -> u32 {
        hash(index, self.keys[1])
    }

    /// Returns the constants of all bits of a vector.
    fn constants(&self) -> Vec<u32> {
        (0..self.config.vector_bits).map(|index| self.constant(index)).collect()
    }

    /// Returns the fraction of zero bits in the array. At least one zero bit is assumed.
    fn zero_fraction(&self) -> f64 {
        f64::from(zeros(self.array.iter().copied()).max(1)) / f64::from(self.config.array_bits)
    }

    /// Returns the array index of a virtual bit. `host` is the hash of the host, and `constant` represents the bit.
    fn place(&self, host: u32, constant: u32) -> u32 {
        reduce(hash(host ^ constant, self.keys[3]), self.config.array_bits)
    }

    /// Returns the estimate for `host`, or `None` if its glimpse has fewer than `least` ones. `zero_fraction` applies
    /// to the whole array, and `constants` has one constant per bit of a vector.
    fn estimate(
        &self,
        host: Address,
        zero_fraction: f64,
        constants: &[u32],
        least: u32,
    ) -> Option<f64> {
        let host = hash(host, self.keys[2]);
        let ones = |constants: &[u32]| {
            let places = constants.iter().map(|&constant| self.place(host, constant));
            places.map(|place| self.bit(place)).sum::<u32>()
        };
        let (first, others) = constants.split_at(constants.len().min(GLIMPSE as usize));
        let seen = ones(first);
        if seen < least {
            return None;
        }
        let bits = self.config.vector_bits;
        let background = f64::from(bits) * libm::log(zero_fraction);
        Some(linear_count(bits - seen - ones(others), bits) + background)
    }

    /// Returns the minimum number of ones in a glimpse at which the host is not dismissed. A host at the threshold
    /// hardly ever has fewer ones. The calculation assumes that a glimpse is a random sample of the vector, and that
    /// the vector has the expected number of zeros.
    fn least_glimpse(&self, zero_fraction: f64) -> u32 {
        let Config { threshold, vector_bits, .. } = self.config;
        let share = f64::from(threshold) / f64::from(vector_bits);
        let ones = 1.0 - zero_fraction * libm::exp(-share);
        let drawn = f64::from(GLIMPSE.min(vector_bits));
        let deviation = libm::sqrt(drawn * ones * (1.0 - ones));
        (drawn * ones - GLIMPSE_DEVIATIONS * deviation).max(0.0) as u32
    }

    fn bit(&self, place: u32) -> u32 {
        (self.array[(place / WORD) as usize] >> (place % WORD)) as u32 & 1
    }
}

impl System for Gse {
    fn name(&self) -> String {
        "GSE".into()
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        let [peer, _, host, _] = self.keys;
        for &pair in pairs {
            let index = reduce(hash(pair.peer, peer), self.config.vector_bits);
            let place = self.place(hash(pair.inside, host), self.constant(index));
            self.array[(place / WORD) as usize] |= 1 << (place % WORD);
            self.hosts.insert(pair.inside);
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let (zero_fraction, constants) = (self.zero_fraction(), self.constants());
        let least = self.least_glimpse(zero_fraction);
        let estimate = |&host| {
            self.estimate(host, zero_fraction, &constants, least).map(|estimate| (host, estimate))
        };
        let estimates = self.hosts.iter().filter_map(estimate);
        let threshold = f64::from(self.config.threshold);
        let report = estimates.filter(|&(_, estimate)| estimate >= threshold).collect();
        self.array.fill(0);
        self.hosts.clear();
        report
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(self.array.as_slice())
    }
}

impl Counter for Gse {
    fn estimates(&self, hosts: &[Address]) -> Vec<f64> {
        let (zero_fraction, constants) = (self.zero_fraction(), self.constants());
        let estimate = |&host| self.estimate(host, zero_fraction, &constants, 0);
        hosts.iter().map(|host| estimate(host).expect("no host has fewer than 0 ones")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn the_pairs_of_others_are_subtracted() {
        // Other hosts have 200,000 pairs in 2^20 bits, so a = 0.19. Their pairs would add 98 peers to the estimate from
        // a vector of 512 bits.
        let config = Config::with_memory(1 << 17, 128, 1);
        let mut system = Gse::new(Config { threshold: 0, ..config });
        let others = (0..200_000).map(|pair| Ipv4Pair { inside: 1 + pair % 10_000, peer: pair });
        system.ingest(&others.collect::<Vec<_>>());
        system.ingest(&(0..128).map(|peer| Ipv4Pair { inside: 0, peer }).collect::<Vec<_>>());
        let report = system.close_slice();
        let (_, estimate) = report.into_iter().find(|&(host, _)| host == 0).unwrap();
        // The variance is 512 (e^(0.25 + 0.19) - 0.25 - 1) = 155. The bound is five standard deviations.
        assert_abs_diff_eq!(estimate, 128.0, epsilon = 62.0);
    }

    #[test]
    fn a_glimpse_dismisses_small_hosts_and_no_super_point() {
        let mut system = Gse::new(Config::with_memory(1 << 24, 1024, 1));
        // A glimpse is most likely to be incorrect for hosts at and around the threshold.
        let large =
            (0..500).flat_map(|inside| (0..1000 + inside / 10).map(move |peer| (inside, peer)));
        let small = (1000..2000).flat_map(|inside| (0..10).map(move |peer| (inside, peer)));
        let pairs = large
            .chain(small)
            .map(|(inside, peer)| Ipv4Pair { inside, peer: peer * 7919 + inside });
        system.ingest(&pairs.collect::<Vec<_>>());
        let zeros = zeros(system.array.iter().copied());
        let zero_fraction = f64::from(zeros) / f64::from(system.config.array_bits);
        let constants: Vec<u32> = (0..4096).map(|index| system.constant(index)).collect();
        let least = system.least_glimpse(zero_fraction);
        for host in (0..500).chain(1000..2000) {
            let whole = system.estimate(host, zero_fraction, &constants, 0).unwrap();
            let glimpsed = system.estimate(host, zero_fraction, &constants, least);
            assert_eq!(glimpsed.is_some(), host < 500, "{host}");
            assert!(glimpsed.is_none_or(|estimate| estimate == whole));
        }
    }
}
