//! Names of hosts, and from their remainders back to hosts.
//!
//! Shape: [`Remainders`], a bijection from addresses to names and one [`Step`] per modulus;
//! a join solves `x = known (mod product)` and `x = vector (mod modulus)`. Invariant: what
//! is known stays below 2^32 and below the product of the moduli, so no sum overflows.

use super::{NAMES, product};
use crate::rivals::Reversal;
use srlg_core::Address;
use srlg_core::hash::{KeySequence, hash};

/// Names of hosts, and the Chinese remainder theorem.
pub struct Remainders {
    /// A name is `factor * x + offset`, the shift `x ^ (x >> 16)` of it, and the same again.
    factor: u32,
    offset: u32,
    /// What `factor` times is 1.
    inverse: u32,
    steps: Vec<Step>,
}

/// One array in the Chinese remainder theorem.
#[derive(Clone, Copy)]
struct Step {
    modulus: u64,
    /// Product of the moduli before this one, as far as it takes to reach [`NAMES`].
    product: u64,
    /// What `product` times is 1, modulo `modulus`.
    inverse: u64,
}

impl Remainders {
    /// # Panics
    /// When the moduli are not pairwise coprime or have a product below 2^32.
    pub(super) fn new(moduli: &[u32], keys: &mut KeySequence) -> Self {
        assert!(product(moduli) >= NAMES.into(), "the moduli determine an address: raise them");
        let key = keys.next_key();
        let factor = hash(0, key) | 1; // odd, or the product would lose bits
        // Newton's iteration: an odd number is its own inverse to 3 bits; each step doubles them.
        let inverse = (0..4).fold(factor, |inverse, _| {
            inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse)))
        });
        let mut product = 1;
        let steps = moduli.iter().map(|&modulus| Step::new(modulus.into(), &mut product));
        Self { factor, offset: hash(1, key), inverse, steps: steps.collect() }
    }

    /// The name of `host`: its vector of an array is the remainder.
    fn name(&self, host: Address) -> u32 {
        let linear = |x: u32| x.wrapping_mul(self.factor).wrapping_add(self.offset);
        let once = linear(host);
        linear(once ^ (once >> 16))
    }
}

impl Step {
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

    /// The name modulo the product of the moduli.
    type Known = u64;

    fn vectors(&self, host: Address) -> impl Iterator<Item = u32> {
        let name = self.name(host);
        self.steps.iter().map(move |step| name % step.modulus as u32)
    }

    fn nothing(&self) -> u64 {
        0
    }

    fn only(&self, array: usize, known: u64) -> Option<u32> {
        let Step { modulus, product, .. } = self.steps[array];
        (product >= NAMES).then_some((known % modulus) as u32)
    }

    fn join(&self, array: usize, vector: u32, known: u64) -> Option<u64> {
        let Step { modulus, product, inverse } = self.steps[array];
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
    fn every_name_leads_back_to_its_host() {
        let moduli = [1627, 1626, 1625];
        let remainders = Remainders::new(&moduli, &mut KeySequence::new(3));
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
