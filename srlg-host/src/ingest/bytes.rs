//! Pairs as bytes, for memory that devices read.
//!
//! The conversions are here and not traits of the pairs, because the traits of another crate would be part of the API.

#![allow(unsafe_code, reason = "pairs and bytes are two views of the same memory")]

use super::pairs::{Family, Pair, PairSlice};

/// Returns the bytes of `pairs`.
pub(crate) fn as_bytes<P: Pair>(pairs: &[P]) -> &[u8] {
    // SAFETY: `Pair` is sealed. Both of its types are `repr(C)` and consist of words without padding, so all of their
    // bytes are initialised.
    let (before, bytes, after) = unsafe { pairs.align_to() };
    assert!(before.is_empty() && after.is_empty(), "bytes need no alignment");
    bytes
}

/// Returns the pairs that `bytes` consists of.
///
/// # Panics
/// Panics if `bytes` does not consist of whole pairs or is not aligned to 4 bytes.
pub(crate) fn as_pairs<P: Pair>(bytes: &[u8]) -> &[P] {
    // SAFETY: `Pair` is sealed. Both of its types consist of words, and all bits of a word are valid.
    let (before, pairs, after) = unsafe { bytes.align_to() };
    assert!(before.is_empty() && after.is_empty(), "aligned whole pairs");
    pairs
}

/// Returns the pairs that `bytes` consists of, which can be changed.
///
/// # Panics
/// Panics if `bytes` does not consist of whole pairs or is not aligned to 4 bytes.
pub(crate) fn as_mut_pairs<P: Pair>(bytes: &mut [u8]) -> &mut [P] {
    // SAFETY: `Pair` is sealed. Both of its types are `repr(C)` and consist of words without padding, so all bits of a
    // word are valid, and all bytes stay initialised.
    let (before, pairs, after) = unsafe { bytes.align_to_mut() };
    assert!(before.is_empty() && after.is_empty(), "aligned whole pairs");
    pairs
}

impl<'a> PairSlice<'a> {
    /// Interprets `bytes` as pairs of `family`.
    ///
    /// # Panics
    /// Panics if `bytes` does not consist of whole pairs or is not aligned to 4 bytes.
    pub(crate) fn of_bytes(bytes: &'a [u8], family: Family) -> Self {
        match family {
            Family::V4 => Self::V4(as_pairs(bytes)),
            Family::V6 => Self::V6(as_pairs(bytes)),
        }
    }

    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::V4(pairs) => as_bytes(pairs),
            Self::V6(pairs) => as_bytes(pairs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IpPair, Ipv4Pair};

    #[test]
    fn pairs_are_their_words_in_memory() {
        let pairs = [Ipv4Pair { inside: 1, peer: 2 }, Ipv4Pair { inside: 3, peer: 4 }];
        let words: Vec<u8> = [1u32, 2, 3, 4].into_iter().flat_map(u32::to_ne_bytes).collect();
        assert_eq!(as_bytes(&pairs), words);
        let mut pairs = [IpPair { inside: [1, 2, 3, 4], peer: [5, 6, 7, 8] }; 3];
        let bytes = as_bytes(&pairs).to_vec();
        assert_eq!(bytes.len(), 3 * 32);
        assert_eq!(as_pairs::<IpPair>(as_bytes(&pairs)), pairs);
        let mut words = [0u64; 12];
        let memory = zerocopy::IntoBytes::as_mut_bytes(&mut words[..]);
        as_mut_pairs(memory).copy_from_slice(&pairs);
        assert_eq!(memory, bytes);
        pairs[1].peer[3] = 9;
        as_mut_pairs::<IpPair>(memory)[1].peer[3] = 9;
        assert_eq!(as_pairs::<IpPair>(memory), pairs);
        assert_eq!((as_bytes::<IpPair>(&[]), as_pairs::<IpPair>(&[])), (&[][..], &[][..]));
    }

    #[test]
    #[should_panic(expected = "aligned whole pairs")]
    fn parts_of_pairs_are_refused() {
        let _ = as_pairs::<Ipv4Pair>(as_bytes(&[Ipv4Pair::default()]).split_last().unwrap().1);
    }
}
