//! Pinned vectors of cells for seed 0, from an independent Python implementation that follows the documentation of
//! [`cells`](super).

use super::chance::AgeHistogram;
use super::tests::whole;
use super::*;
use crate::{Config, HashFamily, Ipv4Pair, Scheme};

use approx::assert_abs_diff_eq;

fn params(hash: HashFamily) -> CellsParams {
    *Config { hash, ..Config::default() }.validate().unwrap().finder().cells().unwrap()
}

fn small() -> CellsParams {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 2304, tags: 64 };
    let config = Config { scheme, threshold: 64, ..Config::default() };
    *config.validate().unwrap().finder().cells().unwrap()
}

const PEER: u32 = 0x0808_0808;

/// Six vectors, each with a host, a slot, a cell, a name, and the word for a contact of the host with [`PEER`] at age
/// 0.
type Words = [(u32, u32, u32, u32, u64); 6];

const MURMUR: Words = [
    (0x0a00_0001, 0, 0x3a7e7, 0x00a_ffc0, 0x0015_049a_57f0_6560),
    (0x0a00_0001, 17, 0x2ec92, 0x00a_ffd1, 0x0014_cf4d_f94b_f917),
    (0xc0a8_0101, 63, 0x0017b, 0x000_c2bf, 0x001b_89aa_bc62_e141),
    (0xffff_ffff, 0, 0x10beb, 0x00f_9940, 0x0019_7a55_8ffd_b1cd),
    (0xffff_ffff, 63, 0x249b4, 0x00f_997f, 0x001b_d541_d67a_15f2),
    (0x0000_0000, 17, 0x17d58, 0x002_f5d1, 0x0010_db9d_2a9f_c148),
];

const HALF_SIP: Words = [
    (0x0a00_0001, 0, 0x278e0, 0x003_6c00, 0x0003_047d_e5b8_9f62),
    (0x0a00_0001, 17, 0x12530, 0x003_6c11, 0x001b_b1e2_4a93_6e87),
    (0xc0a8_0101, 63, 0x20623, 0x004_2fbf, 0x0014_2cf1_9873_7740),
    (0xffff_ffff, 0, 0x10b61, 0x005_ae40, 0x0008_0862_340d_fb92),
    (0xffff_ffff, 63, 0x37060, 0x005_ae7f, 0x0011_0027_b788_7e18),
    (0x0000_0000, 17, 0x2a5b9, 0x002_2d51, 0x0017_0bee_e06e_0e08),
];

const SMALL: Words = [
    (0x0a00_0001, 0, 0xc46, 0x28a_ffc0, 0x0152_4463_1927_786a),
    (0x0a00_0001, 17, 0xf01, 0x28a_ffd1, 0x016e_795e_15a2_62dd),
    (0xc0a8_0101, 63, 0x7b7, 0x230_c2bf, 0x03d1_5ec1_234b_dd54),
    (0xffff_ffff, 0, 0x81a, 0x15f_9940, 0x0202_a454_0179_6eb5),
    (0xffff_ffff, 63, 0xa3d, 0x15f_997f, 0x02be_1cb0_7a9b_a5bc),
    (0x0000_0000, 17, 0x777, 0x132_f5d1, 0x0440_5cda_22de_c6a2),
];

#[test]
fn cells_and_words_equal_the_pinned_vectors() {
    for (params, vectors, step) in [
        (params(HashFamily::Murmur), MURMUR, 0x0020u64 << 48),
        (params(HashFamily::HalfSip13), HALF_SIP, 0x0020 << 48),
        (small(), SMALL, 0x0800 << 48),
    ] {
        assert_eq!(params.age_step(), step);
        for (inside, slot, place, name, word) in vectors {
            let spot = params.spot(inside, slot);
            assert_eq!((spot.place, spot.name), (place, name), "{inside:#x} {slot}");
            let of = |age| params.touch_of(&Ipv4Pair { inside, peer: PEER }, slot << 12, age);
            assert_eq!(of(0), (place, word), "{inside:#x} {slot}");
            assert_eq!(of(5), (place, word + 5 * step), "{inside:#x} {slot}");
            assert_eq!(of(2048), (place, u64::MAX), "{inside:#x} {slot}");
        }
    }
}

#[test]
fn sampled_peers_and_their_slots_equal_the_pinned_vectors() {
    for (params, expected) in [
        (params(HashFamily::Murmur), [(0x10, 53), (0x20, 46), (0x47, 58), (0x69, 29), (0x87, 14)]),
        (
            params(HashFamily::HalfSip13),
            [(0x21, 50), (0x29, 13), (0x34, 35), (0x74, 5), (0x76, 43)],
        ),
        (small(), [(2, 51), (4, 60), (5, 50), (6, 24), (7, 56)]),
    ] {
        let hash =
            |low: u32| params.pair_hash(&Ipv4Pair { inside: 0x0a00_0001, peer: 0x0800_0000 | low });
        let mut sampled = (0..256).filter(|&low| params.is_sampled(hash(low)));
        for (low, slot) in expected {
            assert_eq!(sampled.next(), Some(low));
            assert_eq!(word::slot_of(hash(low)), slot);
        }
    }
}

#[test]
fn bijections_equal_the_pinned_vectors() {
    let key = params(HashFamily::Murmur).owner_key;
    for (family, vectors) in [
        (
            HashFamily::Murmur,
            [
                (0, 0xc2b4_cbd7, 0x60cd_067b),
                (1, 0x758d_c6b7, 0xd0e6_326f),
                (0x0a00_0001, 0x675a_2bff, 0x859e_f49f),
                (0xffff_ffff, 0xf365_7e65, 0x810a_d3eb),
            ],
        ),
        (
            HashFamily::HalfSip13,
            [
                (0, 0x30c4_88b5, 0x7597_c95a),
                (1, 0x02fc_0a15, 0x5b3b_4082),
                (0x0a00_0001, 0x67f3_cdb0, 0xab86_230d),
                (0xffff_ffff, 0x300d_d6b9, 0xd0f0_f11e),
            ],
        ),
    ] {
        for (word, image, preimage) in vectors {
            assert_eq!(family.scramble(word, key), image, "{word:#x}");
            assert_eq!(family.unscramble(word, key), preimage, "{word:#x}");
        }
    }
}

// The Python implementation computes with 60 digits. The implementation under test rounds about 300 sums and products
// to 2^-53 each.
#[test]
fn chances_equal_the_pinned_vectors() {
    let close = |found: f64, expected: f64| {
        assert_abs_diff_eq!(found / expected, 1.0, epsilon = 1e-10);
    };
    let (default, small) = (params(HashFamily::Murmur), small());
    for (params, counts, c_min, misses, burst, found_from) in [
        (
            default,
            &[400; 300][..],
            7,
            [3.601_938_122_941_138e-5, 1.417_182_509_129_328e-4],
            9.578_398_745_643_157e-3,
            652.0,
        ),
        (
            default,
            &[0; 300],
            12,
            [1.152_812_228_783_706e-4, 3.463_311_188_463_439e-4],
            1.152_812_228_783_706e-4,
            756.0,
        ),
        (
            small,
            &[60; 31],
            7,
            [3.451_766_925_726_955e-5, 1.361_934_129_208_095e-4],
            7.874_655_916_846_347e-3,
            40.5,
        ),
        (
            small,
            &[0; 31],
            12,
            [1.152_812_228_783_706e-4, 3.463_311_188_463_439e-4],
            1.152_812_228_783_706e-4,
            47.25,
        ),
    ] {
        let histogram = AgeHistogram::new(&params, counts, whole(&params, counts.len() as u32));
        let threshold = histogram.threshold();
        assert_eq!(histogram.c_min(), c_min);
        close(histogram.miss(threshold, c_min), misses[0]);
        close(histogram.miss(threshold, c_min + 1), misses[1]);
        close(histogram.burst_miss(threshold, c_min), burst);
        assert_eq!(histogram.found_from(c_min), found_from);
    }
}
