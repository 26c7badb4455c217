//! A table of owners, open to all threads at once: how many cells each holds.
//!
//! Entries are keys, 0 where none is, and counts beside them. An owner goes into the first free entry from that on that its
//! key names; which of two owners is first there is up to the order of threads, the count of either is not. There are
//! twice as many entries as cells: so one is always free, and most owners are where their keys say.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use srlg_core::ArrayParams;
use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::Owner;

/// Returns the number of entries of a table of the owners of `params`, a power of 2.
#[inline(always)]
#[must_use]
pub fn entries(params: &CellsParams) -> usize {
    2 * params.recorders()
}

/// Counts a cell of `owner`.
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

/// Returns how many cells the owner of `key` holds.
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

/// The entry behind `entry`.
#[inline(always)]
const fn next(entry: usize, entries: usize) -> usize {
    (entry + 1) & (entries - 1)
}
