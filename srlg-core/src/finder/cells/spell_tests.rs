//! Tests of spelling at scale: among more than a million hosts, hardly any host is lost, and no host is invented.

use super::spell::SPELLING;
use super::tests::{config, params, touch_of};
use super::*;
use crate::hash::limbs_tests::STRUCTURES;
use crate::hash::mix64;
use crate::pair::Limbs;
use crate::{ArrayParams, Config, HashFamily};
extern crate std;
use std::collections::HashMap;
use std::println;
use std::time::{Duration, Instant};
use std::vec;
use std::vec::Vec;

/// An array of cells, with the IPv6 host that holds each cell.
struct Full {
    params: CellsParams,
    words: Vec<u64>,
    holders: Vec<Limbs>,
}

impl Full {
    fn new(params: CellsParams) -> Self {
        let cells = params.recorders();
        Self { params, words: vec![u64::MAX; cells], holders: vec![[0; 4]; cells] }
    }

    /// Touches the cells of `host` in `slots` and returns how many of them were free. If `is_last` is true, only free
    /// cells are touched.
    fn touch(&mut self, host: Limbs, slots: impl Iterator<Item = u32>, is_last: bool) -> usize {
        let mut touched = 0;
        for slot in slots {
            let (place, word) = touch_of(&self.params, host, slot, 0);
            let place = place as usize;
            let is_free = self.words[place] == u64::MAX;
            if is_free || !is_last && word < self.words[place] {
                (self.words[place], self.holders[place]) = (word, host);
                touched += usize::from(is_free);
            }
        }
        touched
    }

    fn held(&self) -> HashMap<Limbs, u32> {
        let mut held = HashMap::new();
        for (holder, _) in self.holders.iter().zip(&self.words).filter(|it| *it.1 != u64::MAX) {
            *held.entry(*holder).or_default() += 1;
        }
        held
    }

    /// Spells all hosts. Returns the number of cells of each host, and the time that spelling took.
    fn spelt(&self) -> (HashMap<Limbs, u32>, Duration) {
        let mut cells: Vec<(Owner, u32, u64)> = (0..)
            .zip(&self.words)
            .filter(|&(_, &word)| word != u64::MAX)
            .map(|(place, &word)| (self.params.owner(place, word), place, word))
            .collect();
        cells.sort_unstable();
        let (mut spelt, mut group, start) = (Vec::new(), Vec::new(), Instant::now());
        for run in cells.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() >= SPELLING) {
            group.clear();
            group.extend(run.iter().map(|&(_, place, word)| (place, word)));
            self.params.spell(&mut group, |host, cells| spelt.push((host, cells)));
        }
        let took = start.elapsed();
        let (hosts, all) = (spelt.iter().copied().collect::<HashMap<_, _>>(), spelt.len());
        assert_eq!(hosts.len(), all, "each once");
        (hosts, took)
    }
}

fn slots(chance: u64, count: u64) -> impl Iterator<Item = u32> {
    // An odd step visits all 64 slots.
    let (first, step) = (chance as u32, chance as u32 >> 8 | 1);
    (0..count as u32).map(move |it| first.wrapping_add(it.wrapping_mul(step)) % SLOTS)
}

/// Fills `rounds` arrays of 2^18 cells, in each of which `per_array` hosts touch 4 to 11 cells each, and spells the
/// hosts. Returns the number of hosts that hold at least four cells in the end, and how many of them are not spelt.
fn spell_all(rounds: u64, per_array: u64) -> [usize; 2] {
    let mut sums = [0; 2];
    for round in 0..rounds {
        let hash = if round % 4 == 3 { HashFamily::HalfSip13 } else { HashFamily::Murmur };
        let mut full = Full::new(params(Config { hash, seed: round, ..config(18, 1024) }));
        let structure = STRUCTURES[round as usize % STRUCTURES.len()];
        for number in round * per_array..(round + 1) * per_array {
            let chance = mix64(!number);
            full.touch(structure(number), slots(chance, 4 + (chance >> 60) % 8), false);
        }
        let (held, spelt) = (full.held(), full.spelt().0);
        for (host, cells) in &spelt {
            assert_eq!(held.get(host), Some(cells), "{host:x?}");
        }
        let spelling = held.values().filter(|&&cells| cells >= SPELLING as u32).count();
        sums[0] += spelling;
        sums[1] += spelling - spelt.len();
    }
    sums
}

// Among 60,000 hosts with 2^20 fingerprints, a host has the same fingerprint as three or more others with a probability
// of 0.057³/6 = 3e-5. In smaller groups, all sets of four are tried if the hosts have few cells, and many sets spell a
// host if they have more. The tolerance of a thousandth is thirty times the expected loss.
#[test]
fn at_most_one_of_a_million_hosts_is_lost_and_none_is_invented() {
    for [rounds, per_array, least] in [[24, 20_000, 400_000], [24, 60_000, 600_000]] {
        let [spelling, lost] = spell_all(rounds, per_array);
        assert!(spelling > least as usize, "{spelling}");
        assert!(lost * 1000 <= spelling, "{lost} of {spelling}");
    }
}

// Contacts cannot touch this many cells with one fingerprint, but forged bytes can contain them.
#[test]
fn a_group_of_all_cells_takes_no_long_time() {
    let params = params(config(18, 1024));
    let (first, word) = touch_of(&params, [0x2001_0db8, 0, 0, 1], 0, 0);
    let body = params.body(first, word);
    let mut cells: Vec<(u32, u64)> =
        (0..1 << 18).map(|place| (place, params.word(place, body ^ u64::from(place), 0))).collect();
    let owner = params.owner(first, word);
    assert!(cells.iter().all(|&(place, word)| params.owner(place, word) == owner));
    let start = Instant::now();
    params.spell(&mut cells, |host, _| panic!("{host:x?}"));
    // The search tries 16,384 sets of four, each in about a microsecond on a busy machine. Trying all of the more than
    // 10^20 sets would not end.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Returns a nearly full array of 2^`cell_bits` cells, in which each host holds up to `each` cells.
fn full_of(cell_bits: u32, each: usize) -> Full {
    let mut full = Full::new(params(config(cell_bits, 1024)));
    let (mut used, cells) = (0, full.words.len());
    for number in 0.. {
        let (host, mut own) = (STRUCTURES[0](number), 0);
        for slot in slots(mix64(!number), SLOTS.into()) {
            own += full.touch(host, core::iter::once(slot), true);
            if own == each {
                break;
            }
        }
        used += own;
        if used * 100 > cells * 98 {
            break;
        }
    }
    full
}

/// Prints the time to spell all hosts of a nearly full array in which each host holds few cells. Run it with `cargo
/// test --release -p srlg-core times_of_spelling -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn times_of_spelling() {
    for (cell_bits, each) in
        [12, 18, 20, 22].map(|it| [1, 2, 3, 4, 8].map(|each| (it, each))).as_flattened()
    {
        let full = full_of(*cell_bits, *each);
        let (took, spelt) =
            (0..5).map(|_| full.spelt()).map(|(it, took)| (took, it.len())).min().unwrap();
        println!("2^{cell_bits} cells, {each} each: {spelt} hosts, {took:?}");
    }
}

// Contacts cannot produce such cells, but bytes from another node may contain them.
#[test]
fn cells_that_spell_a_mapped_address_are_no_host() {
    let params = params(config(18, 1024));
    let spelt = |host: Limbs| {
        let mut cells: Vec<_> = (0..64).map(|slot| touch_of(&params, host, slot, 0)).collect();
        let mut hosts = Vec::new();
        params.spell(&mut cells, |host, _| hosts.push(host));
        hosts
    };
    assert_eq!(spelt([0, 0, 0xfffe, 0x0a00_0001]), [[0, 0, 0xfffe, 0x0a00_0001]]);
    assert!(spelt([0, 0, 0xffff, 0x0a00_0001]).is_empty());
}
