//! [`CellSearch`]: a search of cells for candidates on the CPU, in two passes.

use std::net::IpAddr;

use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::chance::least_v6;
use srlg_core::finder::cells::{CellsFinder, Owner};
use srlg_core::{ArrayParams, BATCH, Params, Span};

use super::cells::{CellCounts, HeldCell, Shortlist, candidates, holders, sort_v4, untouched};
use super::{CpuFinder, CpuSearch, FinderHealth};
use crate::share::share_chunks;
use crate::vectors::for_wider_vectors;

/// Minimum number of cells per thread. Starting a thread takes a quarter of the time that both passes take for this
/// number of cells.
const CELLS_PER_THREAD: usize = 1 << 16;

pub(crate) struct CellSearch {
    params: CellsParams,
    counts: Vec<Counts>,
    lists: Vec<Lists>,
}

/// The results of the first pass.
struct Counts {
    /// Cell counts of IPv4 hosts by age, followed by cell counts of IPv6 hosts by age. The last count of each family
    /// covers the cells outside the window.
    ages: Vec<u32>,
    /// Saturating counts of cells in the window, indexed by [`Owner::entry`].
    counters: Vec<u8>,
}

/// The results of the second pass.
#[derive(Default)]
struct Lists {
    /// Owners of cells that may belong to candidates.
    owners: Vec<Owner>,
    /// Cells that are held by IPv6 hosts and may belong to candidates.
    held: Vec<HeldCell>,
}

for_wider_vectors! {
    /// Counts `cells` by age in `ages`, and by the entry of their owner in `counters`. The first cell has the number
    /// `first`.
    ///
    /// The first half of `ages` counts cells of IPv4 hosts, and the second half counts cells of IPv6 hosts. The last
    /// entry of each half counts cells outside the window. `counters` counts only cells in the window.
    fn count(params: &CellsParams, first: u32, cells: &[u64], ages: &mut [u32], counters: &mut [u8]) {
        let of_one = ages.len() as u32 / 2;
        for (first, cells) in (first..).step_by(BATCH).zip(cells.as_chunks::<BATCH>().0) {
            let owners = params.owners(first, cells);
            let mut bins = [0u32; BATCH];
            for i in 0..BATCH {
                let age = params.age(cells[i]).min(of_one - 1);
                bins[i] = age + if owners[i].is_fingerprint() { of_one } else { 0 };
            }
            for i in 0..BATCH {
                ages[bins[i] as usize] += 1;
                let counter = &mut counters[owners[i].entry(params.cell_bits())];
                *counter = counter.saturating_add((params.age(cells[i]) < of_one - 1).into());
            }
        }
    }

    /// Appends to `listed` the owners of the cells whose word is below `limit` and whose owner's counter is at least
    /// `least`.
    fn list(
        params: &CellsParams,
        first: u32,
        cells: &[u64],
        limit: u64,
        least: u8,
        counters: &[u8],
        listed: &mut Vec<Owner>,
    ) {
        for (first, cells) in (first..).step_by(BATCH).zip(cells.as_chunks::<BATCH>().0) {
            let owners = params.owners(first, cells);
            let (mut kept, mut count) = ([Owner::default(); BATCH], 0);
            for i in 0..BATCH {
                kept[count] = owners[i];
                let has_enough = counters[owners[i].entry(params.cell_bits())] >= least;
                count += usize::from((cells[i] < limit) & has_enough);
            }
            listed.extend_from_slice(&kept[..count]);
        }
    }

    /// Works like [`list`], but appends the cells instead of their owners, and only cells held by IPv6 hosts.
    fn list_held(
        params: &CellsParams,
        first: u32,
        cells: &[u64],
        limit: u64,
        least: u8,
        counters: &[u8],
        listed: &mut Vec<HeldCell>,
    ) {
        for (first, cells) in (first..).step_by(BATCH).zip(cells.as_chunks::<BATCH>().0) {
            let owners = params.owners(first, cells);
            let (mut kept, mut count) = ([HeldCell::default(); BATCH], 0);
            for i in 0..BATCH {
                kept[count] = (owners[i], first + i as u32, cells[i]);
                let has_enough = counters[owners[i].entry(params.cell_bits())] >= least;
                let is_listed = (cells[i] < limit) & has_enough & owners[i].is_fingerprint();
                count += usize::from(is_listed);
            }
            listed.extend_from_slice(&kept[..count]);
        }
    }
}

impl CpuFinder for CellsFinder {
    type Search = CellSearch;

    fn untouched(params: &Params) -> FinderHealth {
        let cells = params.finder().cells().expect("the params belong to this finder");
        untouched(cells, params.span(0, 1))
    }
}

impl Counts {
    fn new(params: &CellsParams) -> Self {
        Self { ages: Vec::new(), counters: vec![0; params.recorders()] }
    }

    fn count(&mut self, params: &CellsParams, first: u32, cells: &[u64], span: Span) {
        self.counters.fill(0);
        self.ages.clear();
        self.ages.resize(2 * (span.finder_ages as usize + 1), 0);
        count(params, first, cells, &mut self.ages, &mut self.counters);
    }

    fn add(&mut self, others: &Self) {
        self.ages.iter_mut().zip(&others.ages).for_each(|(ours, theirs)| *ours += theirs);
        let counters = self.counters.iter_mut().zip(&others.counters);
        counters.for_each(|(ours, theirs)| *ours = ours.saturating_add(*theirs));
    }
}

impl CpuSearch<u64> for CellSearch {
    fn new(params: &Params) -> Self {
        let params = *params.finder().cells().expect("the params belong to this finder");
        Self { params, counts: Vec::new(), lists: Vec::new() }
    }

    fn candidates(
        &mut self,
        cells: &[u64],
        span: Span,
        limit: u32,
        threads: usize,
    ) -> (Vec<IpAddr>, FinderHealth) {
        let Self { params, counts, lists } = self;
        let len = cells.len().div_ceil(threads).next_multiple_of(CELLS_PER_THREAD);
        let parts: Vec<(u32, &[u64])> = (0..).step_by(len).zip(cells.chunks(len)).collect();
        counts.resize_with(parts.len(), || Counts::new(params));
        share_chunks(threads, counts, 1, |part, counts| {
            let (first, cells) = parts[part];
            counts[0].count(params, first, cells, span);
        });
        let (all, others) = counts.split_first_mut().expect("cells have a part");
        others.iter().for_each(|others| all.add(others));
        let Counts { ages, counters } = all;
        // Cells outside the window are omitted.
        let of_window = span.finder_ages as usize;
        ages.swap_remove(2 * of_window + 1);
        ages.remove(of_window);
        let counts = CellCounts::new(params, ages, span);
        let c_min = counts.c_min;
        let oldest = u64::from(span.finder_ages) * params.age_step();
        lists.resize_with(parts.len(), Lists::default);
        share_chunks(threads, lists, 1, |part, lists| {
            let ((first, cells), Lists { owners, held }) = (parts[part], &mut lists[0]);
            owners.clear();
            held.clear();
            list(params, first, cells, oldest, c_min as u8, counters, owners);
            sort_v4(owners);
            if counts.may_spell() {
                list_held(params, first, cells, oldest, least_v6(c_min) as u8, counters, held);
            }
        });
        let (Lists { owners, held }, others) = lists.split_first_mut().expect("cells have a part");
        others.iter().for_each(|others| {
            owners.extend_from_slice(&others.owners);
            held.extend_from_slice(&others.held);
        });
        if !others.is_empty() {
            // This sort is stable and merges runs that are already sorted.
            owners.sort();
        }
        let Shortlist { hosts, health, .. } =
            candidates(params, counts, holders(owners, c_min), held, limit);
        (hosts, health)
    }
}

#[cfg(test)]
mod full_tests;
#[cfg(test)]
mod vector_tests;
