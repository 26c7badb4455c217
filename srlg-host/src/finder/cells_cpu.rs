//! [`CellSearch`]: from cells to candidate hosts, on the CPU, in two passes.

use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::chance::AgeHistogram;
use srlg_core::finder::cells::{CellsFinder, Owner};
use srlg_core::{Address, ArrayParams, BATCH, Params, Span};

use super::cells::{candidates, untouched_quality};
use super::quality::Quality;
use super::{CpuFinder, CpuSearch};
use crate::vectors::for_wider_vectors;

/// What a search counts.
pub(crate) struct CellSearch {
    params: CellsParams,
    /// Cells by age; the last number is of those that are not in the window.
    ages: Vec<u32>,
    /// Cells in the window, by the counter of their owners.
    counters: Vec<u8>,
    /// Owners of the cells that may be those of candidates.
    owners: Vec<Owner>,
}

for_wider_vectors! {
    /// Counts `cells` by age, those of no age of the window as the last, and those of the window by the
    /// counter of their owners.
    fn count(params: &CellsParams, cells: &[u64], ages: &mut [u32], counters: &mut [u8]) {
        let oldest = ages.len() - 1;
        for (first, cells) in (0..).step_by(BATCH).zip(cells.as_chunks::<BATCH>().0) {
            let owners = params.owners(first, cells);
            for i in 0..BATCH {
                let age = (params.age(cells[i]) as usize).min(oldest);
                ages[age] += 1;
                let counter = &mut counters[owners[i].counter(params.cell_bits())];
                *counter = counter.saturating_add((age < oldest).into());
            }
        }
    }

    /// Lists the owners of those `cells` whose words are below `limit` and whose owners' counter
    /// is at least `least`.
    fn list(
        params: &CellsParams,
        cells: &[u64],
        limit: u64,
        least: u8,
        counters: &[u8],
        listed: &mut Vec<Owner>,
    ) {
        for (first, cells) in (0..).step_by(BATCH).zip(cells.as_chunks::<BATCH>().0) {
            let owners = params.owners(first, cells);
            let (mut kept, mut count) = ([Owner::default(); BATCH], 0);
            for i in 0..BATCH {
                kept[count] = owners[i];
                let has_enough = counters[owners[i].counter(params.cell_bits())] >= least;
                count += usize::from((cells[i] < limit) & has_enough);
            }
            listed.extend_from_slice(&kept[..count]);
        }
    }
}

impl CpuFinder for CellsFinder {
    type Search = CellSearch;

    fn untouched_quality(params: &Params) -> Quality {
        let cells = params.finder().cells().expect("params of this finder");
        untouched_quality(cells, params.span(0, 1))
    }
}

impl CpuSearch<u64> for CellSearch {
    fn new(params: &Params) -> Self {
        let params = *params.finder().cells().expect("params of this finder");
        let counters = vec![0; params.recorders()];
        let owners = Vec::with_capacity(params.recorders());
        Self { params, ages: Vec::new(), counters, owners }
    }

    fn candidates(&mut self, cells: &[u64], span: Span, _: usize) -> (Vec<Address>, Quality) {
        let Self { params, ages, counters, owners } = self;
        counters.fill(0);
        ages.clear();
        ages.resize(span.finder_ages as usize + 1, 0);
        count(params, cells, ages, counters);
        let (_, ages) = ages.split_last().expect("a window has ages");
        let histogram = AgeHistogram::new(params, ages, span);
        let c_min = histogram.c_min();
        owners.clear();
        let limit = u64::from(span.finder_ages) * params.age_step();
        list(params, cells, limit, c_min as u8, counters, owners);
        candidates(params, (histogram, c_min), owners)
    }
}

#[cfg(test)]
mod vector_tests;
