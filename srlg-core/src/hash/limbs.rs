//! IDs of IPv6 addresses: 64-bit keyed hashes of four 32-bit words.
//!
//! [`HashFamily::Murmur`] uses the NH hash of UMAC (Black and others): the sum of two products whose factors are sums
//! of a word and a key word. If two addresses were not crafted for the seed, they collide with a probability of at most
//! 2^-32. A bijection of 64-bit words is then applied, because the low and high bits of the sum are weaker than its
//! middle bits. [`HashFamily::HalfSip13`] computes HalfSipHash of the four words twice, once for each half of the ID.

use super::half_sip::half_sip_all;
use super::{HashFamily, Key, mix64};

impl HashFamily {
    /// Returns the low and the high half of an address's ID under `keys`. `limbs` contains the words of the address,
    /// the most significant first.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn of_limbs(self, limbs: [u32; 4], keys: &[Key; 2]) -> [u32; 2] {
        let [first, second] = keys.map(|key| key.words);
        match self {
            Self::Murmur => {
                let [a, b, c, d] = limbs.map(u64::from);
                let high = product(a << 32 | b, [first[0], first[1]]);
                let low = product(c << 32 | d, [second[0], second[1]]);
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

/// Returns the product of the sums of both halves of `words` with `keys`, modulo 2^32 each.
///
/// All operations have 64 bits, so that vectors of products need few conversions.
#[inline(always)]
fn product(words: u64, keys: [u32; 2]) -> u64 {
    let [high, low] = keys.map(u64::from);
    let half = u64::from(u32::MAX);
    ((words >> 32).wrapping_add(high) & half) * (words.wrapping_add(low) & half)
}
