//! Keyed hashes of addresses, from which `H1`, `H2`, `H3`, `LH_i`, `T0`, `T1` and the tags are computed.
//!
//! [`hash`] is a variant of the 32-bit finaliser of Murmur3 with three key words and three 32-bit multiplications. The
//! first key word is added before the first multiplication. The second key word, made odd, is the factor of this
//! multiplication. The third key word is added before the second multiplication. For every key, [`hash`] is a bijection
//! of 32-bit words.
//!
//! [`HashFamily::HalfSip13`] is slower than [`hash`], but resists traffic that is crafted to cause collisions. It is
//! not a bijection, but most uses do not need one.
//!
//! Both families vectorise and return the same bits on a CPU and on a GPU. All keys are derived from one seed by
//! splitmix64, so detectors with equal seeds have equal keys.

mod bijection;
mod half_sip;
mod limbs;
#[cfg(test)]
pub(crate) mod limbs_tests;

use core::fmt;

use crate::pair::Address;
use half_sip::half_sip;

/// A family of keyed hashes.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum HashFamily {
    /// The finaliser of Murmur3 with three key words. It is fast, and uniform for any traffic that was not crafted for
    /// the seed. Anyone who knows the seed can craft addresses that collide.
    #[default]
    Murmur,
    /// HalfSipHash-1-3, for hostile traffic. Without the seed, no method is known to find addresses that collide more
    /// often than by chance. Use a secret seed of 64 random bits.
    #[cfg_attr(feature = "serde", serde(rename = "half-sip-1-3"))]
    HalfSip13,
}

impl HashFamily {
    /// Returns the uniform 32-bit hash of `address` under `key`.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn of(self, address: Address, key: Key) -> u32 {
        match self {
            Self::Murmur => hash(address, key),
            Self::HalfSip13 => half_sip::<1, 3>(address, [key.words[0], key.words[1]]),
        }
    }
}

/// Evaluates `$work` with the params `$all`, which must have a field `hash`. The macro compiles `$work` once for each
/// family.
///
/// A loop that selects the family in every iteration would not vectorise. A closure instead of a macro might not be
/// compiled for the vector instructions of the caller.
macro_rules! by_family {
    ($all:expr, |$params:ident| $work:expr) => {
        match $all.hash {
            $crate::HashFamily::Murmur => {
                let $params = &$all.hashing_by($crate::HashFamily::Murmur);
                $work
            }
            $crate::HashFamily::HalfSip13 => {
                let $params = &$all.hashing_by($crate::HashFamily::HalfSip13);
                $work
            }
        }
    };
}
pub(crate) use by_family;

/// Defines the method that [`by_family!`] calls on params, which must have a field `hash`.
macro_rules! hashing {
    ($params:ty) => {
        impl $params {
            /// Returns these params with the hash family `family`, which is then known at compile time.
            #[inline(always)]
            pub(crate) const fn hashing_by(&self, family: $crate::HashFamily) -> Self {
                Self { hash: family, ..*self }
            }
        }
    };
}
pub(crate) use hashing;

/// The key of a hash: three words, which `Debug` does not print.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Key {
    words: [u32; 3],
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Anyone who knows the keys can hide hosts, so keys must not appear in logs.
        f.write_str("Key(..)")
    }
}

/// A sequence of keys that splitmix64 derives from a seed.
#[derive(Clone)]
pub struct KeySequence {
    state: u64,
}

impl KeySequence {
    /// Creates the sequence of keys for `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next key.
    pub fn next_key(&mut self) -> Key {
        let (first, second) = (self.next_word(), self.next_word());
        Key { words: [first as u32, (first >> 32) as u32, second as u32] }
    }

    fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix64(self.state)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// Key of H1 and H2, which hash peers.
    pub(crate) peer: Key,
    /// Key of H3, which hashes peers.
    pub(crate) position: Key,
    /// Key of T0, which hashes the low address bits.
    pub(crate) low: Key,
    /// Key of T1, which hashes the high address bits.
    pub(crate) high: Key,
    /// Keys of `LH_i`, which hash hosts. The last key is also the key of the seed fingerprint.
    pub(crate) columns: [Key; 8],
    /// Key of the hash that selects lines.
    pub(crate) line: Key,
    /// Key of the hash that generates tags.
    pub(crate) tag: Key,
    /// Keys of the cells: for hosts, for peers, and for the selection of cells.
    pub(crate) cells: [Key; 3],
    /// Keys of the hash that computes the IDs of IPv6 hosts.
    pub(crate) limbs: [Key; 2],
}

impl Keys {
    pub(crate) fn of(seed: u64) -> Self {
        let mut keys = KeySequence::new(seed);
        // The order of the fields fixes the keys.
        Self {
            peer: keys.next_key(),
            position: keys.next_key(),
            low: keys.next_key(),
            high: keys.next_key(),
            columns: core::array::from_fn(|_| keys.next_key()),
            line: keys.next_key(),
            tag: keys.next_key(),
            cells: core::array::from_fn(|_| keys.next_key()),
            limbs: core::array::from_fn(|_| keys.next_key()),
        }
    }
}

/// Returns the uniform 32-bit hash of `address` under `key`, for [`HashFamily::Murmur`]. The hash is a bijection for
/// every key.
#[inline(always)]
#[must_use]
pub fn hash(address: Address, key: Key) -> u32 {
    let [before, between, after] = key.words;
    let mut h = address.wrapping_add(before);
    h ^= h >> 16;
    h = h.wrapping_mul(between | 1); // An even factor would lose bits.
    h ^= h >> 15;
    h = h.wrapping_add(after);
    h = h.wrapping_mul(0x846c_a68b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Maps a uniform `hash` to `0..count` by its high bits, without a division.
#[inline(always)]
#[must_use]
pub fn reduce(hash: u32, count: u32) -> u32 {
    ((u64::from(hash) * u64::from(count)) >> 32) as u32
}

/// Returns `LSB(hash)`: the index of the lowest 1 bit of `hash`. The result for 0, which the paper leaves undefined, is
/// 32.
#[inline]
#[must_use]
pub fn lsb(hash: u32) -> u32 {
    hash.trailing_zeros()
}

/// Returns the splitmix64 finaliser of `x`, a bijection of 64-bit words.
pub(crate) const fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    const PINNED_KEY: [u32; 3] = [0x7b1d_cdaf, 0xe220_a839, 0xa1b9_65f4];
    const PINNED_HASHES: [(u32, u32); 5] = [
        (0x0000_0000, 0x23f6_3d12),
        (0x0000_0001, 0x5e9b_815b),
        (0x0a00_0001, 0xb45e_d894),
        (0xc0a8_0101, 0x885e_7ab3),
        (0xffff_ffff, 0x33b5_eed1),
    ];

    // The expected values come from an independent Python implementation of the module's text.
    #[test]
    fn keys_and_hashes_equal_the_pinned_vectors() {
        let mut keys = KeySequence::new(0);
        let first = keys.next_key();
        assert_eq!(first.words, PINNED_KEY);
        for (address, expected) in PINNED_HASHES {
            assert_eq!(hash(address, first), expected, "{address:#x}");
        }
        assert_ne!(keys.next_key(), first);
    }

    #[test]
    fn reduce_equals_the_pinned_vectors_and_stays_below_the_count() {
        for (hash, count, expected) in [
            (0, 7, 0),
            (u32::MAX, 7, 6),
            (0x8000_0000, 10, 5),
            (u32::MAX, 1, 0),
            (1 << 31, 1 << 17, 1 << 16),
        ] {
            assert_eq!(reduce(hash, count), expected);
        }
    }

    #[test]
    fn lsb_is_the_paper_s_and_32_for_zero() {
        assert_eq!([lsb(3), lsb(40), lsb(1 << 31), lsb(0)], [0, 3, 31, 32]);
    }

    // The expected values come from an independent Python implementation, with the first two key words.
    #[test]
    fn half_sip_takes_the_first_two_words_of_a_key() {
        for (address, expected) in
            [(0, 0xae60_c3f7), (0x0a00_0001, 0x516a_1651), (0xffff_ffff, 0xbcd8_f650)]
        {
            assert_eq!(HashFamily::HalfSip13.of(address, Key { words: PINNED_KEY }), expected);
        }
    }

    // Pearson's statistic over 256 equal bins of 2^16 sequential addresses has the mean 255 and the standard deviation
    // sqrt(2 * 255) = 22.6. The tolerance is six deviations.
    #[test]
    fn sequential_addresses_fill_high_and_low_bits_evenly() {
        let key = KeySequence::new(1).next_key();
        let bits = [|h: u32| h >> 24, |h: u32| h & 255];
        for (family, bins_of) in
            [HashFamily::Murmur, HashFamily::HalfSip13].map(|f| bits.map(|b| (f, b))).as_flattened()
        {
            let mut bins = [0u32; 256];
            for address in 0..1 << 16 {
                bins[bins_of(family.of(0x0a00_0000 + address, key)) as usize] += 1;
            }
            let chi: f64 = bins.iter().map(|&n| (f64::from(n) - 256.0).powi(2) / 256.0).sum();
            assert_abs_diff_eq!(chi, 255.0, epsilon = 6.0 * 22.6);
        }
    }
}
