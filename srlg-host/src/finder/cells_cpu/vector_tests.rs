//! Tests that the same cells are counted and listed at all vector levels.

use proptest::prelude::*;
use srlg_core::finder::cells::CellArray;
use srlg_core::{Config, HashFamily, IpPair, Ipv4Pair, ReadRecorder, Recorder, Recorder64, Scheme};

use super::*;
use crate::vectors::on_all_levels;

/// Returns the words of all cells after `contacts`. A contact consists of a number and an age. Every second of the
/// `hosts` hosts has an IPv6 address.
fn cells(params: &CellsParams, hosts: u32, contacts: &[(u32, u32)]) -> Vec<u64> {
    let cells: Vec<Recorder64> =
        (0..params.recorders()).map(|_| Recorder64::new(Recorder64::UNTOUCHED)).collect();
    for &(contact, age) in contacts {
        let inside = (contact % hosts).wrapping_mul(0x9e37_79b1);
        let cells = CellArray::new(params, &cells);
        match inside % 2 {
            0 => cells.touch(&Ipv4Pair { inside, peer: contact }, age),
            _ => cells.touch(&params.ids(IpPair { inside: [inside; 4], peer: [contact; 4] }), age),
        }
    }
    cells.iter().map(ReadRecorder::word).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn cells_are_counted_and_listed_alike_on_all_levels(
        seed: u64,
        keyed: bool,
        cell_bits in 12u32..16,
        // These numbers include a single host, whose counter saturates.
        hosts in prop_oneof![Just(1u32), 2u32..40, Just(u32::MAX)],
        contacts in prop::collection::vec((any::<u32>(), 0u32..9), 0..4000),
        ages in 1usize..9,
        least in 1u8..66,
    ) {
        let hash = if keyed { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let scheme = Scheme::Tagged { cell_bits, lines: 2000, tags: 64 };
        let config = Config { scheme, threshold: 32, linear_width: 512, hash, seed, ..Config::default() };
        let params = *config.validate().unwrap().finder().cells().unwrap();
        let cells = cells(&params, hosts, &contacts);

        let (by_age, counters) = on_all_levels!(count as level => {
            let (mut by_age, mut counters) = (vec![0; 2 * (ages + 1)], vec![0; cells.len()]);
            level(&params, 0, &cells, &mut by_age, &mut counters);
            (by_age, counters)
        });
        let mut expected_ages = vec![0; 2 * (ages + 1)];
        for (place, &word) in (0..).zip(&cells) {
            let (age, is_v6) = (params.age(word) as usize, params.owner(place, word).is_fingerprint());
            expected_ages[age.min(ages) + usize::from(is_v6) * (ages + 1)] += 1;
        }
        prop_assert_eq!(by_age, expected_ages);

        let limit = ages as u64 * params.age_step();
        let owners = on_all_levels!(list as level => {
            let mut listed = Vec::new();
            level(&params, 0, &cells, limit, least, &counters, &mut listed);
            listed
        });
        let one_by_one = (0..).zip(&cells).filter_map(|(place, &word)| {
            let owner = params.owner(place, word);
            let is_listed = word < limit && counters[owner.entry(cell_bits)] >= least;
            is_listed.then_some((owner, place, word))
        });
        prop_assert!(one_by_one.clone().map(|held| held.0).eq(owners));
        let held = on_all_levels!(list_held as level => {
            let mut listed = Vec::new();
            level(&params, 0, &cells, limit, least, &counters, &mut listed);
            listed
        });
        prop_assert!(one_by_one.filter(|held| held.0.is_fingerprint()).eq(held));
    }
}
