//! Tests of the kernels that count and list the cells of candidates.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use srlg_core::finder::cells::Owner;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{HostId, Params, ReadRecorder, Recorder64, host};
use srlg_kernels::cells::{KEPT, KeptHost};
use srlg_kernels::{
    CountCells, Gather, KernelRecorder, ListHeld, ListHolders, ListKept, Slices, filled, owners,
};

use super::{HOSTS, HOSTS6, launch, untouched, words};

fn zeros(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn zero_keys(len: usize) -> Vec<AtomicU64> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}

fn loaded_keys(keys: &[AtomicU64]) -> Vec<u64> {
    keys.iter().map(|key| key.load(Relaxed)).collect()
}

fn loaded(counts: &[AtomicU32]) -> Vec<u32> {
    counts.iter().map(|count| count.load(Relaxed)).collect()
}

pub(crate) fn assert_cells_equal(all: &Params, cells: &[Recorder64], seed: u64) {
    let (params, ages) = (*CellsFinder::params(all.finder()), all.span(9, 5).finder_ages);
    let in_window = owned_in_window(&params, cells, ages);
    let table = owners::entries(&params);
    let (by_age, keys, counts) = (zeros(2 * ages as usize), zero_keys(table), zeros(table));
    let count =
        CountCells::<Slices<'_>> { params, cells, ages: &by_age, keys: &keys, counts: &counts };
    launch(seed, &count);
    let mut expected_ages = vec![0; 2 * ages as usize];
    let mut expected: HashMap<Owner, u32> = HashMap::new();
    for &(place, owner) in &in_window {
        let age = params.age(cells[place as usize].word());
        expected_ages[(age + u32::from(owner.is_fingerprint()) * ages) as usize] += 1;
        *expected.entry(owner).or_default() += 1;
    }
    assert_eq!(loaded(&by_age), expected_ages);
    let (keys, counts) = (loaded_keys(&keys), loaded(&counts));
    let entries = keys.iter().zip(&counts).filter(|&(&key, _)| key != 0);
    let counted: Vec<(Owner, u32)> =
        entries.map(|(&key, &count)| (Owner::of_key(key).unwrap(), count)).collect();
    assert_eq!(counted.len(), expected.len(), "each owner has one entry");
    assert_eq!(counted.into_iter().collect::<HashMap<_, _>>(), expected);

    for least in [1, 2, 9, 64] {
        assert_listed(all, &keys, &counts, least, &expected, seed);
        let held = held(&params, ages, least, cells, &keys, &counts, seed);
        let is_held =
            |&&(_, owner): &&(u32, Owner)| owner.is_fingerprint() && expected[&owner] >= least;
        let expected: Vec<u32> =
            in_window.iter().filter(is_held).map(|&(place, _)| place).collect();
        assert_eq!(held, expected, "at least {least}");
    }
    assert_none_is_left_out(&params, cells, &in_window);
}

fn owned_in_window(params: &CellsParams, cells: &[Recorder64], ages: u32) -> Vec<(u32, Owner)> {
    let cells = (0..).zip(cells).map(|(place, cell)| (place, cell.word()));
    let in_window = cells.filter(|&(_, word)| params.age(word) < ages);
    in_window.map(|(place, word)| (place, params.owner(place, word))).collect()
}

/// Asserts that the kernels list all IPv4 hosts with at least `least` cells, the hosts of `HOSTS` with fewer cells, and
/// all hosts of `HOSTS6`.
fn assert_listed(
    all: &Params,
    keys: &[u64],
    counts: &[u32],
    least: u32,
    expected: &HashMap<Owner, u32>,
    seed: u64,
) {
    let params = *CellsFinder::params(all.finder());
    let is_enough = |owner: Owner| expected.get(&owner).is_some_and(|&cells| cells >= least);
    let v4 = HOSTS.map(|host| KeptHost { key: params.owner_of(host).key(), id: host.into() });
    let v6 = HOSTS6.map(|limbs| KeptHost { key: 0, id: all.host_id(host(limbs)) });
    let kept: Vec<KeptHost> = v4.into_iter().chain(v6).collect();
    let mut wanted: Vec<(u64, u32, HostId)> = expected
        .iter()
        .filter(|&(owner, &cells)| cells >= least && !owner.is_fingerprint())
        .map(|(&owner, &cells)| (owner.key(), cells, params.host(owner).unwrap().into()))
        .collect();
    for (number, host) in (0..).zip(&kept) {
        let owner = Owner::of_key(host.key);
        if !owner.is_some_and(is_enough) {
            let cells = owner.and_then(|owner| expected.get(&owner)).copied().unwrap_or(0);
            wanted.push((KEPT | number, cells, host.id));
        }
    }
    wanted.sort_unstable_by_key(|&(entry, ..)| entry);

    // The list has room for all IDs, or for only some of them.
    for room in [wanted.len() + 2, wanted.len() / 2] {
        let (entries, holds) = (zero_keys(wanted.len() + 2), zeros(wanted.len() + 2));
        let (hosts, count) = (zeros(2 * room), zeros(1));
        let (entries, holds, hosts, count) = (&entries[..], &holds[..], &hosts[..], &count[..]);
        let kernel = ListKept::<Slices<'_>> {
            params,
            least,
            kept: &kept,
            keys,
            counts,
            entries,
            holds,
            hosts,
            count,
        };
        launch(seed, &kernel);
        launch(
            seed,
            &ListHolders::<Slices<'_>> {
                params,
                least,
                keys,
                counts,
                entries,
                holds,
                hosts,
                count,
            },
        );
        let (entries, holds, ids) = (loaded_keys(entries), loaded(holds), loaded(hosts));
        assert_eq!(count[0].load(Relaxed) as usize, wanted.len());
        let all: HashMap<u64, (u32, HostId)> =
            wanted.iter().map(|&(entry, cells, id)| (entry, (cells, id))).collect();
        let listed = entries.iter().zip(&holds).take(wanted.len());
        for (number, (entry, &cells)) in listed.enumerate() {
            assert_eq!(all[entry].0, cells);
            if let [lo, hi] = *ids.get(2 * number..2 * number + 2).unwrap_or_default() {
                assert_eq!(all[entry].1, HostId { lo, hi });
            }
        }
        let mut entries = entries[..wanted.len()].to_vec();
        entries.sort_unstable();
        assert!(entries.iter().eq(wanted.iter().map(|(entry, ..)| entry)));
    }
}

/// Returns the indices of the IPv6 cells that the kernel lists, in ascending order. Asserts that the kernel lists each
/// cell with its word.
fn held(
    params: &CellsParams,
    ages: u32,
    least: u32,
    cells: &[Recorder64],
    keys: &[u64],
    counts: &[u32],
    seed: u64,
) -> Vec<u32> {
    let (places, count) = (zeros(cells.len()), zeros(1));
    let list = untouched::<Recorder64>(cells.len());
    let kernel = ListHeld::<Slices<'_>> {
        params: *params,
        ages,
        least,
        cells,
        keys,
        counts,
        places: &places,
        words: &list,
        count: &count,
    };
    launch(seed, &kernel);
    let mut places = loaded(filled(&places, count[0].load(Relaxed)));
    for (&place, word) in places.iter().zip(words(&list)) {
        assert_eq!(word, cells[place as usize].word(), "cell {place}");
    }
    places.sort_unstable();
    places
}

/// Asserts that every owner is one of `HOSTS` or `HOSTS6`, and that an IPv6 address can be recovered from four or more
/// cells.
fn assert_none_is_left_out(params: &CellsParams, array: &[Recorder64], in_window: &[(u32, Owner)]) {
    let mut cells: HashMap<Owner, Vec<u32>> = HashMap::new();
    in_window.iter().for_each(|&(place, owner)| cells.entry(owner).or_default().push(place));
    let v4 = |limbs: &[u32; 4]| host(*limbs).is_ipv4();
    let mapped: Vec<u32> = HOSTS6.iter().filter(|it| v4(it)).map(|limbs| limbs[3]).collect();
    for (owner, places) in cells {
        match params.host(owner) {
            Some(host) => assert!(HOSTS.contains(&host) || mapped.contains(&host)),
            None => {
                // There are so few hosts that each has a different fingerprint.
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

pub(crate) fn assert_gathered<R: KernelRecorder>(recorders: &[R], seed: u64) {
    let place = |i: u64| (seed.wrapping_add(i * i).wrapping_mul(0x9e37_79b9) >> 16) as usize;
    let places: Vec<u32> = (0..99).map(|i| (place(i / 2) % recorders.len()) as u32).collect();
    let gathered = untouched::<R>(places.len());
    launch(seed, &Gather::<Slices<'_>, R> { recorders, places: &places, words: &gathered });
    let expected = places.iter().map(|&place| recorders[place as usize].word());
    assert_eq!(words(&gathered), expected.collect::<Vec<_>>());
}
