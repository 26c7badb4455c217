//! From cells to those of candidates.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::finder::cells::Owner;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{ArrayParams, BATCH, IpPair, Params, ReadRecorder, Recorder64};
use srlg_kernels::{CountCells, Gather, KernelRecorder, ListCells, Slices, TouchCells, filled};

use super::{CellArray, of_age, untouched, words};
use super::{HOSTS, launch};

fn zeros(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn loaded(counts: &[AtomicU32]) -> Vec<u32> {
    counts.iter().map(|count| count.load(Relaxed)).collect()
}

/// The cells as srlg-core touches them, pair by pair, which the kernel and whole batches have to equal.
pub(crate) fn touched_cells(
    params: &Params,
    contacts: &[(IpPair, u32)],
    seed: u64,
) -> Vec<Recorder64> {
    let params = *CellsFinder::params(params.finder());
    let [one_by_one, in_batches, by_kernel] =
        [(); 3].map(|()| untouched::<Recorder64>(params.recorders()));
    for &(pair, age) in contacts {
        CellArray::new(&params, &one_by_one).touch(&pair, age);
        CellArray::new(&params, &in_batches).touch_all(&[pair; BATCH], age);
    }
    for age in 0..7 {
        let (pairs, recorders) = (&of_age(contacts, age)[..], &by_kernel[..]);
        launch(seed, &TouchCells::<Slices<'_>> { params, age, pairs, recorders });
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
    assert_none_is_left_out(&params, &in_window, &owners);
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
/// And only hosts that were in contact hold any.
fn assert_none_is_left_out(params: &CellsParams, in_window: &[(u32, Owner)], owners: &[u32]) {
    let mut cells: HashMap<Owner, u32> = HashMap::new();
    in_window.iter().for_each(|&(_, owner)| *cells.entry(owner).or_default() += 1);
    for (owner, count) in cells {
        assert!(owners[owner.counter(params.cell_bits())] >= count);
        assert!(HOSTS.contains(&params.host(owner).expect("an IPv4 host")));
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
