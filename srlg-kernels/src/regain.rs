//! Regaining hosts from hot columns.

use core::sync::atomic::AtomicU32;

use crate::{Grid, List};
use srlg_core::Params;
use srlg_core::regain::{HighTable, candidates, is_searchable};

/// Lists the hosts whose columns in rows 0 and 1 are among `columns` and whose union estimator
/// has a weight of at least `weight`; none where the params do not accept the search.
#[inline(always)]
pub fn regain(
    grid: Grid,
    params: &Params,
    weight: u32,
    (table, masks): (HighTable<'_>, &[u8]),
    columns: [&[u32]; 2],
    hosts: List<'_, AtomicU32>,
) {
    // The host asks ahead of knowing how many are hot.
    if !is_searchable(params, columns.map(|columns| columns.len() as u32)) {
        return;
    }
    for base in grid.of_blocks(columns[0].len()) {
        for partner in grid.of_lanes(columns[1].len()) {
            let pair = [columns[0][base], columns[1][partner]];
            candidates(params, table, masks, pair, weight).for_each(|host| hosts.add(host));
        }
    }
}
