//! A concurrent table of owners and their cell counts.
//!
//! An entry contains a key and a count. A free entry has the key 0. An owner takes the first free entry, starting at
//! the entry that its key selects. The order of the threads can affect which entry an owner takes, but not its count.
//! The table has twice as many entries as the array has cells. Therefore, there is always a free entry, and most owners
//! are in the entry that their key selects.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use srlg_core::ArrayParams;
use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::Owner;

/// Returns the number of entries in the owner table of a cell array that has `params`. The number is a power of 2.
#[inline(always)]
#[must_use]
pub fn entries(params: &CellsParams) -> usize {
    2 * params.recorders()
}

#[inline(always)]
pub(crate) fn count(params: &CellsParams, keys: &[AtomicU64], counts: &[AtomicU32], owner: Owner) {
    let (key, mut entry) = (owner.key(), owner.entry(params.cell_bits() + 1));
    loop {
        let mut there = keys[entry].load(Relaxed);
        if there == 0 {
            let swap = keys[entry].compare_exchange(0, key, Relaxed, Relaxed);
            there = swap.map_or_else(|now| now, |_| key);
        }
        if there == key {
            counts[entry].fetch_add(1, Relaxed);
            return;
        }
        entry = next(entry, keys.len());
    }
}

#[inline(always)]
pub(crate) fn cells(params: &CellsParams, keys: &[u64], counts: &[u32], owner: Owner) -> u32 {
    let mut entry = owner.entry(params.cell_bits() + 1);
    loop {
        match keys[entry] {
            0 => return 0,
            key if key == owner.key() => return counts[entry],
            _ => entry = next(entry, keys.len()),
        }
    }
}

#[inline(always)]
const fn next(entry: usize, entries: usize) -> usize {
    (entry + 1) & (entries - 1)
}
