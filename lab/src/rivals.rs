//! The systems with which the paper compares its scheme, implemented from their published descriptions.
//!
//! - [`dcds`] selects vectors by remainders, and recovers hosts with the Chinese remainder theorem.
//! - [`vbfa`] selects vectors by runs of address bits, and recovers hosts from runs that overlap.
//! - [`gse`] has one bit array, in which each host has a virtual vector. It cannot recover hosts, so it stores their
//!   addresses.
//!
//! All three systems store bits instead of counters and use discrete windows: `close_slice` reports, then starts an
//! empty window. DCDS and VBFA are [`VectorFilter`]s, which consist of [`Arrays`] and a [`Reversal`]. A pair sets the
//! same bit in one vector of every array. The cardinality of a host is estimated by linear counting on the AND of its
//! vectors. To create a report, a [`Walk`] tries combinations of hot vectors, which have few zero bits. An AND only
//! clears bits, so a combination is dropped as soon as its AND has too many zero bits.

pub(crate) mod dcds;
pub(crate) mod gse;
pub(crate) mod vbfa;

use srlg_core::hash::{Key, KeySequence, hash, reduce};
use srlg_core::{Address, Ipv4Pair};

use crate::system::System;

const WORD: u32 = u64::BITS;

/// Default maximum number of combinations that a search tries. A search that reaches this maximum takes a few seconds.
const MOST_COMBINATIONS: u64 = 1 << 30;

/// Outcome of the search for hosts in the last `close_slice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) tried: u64,
    /// Whether the search finished within the maximum number of combinations. If not, hosts may be missing from the
    /// report.
    pub(crate) complete: bool,
}

fn zeros(words: impl Iterator<Item = u64>) -> u32 {
    words.map(u64::count_zeros).sum()
}

/// Returns the linear count (Whang, Vander-Zanden, Taylor 1990): the estimated number of pairs if `zeros` of `bits`
/// bits are zero. If all bits are one, the estimate would be infinite, so the count for one zero bit is returned.
pub(crate) fn linear_count(zeros: u32, bits: u32) -> f64 {
    let bits = f64::from(bits);
    bits * libm::log(bits / f64::from(zeros.max(1)))
}

/// Sizes and limits of a [`VectorFilter`].
#[derive(Clone, Debug)]
pub(crate) struct Config<Sizes> {
    /// Minimum estimate at which a host is reported.
    threshold: u32,
    /// Sizes of the arrays ([`Reversal::Sizes`]).
    sizes: Sizes,
    vector_bits: u32,
    most_combinations: u64,
    seed: u64,
}

/// A system with arrays of bit vectors, from which `R` recovers hosts.
pub(crate) struct VectorFilter<R> {
    threshold: u32,
    most_combinations: u64,
    arrays: Arrays,
    /// Hash keys for the inside host and for the pair.
    keys: [Key; 2],
    reversal: R,
    search: Search,
}

impl<R: Reversal> VectorFilter<R> {
    /// # Panics
    /// Panics if the system does not support these sizes, or if vectors are empty or not a whole number of words.
    pub(crate) fn new(config: &Config<R::Sizes>) -> Self {
        let Config { threshold, vector_bits, most_combinations, seed, .. } = *config;
        let mut keys = KeySequence::new(seed);
        let pair_keys = [keys.next_key(), keys.next_key()];
        let (reversal, counts) = R::new(&config.sizes, &mut keys);
        Self {
            threshold,
            most_combinations,
            arrays: Arrays::new(&counts, vector_bits),
            keys: pair_keys,
            reversal,
            search: Search { tried: 0, complete: true },
        }
    }

    /// Returns the index of the bit that a pair sets in its vectors. The index depends on both hosts of the pair, so
    /// that inside hosts with common peers do not set the same bits.
    fn bit(&self, pair: Ipv4Pair) -> u32 {
        let [host, key] = self.keys;
        reduce(hash(pair.peer ^ hash(pair.inside, host), key), self.arrays.vector_bits)
    }
}

impl<R: Reversal> System for VectorFilter<R> {
    fn name(&self) -> String {
        R::NAME.into()
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        for &pair in pairs {
            let bit = self.bit(pair);
            for (array, vector) in self.reversal.vectors(pair.inside).enumerate() {
                self.arrays.set(array, vector, bit);
            }
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let (report, search) =
            self.arrays.report(&self.reversal, self.threshold, self.most_combinations);
        self.search = search;
        self.arrays.clear();
        report
    }

    fn is_complete(&self) -> bool {
        self.search.complete
    }

    /// Returns the size of the vectors in bytes, without other data.
    fn memory_bytes(&self) -> usize {
        self.arrays.bytes()
    }
}

/// A mapping from a host to its vectors. Its inverse recovers the host from the vectors, array by array.
pub(crate) trait Reversal: Sized {
    /// Name of the system in tables and plots.
    const NAME: &str;

    /// Sizes of the arrays, such as the number of vectors in each array.
    type Sizes;

    /// Known properties of a host, derived from the vectors that have been joined.
    type Clue: Copy;

    /// Returns the reversal and the number of vectors in each array.
    fn new(sizes: &Self::Sizes, keys: &mut KeySequence) -> (Self, Vec<u32>);

    fn vectors(&self, host: Address) -> impl Iterator<Item = u32>;

    /// Returns the clue before any vector is joined.
    fn nothing(&self) -> Self::Clue;

    /// Returns the only vector of `array` that is consistent with `known`, if `known` determines the vector.
    fn only(&self, array: usize, known: Self::Clue) -> Option<u32>;

    /// Adds `vector` of `array` to the clue `known`. Returns `None` if no host is consistent with
    /// the vector and the clue.
    fn join(&self, array: usize, vector: u32, known: Self::Clue) -> Option<Self::Clue>;

    /// Returns the host after the vectors of all arrays have been joined.
    fn host(&self, known: Self::Clue) -> Address;
}

/// Arrays of bit vectors that all have the same number of bits.
struct Arrays {
    vector_bits: u32,
    /// Vectors of each array, one after the other.
    arrays: Vec<Vec<u64>>,
}

impl Arrays {
    /// Creates zeroed arrays, with `counts[i]` vectors in array i.
    fn new(counts: &[u32], vector_bits: u32) -> Self {
        assert!(
            vector_bits > 0 && vector_bits.is_multiple_of(WORD),
            "a vector must be a whole number of words"
        );
        let words = |&count| vec![0; count as usize * (vector_bits / WORD) as usize];
        Self { vector_bits, arrays: counts.iter().map(words).collect() }
    }

    fn set(&mut self, array: usize, vector: u32, bit: u32) {
        let first = vector as usize * self.words();
        self.arrays[array][first + (bit / WORD) as usize] |= 1 << (bit % WORD);
    }

    fn vector(&self, array: usize, vector: u32) -> &[u64] {
        &self.arrays[array][vector as usize * self.words()..][..self.words()]
    }

    fn words(&self) -> usize {
        (self.vector_bits / WORD) as usize
    }

    fn clear(&mut self) {
        self.arrays.iter_mut().for_each(|array| array.fill(0));
    }

    fn bytes(&self) -> usize {
        self.arrays.iter().map(|array| size_of_val(array.as_slice())).sum()
    }

    /// Returns the hosts whose estimates are at least `threshold`, their estimates, and the outcome of the search.
    /// Tries at most `most` combinations of vectors.
    fn report<R: Reversal>(
        &self,
        reversal: &R,
        threshold: u32,
        most: u64,
    ) -> (Vec<(Address, f64)>, Search) {
        let zeros: Vec<Vec<u32>> = self.arrays.iter().map(|array| self.zeros(array)).collect();
        let background = self.background(&zeros);
        let bits = f64::from(self.vector_bits);
        // The estimate decreases as the number of zeros grows. Up to `most_zeros`, the estimate is at least the
        // threshold.
        let most_zeros = bits * libm::exp(-(f64::from(threshold) + background) / bits);
        let most_zeros = most_zeros as u32;
        let hot: Vec<_> = zeros.iter().map(|zeros| hot(zeros, most_zeros)).collect();
        let (search, found) = (Search { tried: 0, complete: true }, Vec::new());
        let mut walk = Walk { arrays: self, reversal, hot: &hot, most_zeros, most, search, found };
        walk.descend(0, reversal.nothing(), &vec![u64::MAX; self.words()]);
        let estimate = |zeros| linear_count(zeros, self.vector_bits) - background;
        let report = walk.found.iter().map(|&(host, zeros)| (host, estimate(zeros)));
        // If `most_zeros` is 0, even the estimate of full vectors may be below the threshold.
        let report = report.filter(|&(_, estimate)| estimate >= threshold.into());
        (report.collect(), walk.search)
    }

    fn zeros(&self, array: &[u64]) -> Vec<u32> {
        array.chunks_exact(self.words()).map(|vector| zeros(vector.iter().copied())).collect()
    }

    /// Returns the contribution of other hosts to an estimate: the linear count of the bits that are one in every array
    /// by chance. The calculation assumes that the vectors of a host are as full as the average vector.
    fn background(&self, zeros: &[Vec<u32>]) -> f64 {
        let bits = f64::from(self.vector_bits);
        let mean = |zeros: &Vec<u32>| {
            zeros.iter().map(|&zeros| f64::from(zeros)).sum::<f64>() / zeros.len() as f64
        };
        let by_chance: f64 = zeros.iter().map(|zeros| 1.0 - mean(zeros) / bits).product();
        // At least one zero bit is assumed, as in `linear_count`.
        -bits * libm::log((1.0 - by_chance).max(1.0 / bits))
    }
}

/// Returns the indices of the vectors with at most `most_zeros` zero bits, in ascending order.
fn hot(zeros: &[u32], most_zeros: u32) -> Vec<u32> {
    (0..).zip(zeros).filter(|&(_, &zeros)| zeros <= most_zeros).map(|(vector, _)| vector).collect()
}

/// A depth-first search through the combinations of hot vectors.
struct Walk<'a, R> {
    arrays: &'a Arrays,
    reversal: &'a R,
    /// Hot vectors of each array, in ascending order.
    hot: &'a [Vec<u32>],
    most_zeros: u32,
    most: u64,
    search: Search,
    /// Hosts found so far, with the number of zero bits in the AND of their vectors.
    found: Vec<(Address, u32)>,
}

impl<'a, R: Reversal> Walk<'a, R> {
    /// Tries the hot vectors of `array` and, recursively, of later arrays. `before` is the AND of the vectors that were
    /// chosen in earlier arrays.
    fn descend(&mut self, array: usize, known: R::Clue, before: &[u64]) {
        if array == self.hot.len() {
            let found = (self.reversal.host(known), zeros(before.iter().copied()));
            self.found.push(found);
            return;
        }
        for &vector in self.agreeing(array, known) {
            if self.search.tried == self.most {
                self.search.complete = false;
                return;
            }
            self.search.tried += 1;
            let Some(known) = self.reversal.join(array, vector, known) else { continue };
            let both = before.iter().zip(self.arrays.vector(array, vector)).map(|(a, b)| a & b);
            if zeros(both.clone()) <= self.most_zeros {
                self.descend(array + 1, known, &both.collect::<Vec<_>>());
            }
        }
    }

    /// Returns the hot vectors of `array` that must be tried. If `known` determines the vector, all others are left
    /// out.
    fn agreeing(&self, array: usize, known: R::Clue) -> &'a [u32] {
        let hot = &self.hot[array];
        let Some(only) = self.reversal.only(array, known) else { return hot };
        hot.binary_search(&only).map_or(&[], |index| &hot[index..=index])
    }
}

#[cfg(test)]
mod tests;
