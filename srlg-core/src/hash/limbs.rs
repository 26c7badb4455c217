//! Ids of addresses of four 32-bit words: 64 bits, uniform under their keys.
//!
//! For [`HashFamily::Murmur`] NH (J. Black and others, UMAC): a sum of two products of sums of a word and
//! a key word, under which two addresses that were not chosen for the seed collide with probability 2^-32, and a
//! bijection of 64-bit words behind, as both ends of such a sum are weaker than its middle. For
//! [`HashFamily::HalfSip13`] HalfSipHash of the four words, once for each half of the id.

use super::half_sip::half_sip_all;
use super::{HashFamily, Key, mix64};

impl HashFamily {
    /// Returns the id of an address of the words `limbs`, the highest first, under `keys`: the low and the high half of
    /// the id.
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
