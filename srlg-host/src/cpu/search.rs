//! [`Search`]: from the masks of all rough estimators to candidate hosts.
//!
//! Pairs every hot column of row 0 with the hot columns of row 1 whose masks share
//! enough recorders with its own: row 1 is grouped by mask, so a whole group is passed
//! over by one comparison. Row 2 then rules out most pairs, before the inverse table is asked.
//! All of that is [`srlg_core::regain`].

use srlg_core::regain::{
    HighTable, Overlap, candidates, fill_overlap, overlap_len, subsets,
};
use srlg_core::{Address, Params};

use srlg_kernels::survey::WEIGHTS;

use super::sweep;
use crate::backend::high_table;

/// Masks of one survey, and the table that regains hosts.
pub(super) struct Search {
    /// `rough_rows x 2^q` masks.
    masks: Vec<u8>,
    columns: usize,
    /// The arrays of a [`HighTable`].
    table: [Vec<u32>; 3],
    subsets: [u64; 256],
}

/// Columns of one mask.
type Group = (u8, Vec<u32>);

impl Search {
    pub(super) fn new(params: &Params) -> Self {
        let columns = params.rough_columns() as usize;
        Self {
            masks: vec![0; params.rough_estimators()],
            columns,
            table: high_table(params),
            subsets: subsets(params),
        }
    }

    /// The masks of all rough estimators, to be taken anew.
    pub(super) fn masks_mut(&mut self) -> &mut [u8] {
        &mut self.masks
    }

    /// Per row, how many estimators have weight 0, 1, ... 8, of those with at least `hot_weight`.
    pub(super) fn weights(&self, hot_weight: u32) -> Vec<[u32; WEIGHTS]> {
        let rows = self.masks.chunks_exact(self.columns);
        rows.map(|row| sweep::weights(row, hot_weight)).collect()
    }

    /// The masks of `row`, as of the last survey.
    pub(super) fn masks_of_row(&self, row: u32) -> &[u8] {
        &self.masks[row as usize * self.columns..][..self.columns]
    }

    /// Hosts whose union estimator has at least `weight`, ascending, each once; `None`
    /// when there are more than `limit`.
    pub(super) fn hosts(&self, params: &Params, weight: u32, limit: u32) -> Option<Vec<Address>> {
        let mut of_row_2 = vec![0; overlap_len(params)];
        fill_overlap(params, &self.subsets, self.masks_of_row(2), weight, &mut of_row_2);
        let overlap = Overlap::new(params, &of_row_2);
        let groups = self.hot_by_mask(1, weight);
        let hot: usize = groups.iter().map(|(_, columns)| columns.len()).sum();
        let table = self.high_table(params);
        let mut hosts = Vec::new();
        let mut admitted = vec![0; hot];
        for (mask, columns) in self.hot_by_mask(0, weight) {
            let shares = |&&(other, _): &&Group| (other & mask).count_ones() >= weight;
            let partners: Vec<&Group> = groups.iter().filter(shares).collect();
            for &base in &columns {
                let pair = (mask, base);
                let count = self.admitted(params, overlap, pair, &partners, &mut admitted);
                for &column in &admitted[..count] {
                    hosts.extend(candidates(params, table, &self.masks, [base, column], weight));
                }
                if hosts.len() > limit as usize {
                    return None;
                }
            }
        }
        // Columns 0 and 1 determine the low and the high bits: no host is found twice.
        hosts.sort_unstable();
        Some(hosts)
    }

    /// Lists those columns of `partners` that make a pair with `base`; how many they are.
    #[inline(always)]
    fn admitted(
        &self,
        params: &Params,
        overlap: Overlap<'_>,
        (mask, base): (u8, u32),
        partners: &[&Group],
        admitted: &mut [u32],
    ) -> usize {
        let mut count = 0;
        for (other, columns) in partners {
            let sets = self.subsets[usize::from(other & mask)];
            // No branch depends on the pair: its outcome cannot be foreseen.
            for &column in columns {
                admitted[count] = column;
                count += usize::from(overlap.admits(base, column, sets));
            }
        }
        let table = self.high_table(params);
        let mut held = 0;
        for place in 0..count {
            let column = admitted[place];
            admitted[held] = column;
            held += usize::from(table.holds(params, base, column));
        }
        held
    }

    fn high_table(&self, params: &Params) -> HighTable<'_> {
        let [starts, highs, present] = &self.table;
        HighTable::new(params, starts, highs, present)
    }

    /// The hot columns of `row`, grouped by mask.
    fn hot_by_mask(&self, row: u32, weight: u32) -> Vec<Group> {
        let mut groups: Vec<Group> =
            (0..=u8::MAX).map(|mask| (mask, Vec::new())).collect();
        for (column, &mask) in (0..).zip(self.masks_of_row(row)) {
            if mask.count_ones() >= weight {
                groups[usize::from(mask)].1.push(column);
            }
        }
        groups.retain(|(_, columns)| !columns.is_empty());
        groups
    }
}
