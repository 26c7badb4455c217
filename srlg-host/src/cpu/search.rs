//! [`Search`]: from the masks of all rough estimators to candidate hosts.
//!
//! Pairs every hot column of row 0 with the hot columns of row 1 whose masks share
//! enough recorders with its own: row 1 is grouped by mask, so a whole group is passed
//! over by one comparison. The rest is [`srlg_core::regain`].

use srlg_core::regain::{HighTable, candidates};
use srlg_core::{Address, Params};

use srlg_kernels::survey::WEIGHTS;

use crate::backend::high_table;

/// Masks of one survey, and the table that regains hosts.
pub(super) struct Search {
    /// `rough_rows x 2^q` masks.
    masks: Vec<u8>,
    columns: usize,
    /// The arrays of a [`HighTable`].
    table: [Vec<u32>; 3],
}

impl Search {
    pub(super) fn new(params: &Params) -> Self {
        let columns = params.rough_columns() as usize;
        Self { masks: vec![0; params.rough_estimators()], columns, table: high_table(params) }
    }

    /// Takes the masks of all rough estimators; per row, how many have weight 0, 1, ... 8, of
    /// those that have at least `hot_weight`.
    pub(super) fn survey(
        &mut self,
        masks: impl Iterator<Item = u8>,
        hot_weight: u32,
    ) -> Vec<[u32; WEIGHTS]> {
        self.masks.iter_mut().zip(masks).for_each(|(ours, mask)| *ours = mask);
        let weights = |row: &[u8]| {
            let mut weights = [0; WEIGHTS];
            row.iter().for_each(|mask| weights[mask.count_ones() as usize] += 1);
            weights[..hot_weight as usize].fill(0);
            weights
        };
        self.masks.chunks_exact(self.columns).map(weights).collect()
    }

    /// The masks of `row`, as of the last survey.
    pub(super) fn masks_of_row(&self, row: u32) -> &[u8] {
        &self.masks[row as usize * self.columns..][..self.columns]
    }

    /// Hosts whose union estimator has at least `weight`, ascending, each once; `None`
    /// when there are more than `limit`.
    pub(super) fn hosts(&self, params: &Params, weight: u32, limit: u32) -> Option<Vec<Address>> {
        let [starts, highs, present] = &self.table;
        let table = HighTable::new(params, starts, highs, present);
        let groups = self.hot_by_mask(1, weight);
        let mut hosts = Vec::new();
        for (mask, columns) in self.hot_by_mask(0, weight) {
            for (_, partners) in groups.iter().filter(|(m, _)| (m & mask).count_ones() >= weight) {
                for &base in &columns {
                    for &column in partners {
                        hosts.extend(candidates(
                            params,
                            table,
                            &self.masks,
                            [base, column],
                            weight,
                        ));
                    }
                    if hosts.len() > limit as usize {
                        return None;
                    }
                }
            }
        }
        // Columns 0 and 1 determine the low and the high bits: no host is found twice.
        hosts.sort_unstable();
        Some(hosts)
    }

    /// The hot columns of `row`, grouped by mask.
    fn hot_by_mask(&self, row: u32, weight: u32) -> Vec<(u8, Vec<u32>)> {
        let mut groups: Vec<(u8, Vec<u32>)> =
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
