//! Keyed bijections of 32-bit words, and their inverses, which compute an address from its image.
//!
//! Murmur's finaliser is a bijection for every key. HalfSipHash is not a bijection, so [`HashFamily::HalfSip13`] uses
//! it in a Feistel network of four rounds. Each round xors one half of the word with a hash of the other half. Luby and
//! Rackoff showed that even an attacker with access to both directions cannot distinguish four rounds of pseudorandom
//! functions from a random bijection.

use super::{HashFamily, Key, hash};
use crate::pair::Address;

const ROUNDS: u32 = 4;

impl HashFamily {
    /// Returns the image of `word` under the bijection of `key`.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn scramble(self, word: Address, key: Key) -> u32 {
        match self {
            Self::Murmur => hash(word, key),
            Self::HalfSip13 => {
                let halves = [word >> 16, word & 0xffff];
                let [left, right] = (0..ROUNDS).fold(halves, |[left, right], round| {
                    [right, left ^ self.of_half(round, right, key)]
                });
                left << 16 | right
            }
        }
    }

    /// Returns the word whose image under the bijection of `key` is `image`.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn unscramble(self, image: u32, key: Key) -> Address {
        match self {
            Self::Murmur => unhash(image, key),
            Self::HalfSip13 => {
                let halves = [image >> 16, image & 0xffff];
                let [left, right] = (0..ROUNDS).rev().fold(halves, |[left, right], round| {
                    [right ^ self.of_half(round, left, key), left]
                });
                left << 16 | right
            }
        }
    }

    #[inline(always)]
    fn of_half(self, round: u32, half: u32, key: Key) -> u32 {
        self.of(round << 16 | half, key) >> 16
    }
}

/// Returns the address whose [`hash`] is `image`.
#[inline(always)]
fn unhash(image: u32, key: Key) -> u32 {
    let [before, between, after] = key.words;
    let mut h = unshift(image, 16);
    h = unshift(h.wrapping_mul(inverse(0xc2b2_ae35)), 13);
    h = h.wrapping_mul(inverse(0x846c_a68b)).wrapping_sub(after);
    h = unshift(h, 15).wrapping_mul(inverse(between | 1));
    unshift(h, 16).wrapping_sub(before)
}

/// Returns the word `x` for which `x ^ x >> by` is `image`.
#[inline(always)]
fn unshift(image: u32, by: u32) -> u32 {
    // Each iteration corrects `by` more of the high bits.
    (0..32 / by).fold(image, |x, _| image ^ x >> by)
}

/// Returns the inverse of an `odd` number modulo 2^32, by Newton's method. The three low bits of an odd number are also
/// the low bits of its inverse. Each iteration doubles the number of correct low bits.
#[inline(always)]
const fn inverse(odd: u32) -> u32 {
    let mut x = odd;
    let mut right = 3;
    while right < u32::BITS {
        x = x.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(x)));
        right *= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::KeySequence;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_comes_back(word: u32, seed: u64) {
            let key = KeySequence::new(seed).next_key();
            for family in [HashFamily::Murmur, HashFamily::HalfSip13] {
                prop_assert_eq!(family.unscramble(family.scramble(word, key), key), word);
                prop_assert_eq!(family.scramble(family.unscramble(word, key), key), word);
            }
        }
    }
}
