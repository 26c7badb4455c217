//! Tests that the IDs of IPv6 addresses are uniform and independent for common ways to assign addresses.

use super::*;
use crate::pair::Limbs;
extern crate std;
use approx::abs_diff_eq;
use std::vec;
use std::vec::Vec;

/// Functions that map the number of a host to its address, one for each common way to assign addresses.
pub(crate) const STRUCTURES: [fn(u64) -> Limbs; 6] = [
    |number| {
        let [high, low] = [mix64(number), mix64(!number)];
        [(high >> 32) as u32, high as u32, (low >> 32) as u32, low as u32]
    },
    // Hosts are numbered within one /64 network.
    |number| [0x2001_0db8, 0x0001_0002, (number >> 32) as u32, number as u32],
    // Devices of one vendor have EUI-64 addresses in one /64 network.
    |number| {
        let device = number as u32 & 0x00ff_ffff;
        [0x2001_0db8, (number >> 24) as u32, 0x0211_22ff, 0xfe00_0000 | device]
    },
    // Each /64 network contains only one host, with the first address.
    |number| [0x2001_0db8 + (number >> 32) as u32, number as u32, 0, 1],
    // The prefixes of 6to4 networks contain the addresses of IPv4 hosts.
    |number| {
        let v4 = 0x0a00_0000 + number as u32;
        [0x2002_0000 | v4 >> 16, v4 << 16, (number >> 32) as u32, 1]
    },
    |number| {
        let high = (number >> 16) as u32 & 0xffff;
        [0x2001_0000 | high, (number >> 32) as u32, 0, number as u32 & 0xffff]
    },
];

fn all() -> impl Iterator<Item = (usize, HashFamily)> {
    (0..STRUCTURES.len())
        .flat_map(|it| [HashFamily::Murmur, HashFamily::HalfSip13].map(|hash| (it, hash)))
}

fn ids(structure: usize, hash: HashFamily, count: u64) -> Vec<[u32; 2]> {
    let keys = Keys::of(3).limbs;
    (0..count).map(|number| hash.of_limbs(STRUCTURES[structure](number), &keys)).collect()
}

/// Returns the difference between Pearson's statistic over 256 equal bins and its mean 255, in standard deviations of
/// sqrt(2 * 255) = 22.6.
fn pearson(bins: impl Iterator<Item = u32>) -> f64 {
    let (mut counts, mut count) = (vec![0u32; 256], 0.0);
    for bin in bins {
        counts[bin as usize] += 1;
        count += 1.0;
    }
    let expected = count / 256.0;
    let sum: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    (sum - 255.0) / 22.6
}

// The tolerance is six deviations. By chance, one of the 96 statistics exceeds it in one of 10^5 runs.
#[test]
fn ids_of_structured_addresses_are_even_and_independent() {
    for (structure, hash) in all() {
        let ids = ids(structure, hash, 1 << 16);
        let ends = [|word: u32| word >> 28, |word: u32| word & 15];
        let check = |found: f64, of: &str, end: usize| {
            let is_even = abs_diff_eq!(found, 0.0, epsilon = 6.0);
            assert!(is_even, "{structure}, {hash:?}, {of}, end {end}: {found}");
        };
        for (end, of) in ends.into_iter().enumerate() {
            for half in 0..2 {
                let byte = |id: &[u32; 2]| if end == 0 { id[half] >> 24 } else { id[half] & 255 };
                check(pearson(ids.iter().map(byte)), ["low", "high"][half], end);
            }
            check(pearson(ids.iter().map(|&[lo, hi]| of(lo) << 4 | of(hi))), "halves", end);
            // Only every other pair of neighbours is used, so that each host is in one pair.
            let neighbours = ids.chunks_exact(2).map(|two| of(two[0][0]) << 4 | of(two[1][0]));
            check(pearson(neighbours), "neighbours", end);
        }
    }
}

// Any two of a million 64-bit IDs are equal with a probability of 10^12 / 2^65 = 3e-8. Of their 32-bit halves, 10^12 /
// 2^33 = 116 pairs are expected to be equal, with a standard deviation of 10.8. The tolerance is six deviations.
#[test]
fn no_two_of_a_million_structured_addresses_have_one_id() {
    for (structure, hash) in all() {
        let mut ids: Vec<u64> = ids(structure, hash, 1_000_000)
            .into_iter()
            .map(|[lo, hi]| u64::from(lo) << 32 | u64::from(hi))
            .collect();
        ids.sort_unstable();
        assert!(ids.is_sorted_by(|a, b| a < b), "{structure}, {hash:?}");
        let equal_low = ids.windows(2).filter(|two| two[0] >> 32 == two[1] >> 32).count() as f64;
        ids.iter_mut().for_each(|id| *id = id.rotate_left(32));
        ids.sort_unstable();
        let equal_high = ids.windows(2).filter(|two| two[0] >> 32 == two[1] >> 32).count() as f64;
        for equal in [equal_low, equal_high] {
            assert!(
                abs_diff_eq!(equal, 116.4, epsilon = 6.0 * 10.8),
                "{structure}, {hash:?}: {equal}"
            );
        }
    }
}

// The expected values come from an independent Python implementation of the text of `hash::limbs` (seed 5).
#[test]
fn ids_equal_the_pinned_vectors() {
    let keys = Keys::of(5).limbs;
    for (limbs, murmur, half_sip) in [
        ([0; 4], [0x2eed_2440, 0xeb4b_24f7], [0xc555_93c5, 0x4d5d_c64a]),
        ([0, 0, 0, 1], [0xceff_18a0, 0xa761_0e03], [0xbbf4_75be, 0x6401_feaa]),
        ([0x2001_0db8, 0, 0, 1], [0x0656_331d, 0xbce7_473c], [0x3437_d93b, 0x53a9_b0c9]),
        ([0x2001_0db8, 0, 0, 2], [0xc0a9_1bee, 0xc904_dedc], [0xd39f_c580, 0x293d_e275]),
        ([0x2001_0db8, 1, 0, 1], [0xb868_2fcd, 0x39fd_ce33], [0xa077_c636, 0xfbc5_b2ca]),
        (
            [0xfe80_0000, 0, 0x0211_22ff, 0xfe33_4455],
            [0xfeb2_89bc, 0x29ed_5d26],
            [0xd822_39c7, 0x3d3e_67cb],
        ),
        ([0x2002_0a00, 0x0001_0000, 0, 1], [0xbdc0_00cf, 0xbced_ddfa], [0xaee1_55eb, 0xff4f_ed9e]),
        ([u32::MAX; 4], [0xcd92_8aa9, 0x2702_9425], [0x1c75_52a4, 0x81ad_4250]),
    ] {
        assert_eq!(HashFamily::Murmur.of_limbs(limbs, &keys), murmur, "{limbs:x?}");
        assert_eq!(HashFamily::HalfSip13.of_limbs(limbs, &keys), half_sip, "{limbs:x?}");
    }
}
