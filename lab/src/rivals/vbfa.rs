//! VBFA: Liu, Qu, Gong, Wang, "Detection of superpoints using a vector Bloom filter", IEEE Transactions on Information
//! Forensics and Security 11 (2016).
//!
//! A [`Vbfa`] consists of five arrays of bit vectors. There are six hash functions. The first four functions extract
//! runs of consecutive address bits, and each run selects the vector in one array. The fifth function hashes the
//! address and selects the vector in the fifth array. The sixth function hashes the pair and selects the bit. Runs
//! start 8 bits apart, and the last run wraps around. If runs are longer than 8 bits, each run overlaps the next. Hosts
//! are recovered from hot vectors whose runs agree where they overlap. The runs cover the address, so four agreeing
//! runs determine one address.
//!
//! Where the description leaves a choice open, this implementation favours VBFA. The AND includes the vector of
//! the fifth array. The number of bits that other hosts set in the AND by chance is estimated from the fill of all five
//! arrays, and their contribution is subtracted.

use srlg_core::Address;
use srlg_core::hash::{Key, KeySequence, hash};

use super::{MOST_COMBINATIONS, Reversal, VectorFilter, WORD};

/// Number of arrays whose vectors are selected by runs of address bits. One additional array uses a hash.
const RUNS: usize = 4;
/// Number of address bits between the starts of consecutive runs.
const STRIDE: u32 = Address::BITS / RUNS as u32;

/// Number b of address bits in a run: 8 to 16. An array has 2^b vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunBits(u32);

pub(crate) type Config = super::Config<RunBits>;

impl Config {
    /// Returns the configuration for `bytes` of memory. The sizes do not depend on the `threshold`.
    ///
    /// Runs have 13 bits, so consecutive runs overlap by 5 bits. With one bit less, more invalid combinations would be
    /// accepted if there are many super points. With one bit more, vectors would be half as long. The memory is divided
    /// among the vectors, in whole words. Less than one word per vector, or 320 KiB in all, remains unused.
    /// [`Vbfa::new`] panics if there is less than one word per vector.
    pub(crate) fn with_memory(bytes: usize, threshold: u32, seed: u64) -> Self {
        let sizes = RunBits(13);
        let words = bytes / size_of::<u64>() / ((RUNS + 1) << sizes.0);
        let vector_bits = words as u32 * WORD;
        Self { threshold, sizes, vector_bits, most_combinations: MOST_COMBINATIONS, seed }
    }
}

/// The VBFA system. See the [module](self).
pub(crate) type Vbfa = VectorFilter<Runs>;

pub(crate) struct Runs {
    bits: u32,
    key: Key,
}

/// The address bits that the joined runs determine.
#[derive(Clone, Copy)]
pub(crate) struct KnownBits {
    address: Address,
    mask: Address,
}

impl Runs {
    fn vector(&self, array: usize, host: Address) -> u32 {
        let bits = if array < RUNS { host.rotate_left(begin(array)) } else { hash(host, self.key) };
        bits >> (Address::BITS - self.bits)
    }
}

/// Returns the number of address bits before the run of `array`.
const fn begin(array: usize) -> u32 {
    array as u32 * STRIDE
}

impl Reversal for Runs {
    const NAME: &str = "VBFA";

    type Sizes = RunBits;

    type Clue = KnownBits;

    /// # Panics
    /// Panics if runs do not have 8 to 16 bits.
    fn new(&RunBits(bits): &RunBits, keys: &mut KeySequence) -> (Self, Vec<u32>) {
        assert!((STRIDE..=16).contains(&bits), "runs must have 8 to 16 bits");
        (Self { bits, key: keys.next_key() }, vec![1 << bits; RUNS + 1])
    }

    fn vectors(&self, host: Address) -> impl Iterator<Item = u32> {
        (0..=RUNS).map(move |array| self.vector(array, host))
    }

    fn nothing(&self) -> KnownBits {
        KnownBits { address: 0, mask: 0 }
    }

    fn only(&self, array: usize, known: KnownBits) -> Option<u32> {
        (array == RUNS).then(|| self.vector(array, known.address))
    }

    fn join(&self, array: usize, vector: u32, known: KnownBits) -> Option<KnownBits> {
        if let Some(only) = self.only(array, known) {
            return (only == vector).then_some(known);
        }
        let place = |run: u32| (run << (Address::BITS - self.bits)).rotate_right(begin(array));
        let (address, mask) = (place(vector), place((1 << self.bits) - 1));
        let agree = (known.address ^ address) & known.mask & mask == 0;
        agree.then_some(KnownBits { address: known.address | address, mask: known.mask | mask })
    }

    fn host(&self, known: KnownBits) -> Address {
        known.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_lead_back_to_their_host_and_no_run_may_differ() {
        for bits in 8..=16 {
            let runs = Runs { bits, key: KeySequence::new(bits.into()).next_key() };
            for host in (0..=Address::MAX).step_by(1_000_003) {
                let join = |known, array| runs.join(array, runs.vector(array, host), known);
                let known = (0..=RUNS).try_fold(runs.nothing(), join);
                assert_eq!(known.map(|known| runs.host(known)), Some(host));
            }
        }
    }

    #[test]
    fn overlapping_runs_that_differ_belong_to_no_host() {
        let runs = Runs { bits: 12, key: KeySequence::new(1).next_key() };
        let known = runs.join(0, 0xABC, runs.nothing()).unwrap();
        assert!(runs.join(1, 0xD12, known).is_none()); // C and D differ
        let known = runs.join(1, 0xC12, known).unwrap();
        let known = runs.join(2, 0x234, known).unwrap(); // the known address bits are 0xABC1_234
        assert!(runs.join(3, 0x45D, known).is_none()); // A and D differ, around the end
        assert_eq!(runs.join(3, 0x45A, known).unwrap().address, 0xABC1_2345);
    }
}
