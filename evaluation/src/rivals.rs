//! The systems that the paper compares with, each from its published description.
//!
//! - [`dcds`]: vectors chosen by remainders, hosts regained by the Chinese remainder theorem.
//! - [`vbfa`]: vectors chosen by runs of address bits, hosts regained by overlapping them.
//! - [`gse`]: one shared bit array, a virtual vector per host; hosts are given to it.
//!
//! All keep bits alone, and work on discrete windows: `close_slice` reports and begins anew. The first two are
//! [`VectorFilter`]s, which is [`Arrays`] and a [`Reversal`]: a pair sets the same bit in one vector of every array, and a
//! host's cardinality is the linear count of the AND of its vectors. A report [`Walk`]s through the combinations of full
//! vectors. An AND only clears bits, so a combination is dropped as soon as too many bits are zero.

pub(crate) mod dcds;
pub(crate) mod gse;
pub(crate) mod vbfa;

use srlg_core::hash::{Key, KeySequence, hash, reduce};
use srlg_core::{Address, IpPair};

use crate::system::System;

/// Bits of a word, the unit in which memory is taken.
const WORD: u32 = u64::BITS;

/// Combinations of vectors that a search tries at most, unless told otherwise: some seconds' worth.
const MOST_COMBINATIONS: u64 = 1 << 30;

/// How far the search for hosts went in the last `close_slice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    /// Combinations of vectors that were tried.
    pub(crate) tried: u64,
    /// Whether these were all; when not, hosts may be missing in the report.
    pub(crate) complete: bool,
}

fn zeros(words: impl Iterator<Item = u64>) -> u32 {
    words.map(u64::count_zeros).sum()
}

/// Linear counting (Whang, Vander-Zanden, Taylor 1990): pairs that leave `zeros` of `bits`
/// bits zero. Without a zero bit any number could have: as for one, the least of them.
fn linear_count(zeros: u32, bits: u32) -> f64 {
    let bits = f64::from(bits);
    bits * libm::log(bits / f64::from(zeros.max(1)))
}

/// Sizes and limits of a [`VectorFilter`].
#[derive(Clone, Debug)]
pub(crate) struct Config<Sizes> {
    /// Hosts of at least this estimate are reported.
    threshold: u32,
    /// How many vectors the arrays have.
    sizes: Sizes,
    /// Bits of a vector, in whole words of 64.
    vector_bits: u32,
    /// Combinations of vectors that a `close_slice` tries at most.
    most_combinations: u64,
    /// The hashes follow from it.
    seed: u64,
}

/// A system of arrays of bit vectors, from which `R` regains hosts.
pub(crate) struct VectorFilter<R> {
    threshold: u32,
    most_combinations: u64,
    arrays: Arrays,
    /// Of the inside host, and of the pair.
    keys: [Key; 2],
    reversal: R,
    /// How far the search of the last `close_slice` went.
    search: Search,
}

impl<R: Reversal> VectorFilter<R> {
    /// An empty window.
    ///
    /// # Panics
    /// When the system has no such sizes, or vectors do not have whole words.
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

    /// The bit that a pair sets in its vectors: uniform over the pairs, not over the opposite
    /// hosts, so that hosts with common peers do not set the same bits.
    fn bit(&self, pair: IpPair) -> u32 {
        let [host, key] = self.keys;
        reduce(hash(pair.opposite ^ hash(pair.inside, host), key), self.arrays.vector_bits)
    }
}

impl<R: Reversal> System for VectorFilter<R> {
    fn name(&self) -> String {
        R::NAME.into()
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
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

    /// The vectors alone.
    fn memory_bytes(&self) -> usize {
        self.arrays.bytes()
    }
}

/// From a host to its vectors, and from vectors back to the host that they belong to, array by
/// array.
pub(crate) trait Reversal: Sized {
    /// Name of the system in tables and plots.
    const NAME: &str;

    /// How many vectors the arrays have.
    type Sizes;

    /// What the vectors of some first arrays tell about a host.
    type Clue: Copy;

    /// The reversal for these sizes, and the vectors of each array.
    fn new(sizes: &Self::Sizes, keys: &mut KeySequence) -> (Self, Vec<u32>);

    /// The vector of `host` in each array.
    fn vectors(&self, host: Address) -> impl Iterator<Item = u32>;

    /// What is known before the first array.
    fn nothing(&self) -> Self::Clue;

    /// The only vector of `array` that agrees with `known`, when that tells it.
    fn only(&self, array: usize, known: Self::Clue) -> Option<u32>;

    /// What is known with `vector` of `array` as well; `None` when that contradicts `known`.
    fn join(&self, array: usize, vector: u32, known: Self::Clue) -> Option<Self::Clue>;

    /// The host, when the vectors of all arrays have been joined.
    fn host(&self, known: Self::Clue) -> Address;
}

/// Arrays of vectors of equally many bits.
struct Arrays {
    vector_bits: u32,
    /// The vectors of each array, one after the other.
    arrays: Vec<Vec<u64>>,
}

impl Arrays {
    /// All zero, `counts[i]` vectors in array i.
    fn new(counts: &[u32], vector_bits: u32) -> Self {
        assert!(vector_bits > 0 && vector_bits.is_multiple_of(WORD), "vectors have whole words");
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

    /// Hosts whose estimate is at least `threshold`, with it, that `most` combinations of vectors lead to.
    fn report<R: Reversal>(
        &self,
        reversal: &R,
        threshold: u32,
        most: u64,
    ) -> (Vec<(Address, f64)>, Search) {
        let zeros: Vec<Vec<u32>> = self.arrays.iter().map(|array| self.zeros(array)).collect();
        let background = self.background(&zeros);
        let bits = f64::from(self.vector_bits);
        // The estimate falls with the zeros: it is at least the threshold up to this many.
        let most_zeros = bits * libm::exp(-(f64::from(threshold) + background) / bits);
        let most_zeros = most_zeros as u32;
        let hot: Vec<_> = zeros.iter().map(|zeros| hot(zeros, most_zeros)).collect();
        let (search, found) = (Search { tried: 0, complete: true }, Vec::new());
        let mut walk = Walk { arrays: self, reversal, hot: &hot, most_zeros, most, search, found };
        walk.descend(0, reversal.nothing(), &vec![u64::MAX; self.words()]);
        let estimate = |zeros| linear_count(zeros, self.vector_bits) - background;
        let report = walk.found.iter().map(|&(host, zeros)| (host, estimate(zeros)));
        // Not even the estimate of full vectors need reach the threshold.
        let report = report.filter(|&(_, estimate)| estimate >= threshold.into());
        (report.collect(), walk.search)
    }

    /// Zero bits of each vector of an array.
    fn zeros(&self, array: &[u64]) -> Vec<u32> {
        array.chunks_exact(self.words()).map(|vector| zeros(vector.iter().copied())).collect()
    }

    /// What other hosts add to an estimate: the linear count of the bits that are one in
    /// every array by chance, taking a host's vectors to be as full as the mean of all.
    fn background(&self, zeros: &[Vec<u32>]) -> f64 {
        let bits = f64::from(self.vector_bits);
        let mean = |zeros: &Vec<u32>| {
            zeros.iter().map(|&zeros| f64::from(zeros)).sum::<f64>() / zeros.len() as f64
        };
        let by_chance: f64 = zeros.iter().map(|zeros| 1.0 - mean(zeros) / bits).product();
        // As `linear_count`: no fewer zeros than one.
        -bits * libm::log((1.0 - by_chance).max(1.0 / bits))
    }
}

/// The vectors with at most `most_zeros` zero bits, ascending.
fn hot(zeros: &[u32], most_zeros: u32) -> Vec<u32> {
    (0..).zip(zeros).filter(|&(_, &zeros)| zeros <= most_zeros).map(|(vector, _)| vector).collect()
}

/// A search through the combinations of hot vectors, depth first.
struct Walk<'a, R> {
    arrays: &'a Arrays,
    reversal: &'a R,
    /// Hot vectors of each array, ascending.
    hot: &'a [Vec<u32>],
    most_zeros: u32,
    most: u64,
    search: Search,
    /// Hosts, with the zero bits of the AND of their vectors.
    found: Vec<(Address, u32)>,
}

impl<'a, R: Reversal> Walk<'a, R> {
    /// Tries the hot vectors of `array` and those after it, with the AND of those before it.
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

    /// The hot vectors of `array` that are worth a join with `known`.
    fn agreeing(&self, array: usize, known: R::Clue) -> &'a [u32] {
        let hot = &self.hot[array];
        let Some(only) = self.reversal.only(array, known) else { return hot };
        hot.binary_search(&only).map_or(&[], |index| &hot[index..=index])
    }
}

#[cfg(test)]
mod tests;
