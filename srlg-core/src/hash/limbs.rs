//! Ids of addresses of four 32-bit words: 64 bits, uniform under their keys.
//!
//! [`HashFamily::Murmur`] uses NH of UMAC (Black and others), a sum of two products, each of sums of a word and a key
//! word. Two addresses that were not chosen for the seed collide with probability 2^-32. A bijection of 64-bit words
//! follows, because both ends of such a sum are weaker than its middle. [`HashFamily::HalfSip13`] uses HalfSipHash of
//! the four words, once for each half of the id.

use super::half_sip::half_sip_all;
use super::{HashFamily, Key, mix64};

impl HashFamily {
    /// Returns the id of an address under `keys`, as its low and its high half. `limbs` are the words of the address,
    /// the highest first.
    #[inline(always)]
    #[must_use]
    pub fn of_limbs(self, limbs: [u32; 4], keys: &[Key; 2]) -> [u32; 2] {
        let [first, second] = keys.map(|key| key.words);
        match self {
            Self::Murmur => {
                let [a, b, c, d] = limbs;
                let high = product(a.wrapping_add(first[0]), b.wrapping_add(first[1]));
                let low = product(c.wrapping_add(second[0]), d.wrapping_add(second[1]));
                let key = u64::from(first[2]) << 32 | u64::from(second[2]);
                let id = mix64(high.wrapping_add(low) ^ key);
                [id as u32, (id >> 32) as u32]
            }
            Self::HalfSip13 => {
                [first, second].map(|[low, high, _]| half_sip_all(limbs, [low, high]))
            }
        }
    }
}

#[inline(always)]
fn product(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}
