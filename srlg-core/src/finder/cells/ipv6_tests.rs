//! Tests that cells fulfil their guarantees for IPv6 hosts. The pinned vectors come from an independent Python
//! implementation that follows the documentation of [`cells`](super).

use super::spell::SPELLING;
use super::tests::{config, params, touch_of};
use super::*;
use crate::pair::Limbs;
use crate::{Config, HashFamily, IpPair, Scheme};
extern crate std;
use proptest::prelude::*;
use std::collections::HashSet;
use std::vec;
use std::vec::Vec;

fn hosts() -> impl Strategy<Value = Vec<Limbs>> {
    let limb = prop_oneof![Just(0u32), Just(0x2001_0db8), any::<u32>()];
    let host = [limb.clone(), limb.clone(), limb.clone(), limb];
    prop::collection::vec(host, 1..4)
}

proptest! {
    // Any four or more cells of a host must spell it, in any order, even among cells of another host or with a damaged
    // symbol.
    #[test]
    fn any_four_cells_spell_the_host(
        host in hosts(),
        slots in prop::collection::hash_set(0u32..64, SPELLING..20),
        stray in any::<u64>(),
        hash in prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)],
    ) {
        let params = params(Config { hash, ..config(18, 1024) });
        let host = host[0];
        let mut cells: Vec<(u32, u64)> =
            slots.iter().map(|&slot| touch_of(&params, host, slot, 3)).collect();
        let owners: HashSet<Owner> =
            cells.iter().map(|&(place, word)| params.owner(place, word)).collect();
        prop_assert_eq!(owners.len(), 1);
        prop_assert!(owners.iter().all(|owner| owner.is_fingerprint() && params.host(*owner).is_none()));
        for strays in 0..=3 {
            let mut spelt = Vec::new();
            params.spell(&mut cells, |host, count| spelt.push((host, count)));
            prop_assert_eq!(spelt, vec![(host, slots.len() as u32)], "{} strays", strays);
            let (place, word) = cells[strays];
            cells.push((place ^ 64 << strays, word & !0xffff_ffff | stray >> (8 * strays + 7) & 0xffff_ffff));
        }
    }
}

#[test]
fn two_hosts_of_one_fingerprint_are_both_spelt() {
    let params = params(config(18, 1024));
    let first: Limbs = [0x2001_0db8, 1, 2, 3];
    // The test combines cells of two hosts as if their fingerprints were equal. Spelling compares places and symbols.
    let second: Limbs = [0x2001_0db8, 9, 9, 9];
    let mut cells: Vec<(u32, u64)> = (0..10)
        .map(|slot| touch_of(&params, if slot < 5 { first } else { second }, slot, 0))
        .collect();
    let mut spelt = Vec::new();
    params.spell(&mut cells, |host, count| spelt.push((host, count)));
    spelt.sort_unstable();
    assert_eq!(spelt, vec![(first, 5), (second, 5)]);
}

#[test]
fn ipv6_cells_and_words_equal_the_pinned_vectors() {
    let documentation = [0x2001_0db8, 0, 0, 1];
    let link_local = [0xfe80_0000, 0, 0x1234_5678, 0x9abc_def0];
    for (hash, host, id, cells) in [
        (
            HashFamily::Murmur,
            documentation,
            [0xe7ee_d1bc, 0x82ba_2252],
            [
                (0, (0x27f00, 0x0076_4932_ee8c_6de5)),
                (5, (0x23145, 0x006e_35c4_3560_053e)),
                (63, (0x06c3f, 0x006a_0f8b_2262_d344)),
            ],
        ),
        (
            HashFamily::Murmur,
            link_local,
            [0x258a_1293, 0x016c_4935],
            [
                (0, (0x0da00, 0x006e_8753_75d5_1603)),
                (5, (0x2ed45, 0x0067_b55d_5964_28a4)),
                (63, (0x16d3f, 0x0061_31c0_0908_21e8)),
            ],
        ),
        (
            HashFamily::HalfSip13,
            documentation,
            [0xa9be_a0fb, 0xc1f1_8638],
            [
                (0, (0x15fc0, 0x0073_9f86_6c03_e4b3)),
                (5, (0x02005, 0x006d_f804_6848_65f1)),
                (63, (0x076ff, 0x0060_5a22_6576_f800)),
            ],
        ),
        (
            HashFamily::HalfSip13,
            [u32::MAX; 4],
            [0xfece_e5b0, 0x5c59_8b7a],
            [
                (0, (0x2f400, 0x0078_42e7_b42e_b710)),
                (5, (0x3d245, 0x0070_3131_d614_73ef)),
                (63, (0x13bbf, 0x006b_fb5e_68cb_f32a)),
            ],
        ),
    ] {
        let params = params(Config { hash, ..Config::default() });
        assert_eq!(hash.of_limbs(host, &params.id_keys.0), id, "{host:x?}");
        for (slot, cell) in cells {
            assert_eq!(touch_of(&params, host, slot, 3), cell, "{host:x?} {slot}");
        }
    }
}

// The pinned vectors use seed 5. They contain pairs of one family and of both families, and an IPv4 host as an
// IPv4-mapped address.
#[test]
fn touched_cells_of_both_families_equal_the_pinned_vectors() {
    let (v6, v4) = ([0x2001_0db8, 0, 0, 1], [0, 0, 0xffff, 0xc000_0201]);
    let [of_v6, of_v4] = [|low| [0x2001_0db8, 0, 0, low], |low| [0, 0, 0xffff, low]];
    for (hash, cell_bits, cells) in [
        (
            HashFamily::Murmur,
            12,
            &[
                (v6, of_v6(0), 0x273, 0x1f94_c4d9_4214_29e4),
                (v6, of_v4(0xc000_0200), 0x16c, 0x1a3c_b46a_f3e8_274a),
                (v4, of_v6(1), 0xaf, 0x1e57_1faa_6646_5026),
                (v4, of_v4(0x0a00_0000), 0xee1, 0x1dcb_0e0e_2c08_64d8),
                // The host could touch the cell with the id of this peer as an address, and also with the next address.
                // The word therefore contains the address after both.
                (v4, of_v6(0x626), 0x147, 0x1dde_9d67_a287_1138),
            ][..],
        ),
        (
            HashFamily::HalfSip13,
            22,
            &[
                (v6, of_v6(0), 0x1c_7c01, 0x007b_06b9_0815_92d4),
                (v6, of_v4(0xc000_0201), 0x1e_c577, 0x0075_be59_3451_0032),
                (v4, of_v6(0), 0x9e39, 0x0062_c392_8ab0_81ff),
                (v4, of_v4(0x0a00_0000), 0x11_e680, 0x0074_a183_28ad_125c),
            ],
        ),
    ] {
        let scheme = Scheme::Tagged { cell_bits, lines: 2304, tags: 64 };
        let params = params(Config { scheme, hash, seed: 5, threshold: 64, ..Config::default() });
        for &(inside, peer, place, word) in cells {
            let pair = params.ids(IpPair { inside, peer });
            let pair_hash = params.pair_hash(&pair);
            assert!(params.is_sampled(pair_hash), "{inside:x?} {peer:x?}");
            assert_eq!(
                params.touch_of(&pair, pair_hash, 3),
                (place, word),
                "{inside:x?} {peer:x?}"
            );
        }
    }
}
