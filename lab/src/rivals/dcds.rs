//! DCDS: Wang, Guan, Qin, "A data streaming method for monitoring host connection degrees of high-speed links", IEEE
//! Transactions on Information Forensics and Security 6 (2011).
//!
//! A [`Dcds`] consists of several arrays of bit vectors. Each array has a modulus, which is also its number of vectors.
//! The *name* of a host is the number to which a bijection maps its address. The index of the host's vector in an array
//! is the name modulo the modulus of the array. The Chinese remainder theorem recovers the name from the indices of a
//! combination of hot vectors. The moduli are pairwise coprime and their product is at least 2^32, so that the
//! remainders determine the name. A combination whose name is 2^32 or more does not belong to a host.
//!
//! Where the description leaves a choice open, this implementation favours DCDS. The bijection spreads
//! neighbouring hosts over all vectors. Once the moduli of the first arrays determine the name, the remaining arrays
//! only verify it. The number of bits that other hosts set in an AND by chance is estimated, and their contribution is
//! subtracted.

use srlg_core::Address;
use srlg_core::hash::{KeySequence, hash};

use super::{MOST_COMBINATIONS, Reversal, VectorFilter, WORD};

/// Number of IPv4 addresses, which is also the number of names.
const NAMES: u64 = 1 << Address::BITS;

/// The configuration of DCDS. The sizes are the moduli, that is, the number of vectors in each array. Moduli are
/// pairwise coprime, with a product of at least 2^32.
pub(crate) type Config = super::Config<Vec<u32>>;

impl Config {
    /// Returns the configuration for `bytes` of memory and super points that have at least `threshold` peers.
    ///
    /// Vectors have `4 * threshold` bits, rounded up to whole words. At a threshold of 1024, linear counting then has a
    /// standard error of 1.15 % and can count up to 33 times the threshold. The number of arrays is at least 3, and
    /// large enough that at most one in 2^24 invalid combinations is accepted. The full vectors of a very large host
    /// combine with the vectors of all super points, so a search with 300 super points tries about 10^7 combinations.
    /// The moduli are the largest pairwise coprime numbers that fit. At a threshold of 1024 and with at least 16 MiB,
    /// less than 1 % of the memory remains unused.
    ///
    /// # Panics
    /// Panics if the memory is so small that even 8 arrays accept too many invalid combinations.
    pub(crate) fn with_memory(bytes: usize, threshold: u32, seed: u64) -> Self {
        let vector_bits = (4 * threshold).next_multiple_of(WORD);
        let vectors = (bytes as u64 * 8 / u64::from(vector_bits)) as u32;
        let moduli = (3..=8).map(|arrays| coprime_moduli(vectors / arrays, arrays as usize));
        let mut enough = moduli.filter(|moduli| product(moduli) >= u128::from(NAMES) << 24);
        let sizes = enough.next().expect("the memory must hold enough vectors in at most 8 arrays");
        Self { threshold, sizes, vector_bits, most_combinations: MOST_COMBINATIONS, seed }
    }
}

/// Returns `count` pairwise coprime numbers, or fewer if no more exist. They are chosen from `most` downwards.
fn coprime_moduli(most: u32, count: usize) -> Vec<u32> {
    let mut moduli = Vec::new();
    for candidate in (2..=most).rev() {
        if moduli.len() == count {
            break;
        }
        if moduli.iter().all(|&taken| greatest_common_divisor(taken, candidate) == 1) {
            moduli.push(candidate);
        }
    }
    moduli
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn product(moduli: &[u32]) -> u128 {
    moduli.iter().fold(1, |product, &modulus| u128::saturating_mul(product, modulus.into()))
}

/// The DCDS system. See the [module](self).
pub(crate) type Dcds = VectorFilter<Remainders>;

/// A mapping between a host and its vectors, based on the remainders of its name. A join solves `x = known (mod
/// product)` and `x = vector (mod modulus)`. The known value stays below 2^32 and below the product of the joined
/// moduli, so sums cannot overflow.
pub(crate) struct Remainders {
    /// Factor and offset of the linear step `factor * x + offset`. A name is computed from an address in three steps:
    /// the linear step, `x ^ (x >> 16)`, and the linear step again.
    factor: u32,
    offset: u32,
    /// Inverse of `factor` modulo 2^32.
    inverse: u32,
    congruences: Vec<Congruence>,
}

/// The congruence of one array in the Chinese remainder theorem.
#[derive(Clone, Copy)]
struct Congruence {
    modulus: u64,
    /// Product of the moduli before this one, up to the first product that reaches [`NAMES`].
    product: u64,
    /// Inverse of `product` modulo `modulus`.
    inverse: u64,
}

impl Remainders {
    fn name(&self, host: Address) -> u32 {
        let linear = |x: u32| x.wrapping_mul(self.factor).wrapping_add(self.offset);
        let once = linear(host);
        linear(once ^ (once >> 16))
    }
}

impl Congruence {
    fn new(modulus: u64, product: &mut u64) -> Self {
        let before = *product;
        let inverse = (0..modulus).find(|&inverse| before % modulus * inverse % modulus == 1);
        if before < NAMES {
            *product *= modulus;
        }
        Self { modulus, product: before, inverse: inverse.expect("pairwise coprime moduli") }
    }
}

impl Reversal for Remainders {
    const NAME: &str = "DCDS";

    type Sizes = Vec<u32>;

    /// The remainder of the name modulo the product of the moduli joined so far.
    type Clue = u64;

    /// # Panics
    /// Panics if the moduli are not pairwise coprime, or have a product below 2^32.
    fn new(moduli: &Vec<u32>, keys: &mut KeySequence) -> (Self, Vec<u32>) {
        assert!(product(moduli) >= NAMES.into(), "the product of the moduli must be at least 2^32");
        let key = keys.next_key();
        let factor = hash(0, key) | 1; // odd, so that no bits are lost
        // In Newton's iteration, an odd number is its own inverse to 3 bits, and each step doubles the number of
        // correct bits.
        let inverse = (0..4).fold(factor, |inverse, _| {
            inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse)))
        });
        let mut product = 1;
        let congruence = |&modulus: &u32| Congruence::new(modulus.into(), &mut product);
        let congruences = moduli.iter().map(congruence).collect();
        (Self { factor, offset: hash(1, key), inverse, congruences }, moduli.clone())
    }

    fn vectors(&self, host: Address) -> impl Iterator<Item = u32> {
        let name = self.name(host);
        self.congruences.iter().map(move |it| name % it.modulus as u32)
    }

    fn nothing(&self) -> u64 {
        0
    }

    fn only(&self, array: usize, known: u64) -> Option<u32> {
        let Congruence { modulus, product, .. } = self.congruences[array];
        (product >= NAMES).then_some((known % modulus) as u32)
    }

    fn join(&self, array: usize, vector: u32, known: u64) -> Option<u64> {
        let Congruence { modulus, product, inverse } = self.congruences[array];
        if let Some(only) = self.only(array, known) {
            return (only == vector).then_some(known);
        }
        let missing = (u64::from(vector) + modulus - known % modulus) * inverse % modulus;
        let name = known + product * missing;
        (name < NAMES).then_some(name)
    }

    fn host(&self, known: u64) -> Address {
        let linear = |x: u32| x.wrapping_sub(self.offset).wrapping_mul(self.inverse);
        let once = linear(known as u32);
        linear(once ^ (once >> 16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_memory_takes_more_arrays() {
        // Vectors have 4096 bits, and the product of the moduli must be at least 2^56. With 256 MiB, three arrays reach
        // a product of 2^52, and four arrays 2^68. With 1 MiB, six arrays reach 2^50, and seven arrays 2^57.
        assert_eq!(Config::with_memory(256 << 20, 1024, 1).sizes.len(), 4);
        assert_eq!(Config::with_memory(1 << 20, 1024, 1).sizes.len(), 7);
    }

    #[test]
    #[should_panic(expected = "pairwise coprime")]
    fn moduli_with_a_common_factor_are_refused() {
        let config = Config::with_memory(1 << 20, 128, 1);
        let _ = Dcds::new(&Config { sizes: vec![3000, 2000, 1000], ..config });
    }

    #[test]
    fn every_name_leads_back_to_its_host() {
        let moduli = vec![1627, 1626, 1625];
        let (remainders, _) = Remainders::new(&moduli, &mut KeySequence::new(3));
        for host in (0..=Address::MAX).step_by(65_521) {
            let name = remainders.name(host);
            let join = |known, (array, &modulus): (usize, &u32)| {
                remainders.join(array, name % modulus, known)
            };
            let known = moduli.iter().enumerate().try_fold(remainders.nothing(), join);
            assert_eq!(known.map(|known| remainders.host(known)), Some(host));
        }
    }
}
