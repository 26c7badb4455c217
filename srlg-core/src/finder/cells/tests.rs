//! Tests that cells fulfil their guarantees, and tests for mistakes that their design avoids.

use super::chance::{ACCEPTED_MISS, AgeHistogram};
use super::*;
use crate::epoch::Span;
use crate::pair::{BATCH, Limbs};
use crate::recorder::{ReadRecorder, Recorder};
use crate::{ArrayParams, Config, HashFamily, Ipv4Pair, Scheme};
extern crate std;
use approx::assert_abs_diff_eq;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::vec;
use std::vec::Vec;

pub(super) fn config(cell_bits: u32, threshold: u32) -> Config {
    let scheme = Scheme::Tagged { cell_bits, lines: 2304, tags: 64 };
    Config { scheme, threshold, ..Config::default() }
}

pub(super) fn params(config: Config) -> CellsParams {
    *config.validate().unwrap().finder().cells().unwrap()
}

pub(super) fn untouched(params: &CellsParams) -> Vec<Recorder64> {
    (0..params.recorders()).map(|_| Recorder64::new(u64::MAX)).collect()
}

pub(super) fn words(cells: &[Recorder64]) -> Vec<u64> {
    cells.iter().map(ReadRecorder::word).collect()
}

fn age_all(cells: &mut [Recorder64], params: &CellsParams, ages: u32) {
    let step = u64::from(ages).saturating_mul(params.age_step());
    cells.iter_mut().for_each(|cell| _ = cell.age_by(step));
}

pub(super) fn touch_of(params: &CellsParams, host: Limbs, slot: u32, age: u32) -> (u32, u64) {
    params.touch_of_id(host, params.id_keys.id(params.hash, host), slot, age)
}

fn cells_by_host(params: &CellsParams, cells: &[Recorder64]) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    for (place, word) in (0..).zip(words(cells)).filter(|&(_, word)| word != u64::MAX) {
        let host = params.host(params.owner(place, word)).expect("an IPv4 host");
        *counts.entry(host).or_default() += 1;
    }
    counts
}

pub(super) fn whole(params: &CellsParams, ages: u32) -> Span {
    Span::whole(ages, params.epoch_slices())
}

proptest! {
    // A host without contacts must not be found, and a cell must belong to the host to which its word decodes.
    #[test]
    fn a_word_decodes_to_the_pair_that_it_was_made_of(
        cell_bits in 12u32..=24,
        inside: u32,
        peer: u32,
        age in 0u32..30,
        threshold in prop_oneof![Just(8u32), Just(1024)],
        hash in prop_oneof![Just(HashFamily::Murmur), Just(HashFamily::HalfSip13)],
        seed: u64,
    ) {
        let params = params(Config { hash, seed, ..config(cell_bits, threshold) });
        let pair_hash = params.pair_hash(&Ipv4Pair { inside, peer });
        let (place, word) = params.touch_of(&Ipv4Pair { inside, peer }, pair_hash, age);
        prop_assert!((place as usize) < params.recorders());
        let owner = params.owner(place, word);
        prop_assert_eq!((params.age(word), params.host(owner)), (age, Some(inside)));
        prop_assert!(!owner.is_fingerprint());
        let spot = params.spot(inside, word::slot_of(pair_hash));
        // A cell shows a pair only if the pair is sampled.
        let shown = params.is_sampled(pair_hash).then_some(Peer { host: peer, age });
        prop_assert_eq!(params.peer(inside, spot, word), shown);
        let other = params.spot(inside ^ 1, word::slot_of(pair_hash));
        prop_assert!(other.place != place || params.peer(inside ^ 1, other, word).is_none());
    }

    // In this test, nodes age at different times, contacts arrive late, and ages exceed the maximum. The merged cells
    // must be bit-identical to the cells of one node with all contacts.
    #[test]
    fn merged_nodes_are_one_node(
        cell_bits in 12u32..=18,
        contacts in prop::collection::vec((0u32..4, 0u32..200, 0usize..3, 0u32..70, 0u32..40), 1..300),
        jump in prop_oneof![0u32..70, 2000u32..2100],
    ) {
        // Words distinguish 31 ages with 2^12 cells, and 2047 ages with 2^18 cells.
        let params = params(config(cell_bits, 8));
        let mut nodes: [Vec<Recorder64>; 4] = std::array::from_fn(|_| untouched(&params));
        let mut clocks = [0u32; 4];
        let mut contacts = contacts;
        contacts.sort_by_key(|contact| contact.3);
        for (inside, peer, node, epoch, late) in contacts {
            let epoch = if epoch > 60 { epoch + jump } else { epoch };
            for number in [node, 3] {
                age_all(&mut nodes[number], &params, epoch - clocks[number]);
                clocks[number] = epoch;
                CellArray::new(&params, &nodes[number]).touch(&Ipv4Pair { inside, peer }, late);
            }
        }
        let end = 70 + jump;
        for (cells, clock) in nodes.iter_mut().zip(clocks) {
            age_all(cells, &params, end - clock);
        }
        let [first, second, third, one] = nodes.map(|cells| words(&cells));
        let merged = first.iter().zip(&second).zip(&third).map(|((a, b), c)| *a.min(b).min(c));
        prop_assert_eq!(merged.collect::<Vec<_>>(), one);
    }
}

#[test]
fn batches_touch_what_single_pairs_touch() {
    let params = params(config(12, 64));
    let pairs: [Ipv4Pair; BATCH] =
        std::array::from_fn(|i| Ipv4Pair { inside: i as u32 % 5, peer: i as u32 * 77 });
    let (batch, single) = (untouched(&params), untouched(&params));
    let cells = CellArray::new(&params, &batch);
    cells.find_touches(&pairs, 3, |touch| cells.apply(&[touch]));
    pairs.iter().for_each(|pair| CellArray::new(&params, &single).touch(pair, 3));
    assert_eq!(words(&batch), words(&single));
    assert!(words(&batch).iter().any(|&word| word != u64::MAX));
}

// Sampling uses the highest bits of a pair's hash, and the slot uses lower bits. If they shared bits, sampled pairs
// would have few slots. The cell depends on a different hash.
#[test]
fn sampled_pairs_are_one_in_2_to_the_tau_and_their_slots_and_cells_even() {
    let params = params(config(18, 1024));
    for hash in [HashFamily::Murmur, HashFamily::HalfSip13] {
        let params = params.hashing_by(hash);
        let (mut slots, mut cells) = ([0u32; 64], [0u32; 64]);
        for peer in 0..1 << 18 {
            let pair = Ipv4Pair { inside: 0x0a00_0001 + peer % 64, peer };
            let hash = params.pair_hash(&pair);
            if params.is_sampled(hash) {
                slots[word::slot_of(hash) as usize] += 1;
                cells[params.touch_of(&pair, hash, 0).0 as usize >> 12] += 1;
            }
        }
        // Binomial(2^18, 2^-5 / 64) has the mean 128 and the standard deviation 11.3. The tolerance is six deviations.
        // The 64 hosts have 64 cells each, 4096 in all. A 64th of the array contains 64 of these cells with a standard
        // deviation of 8, so the tolerance is 128 · (1 ± 6/8).
        assert!(slots.iter().all(|&n| n.abs_diff(128) < 6 * 12), "{hash:?} {slots:?}");
        assert!(cells.iter().all(|&n| n.abs_diff(128) < 6 * 20), "{hash:?} {cells:?}");
    }
}

#[test]
fn a_host_has_64_cells_but_for_slots_that_meet() {
    let params = params(config(18, 1024));
    let pairs = (0..200_000).map(|peer| Ipv4Pair { inside: 7, peer });
    let cells = untouched(&params);
    pairs.for_each(|pair| CellArray::new(&params, &cells).touch(&pair, 0));
    let places: HashSet<u32> = params.spots(7).iter().map(|spot| spot.place).collect();
    assert_eq!(cells_by_host(&params, &cells), BTreeMap::from([(7, places.len() as u32)]));
    assert!(places.len() >= 62, "{}", places.len());
}

// Without the veil, the host with the smaller name would win all ties. With 2^12 cells and 4000 hosts, hosts share
// cells. If two hosts touch a cell in one epoch, each should win half of the ties.
#[test]
fn ties_go_to_either_host() {
    let params = params(config(12, 8));
    let mut wins = BTreeMap::<u32, [u32; 2]>::new();
    let hosts = 0..4000;
    let cells = untouched(&params);
    let touches: Vec<(u32, u32, u64)> = hosts
        .flat_map(|inside| (0..64).map(move |slot| (inside, slot)))
        .map(|(inside, slot)| {
            let spot = params.spot(inside, slot);
            let body = u64::from(spot.name) << 32 | 5;
            (inside, spot.place, params.word(spot.place, body, 0))
        })
        .collect();
    touches.iter().for_each(|&(_, place, word)| cells[place as usize].fetch_min(word));
    for (inside, place, word) in touches {
        wins.entry(inside).or_default()[usize::from(cells[place as usize].word() == word)] += 1;
    }
    // About 62.5 touches compete for a cell, so each host wins 64/62.5 ties on average. The number of wins is a Poisson
    // number. With a fixed order, a few hosts would win all of their ties.
    let most = wins.values().map(|&[_, won]| won).max().unwrap();
    assert!(most <= 10, "{most}");
    assert_eq!(wins.values().map(|&[_, won]| won).sum::<u32>(), 4096);
}

// The whole word saturates, not only the age. A word that is older than all ages must equal the word of an untouched
// cell, whether it aged or arrived late.
#[test]
fn what_is_older_than_all_ages_is_untouched() {
    for cell_bits in [12, 15, 18, 24] {
        let params = params(config(cell_bits, 8));
        let most = params.most_ages();
        let touched = |age| params.touch_of(&Ipv4Pair { inside: 1, peer: 2 }, 0, age).1;
        assert_eq!(touched(most + 1), u64::MAX);
        assert_eq!(touched(u32::MAX), u64::MAX);
        for age in [0, 1, most / 2, most] {
            let aged = touched(age).saturating_add(params.age_step());
            assert_eq!(aged, touched(age + 1), "{cell_bits} {age}");
        }
        assert!(params.age(u64::MAX) == most, "untouched cells are in no window");
    }
}

#[test]
fn c_min_is_the_largest_that_misses_no_more_than_is_accepted_and_falls_with_the_load() {
    let params = params(Config::default());
    let mut last = 64;
    for of_each_age in [0, 10, 100, 300, 500, 700, 873] {
        let counts = vec![of_each_age; 300];
        let histogram = AgeHistogram::new(&params, &counts, whole(&params, 300));
        let c_min = histogram.c_min();
        let miss = |c_min| histogram.miss(1024.0, c_min);
        assert!(miss(c_min) <= ACCEPTED_MISS || c_min == 2, "{of_each_age}");
        assert!(miss(c_min + 1) > ACCEPTED_MISS, "{of_each_age}");
        assert!(c_min <= last);
        assert!(histogram.found_from(c_min) <= 1024.0 || miss(c_min) > 0.01, "{of_each_age}");
        let in_use = f64::from(of_each_age) * 300.0 / 262_144.0;
        assert_abs_diff_eq!(histogram.share_in_use(), in_use, epsilon = 1e-9);
        last = c_min;
    }
    assert!((10..=13).contains(&AgeHistogram::new(&params, &[0], whole(&params, 1)).c_min()));
}
