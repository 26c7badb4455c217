//! From cells to those of candidates.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::finder::cells::Owner;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{ArrayParams, BATCH, Params, ReadRecorder, Recorder64, host};
use srlg_kernels::{
    CountCells, Gather, KernelRecorder, ListCells, Slices, TouchCells, TouchCells6, filled,
};

use super::{CellArray, Contacts, HOSTS, HOSTS6, launch, of_age, untouched, words};

fn zeros(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn loaded(counts: &[AtomicU32]) -> Vec<u32> {
    counts.iter().map(|count| count.load(Relaxed)).collect()
}

/// The cells as srlg-core touches them, pair by pair, which both kernels together and whole batches have to equal.
pub(crate) fn touched_cells(params: &Params, contacts: &Contacts, seed: u64) -> Vec<Recorder64> {
    let params = *CellsFinder::params(params.finder());
    let [one_by_one, in_batches, by_kernel] =
        [(); 3].map(|()| untouched::<Recorder64>(params.recorders()));
    let [one, batches] = [&one_by_one, &in_batches].map(|cells| CellArray::new(&params, cells));
    for &(pair, age) in &contacts.short {
        one.touch(&pair, age);
        batches.touch_all(&[pair; BATCH], age);
    }
    for &(pair, age) in &contacts.long {
        one.touch(&params.ids(pair), age);
        batches.touch_all(&[params.ids(pair); BATCH], age);
    }
    for age in 0..7 {
        let (pairs, recorders) = (&of_age(&contacts.short, age)[..], &by_kernel[..]);
        launch(seed, &TouchCells::<Slices<'_>> { params, age, pairs, recorders });
        let pairs = &of_age(&contacts.long, age)[..];
        launch(seed, &TouchCells6::<Slices<'_>> { params, age, pairs, recorders });
    }
    assert_eq!(words(&by_kernel), words(&one_by_one));
    assert_eq!(words(&in_batches), words(&one_by_one));
    one_by_one
}

/// What the kernels count and list of cells, against the owners that srlg-core names one by one.
pub(crate) fn assert_cells_equal(all: &Params, cells: &[Recorder64], seed: u64) {
    let (params, ages) = (*CellsFinder::params(all.finder()), all.span(9, 5).finder_ages);
    let in_window = owned_in_window(&params, cells, ages);
    let (by_age, by_owner) = (zeros(2 * ages as usize), zeros(cells.len()));
    let count = CountCells::<Slices<'_>> { params, cells, ages: &by_age, owners: &by_owner };
    launch(seed, &count);
    let mut expected_ages = vec![0; 2 * ages as usize];
    let mut expected_owners = vec![0; cells.len()];
    for &(place, owner) in &in_window {
        let age = params.age(cells[place as usize].word());
        expected_ages[(age + u32::from(owner.is_fingerprint()) * ages) as usize] += 1;
        expected_owners[owner.counter(params.cell_bits())] += 1;
    }
    assert_eq!(loaded(&by_age), expected_ages);
    assert_eq!(loaded(&by_owner), expected_owners);

    let owners = loaded(&by_owner);
    for least in [1, 2, 9, 64] {
        let listed = listed(&params, (ages, least), (cells, &owners), seed);
        let has_enough = |owner: Owner| owners[owner.counter(params.cell_bits())] >= least;
        let expected = in_window.iter().filter(|&&(_, owner)| has_enough(owner));
        let expected: Vec<u32> = expected.map(|&(place, _)| place).collect();
        assert_eq!(listed, expected, "at least {least}");
    }
    assert_none_is_left_out(&params, cells, &in_window, &owners);
}

/// The cells of a window and who holds each.
fn owned_in_window(params: &CellsParams, cells: &[Recorder64], ages: u32) -> Vec<(u32, Owner)> {
    let cells = (0..).zip(cells).map(|(place, cell)| (place, cell.word()));
    let in_window = cells.filter(|&(_, word)| params.age(word) < ages);
    in_window.map(|(place, word)| (place, params.owner(place, word))).collect()
}

/// The numbers of the cells that the kernel lists, ascending; their words are those of the cells.
fn listed(
    params: &CellsParams,
    (ages, least): (u32, u32),
    (cells, owners): (&[Recorder64], &[u32]),
    seed: u64,
) -> Vec<u32> {
    let (places, count) = (zeros(cells.len()), zeros(1));
    let list = untouched::<Recorder64>(cells.len());
    let kernel = ListCells::<Slices<'_>> {
        params: *params,
        ages,
        least,
        cells,
        owners,
        places: &places,
        words: &list,
        count: &count,
    };
    launch(seed, &kernel);
    let places = loaded(filled(&places, count[0].load(Relaxed)));
    for (&place, word) in places.iter().zip(words(&list)) {
        assert_eq!(word, cells[place as usize].word(), "cell {place}");
    }
    let mut places = places;
    places.sort_unstable();
    places
}

/// Hosts share counters, but a host's cells are in one: no host has more cells than its counter says.
/// And only hosts that were in contact hold any, which those of IPv6 spell.
fn assert_none_is_left_out(
    params: &CellsParams,
    array: &[Recorder64],
    in_window: &[(u32, Owner)],
    owners: &[u32],
) {
    let mut cells: HashMap<Owner, Vec<u32>> = HashMap::new();
    in_window.iter().for_each(|&(place, owner)| cells.entry(owner).or_default().push(place));
    let v4 = |limbs: &[u32; 4]| host(*limbs).is_ipv4();
    let mapped: Vec<u32> = HOSTS6.iter().filter(|it| v4(it)).map(|limbs| limbs[3]).collect();
    for (owner, places) in cells {
        assert!(owners[owner.counter(params.cell_bits())] as usize >= places.len());
        match params.host(owner) {
            Some(host) => assert!(HOSTS.contains(&host) || mapped.contains(&host)),
            None => {
                // Few hosts: each has a fingerprint of its own.
                let words = places.iter().map(|&place| (place, array[place as usize].word()));
                let (mut words, mut spelt) = (words.collect::<Vec<_>>(), Vec::new());
                params.spell(&mut words, |limbs, cells| spelt.push((limbs, cells as usize)));
                assert_eq!(spelt.len(), usize::from(places.len() >= 4), "{spelt:x?}");
                let is_known = |&(limbs, cells)| HOSTS6.contains(&limbs) && cells == places.len();
                assert!(spelt.iter().all(is_known), "{spelt:x?}");
            }
        }
    }
}

/// Some of the words of an array, some of them twice.
pub(crate) fn assert_gathered<R: KernelRecorder>(recorders: &[R], seed: u64) {
    let place = |i: u64| (seed.wrapping_add(i * i).wrapping_mul(0x9e37_79b9) >> 16) as usize;
    let places: Vec<u32> = (0..99).map(|i| (place(i / 2) % recorders.len()) as u32).collect();
    let gathered = untouched::<R>(places.len());
    launch(seed, &Gather::<Slices<'_>, R> { recorders, places: &places, words: &gathered });
    let expected = places.iter().map(|&place| recorders[place as usize].word());
    assert_eq!(words(&gathered), expected.collect::<Vec<_>>());
}
