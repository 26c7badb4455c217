//! [`Search`]: from the masks of all rough estimators to candidate hosts.
//!
//! Pairs every hot column of row 0 with the hot columns of row 1 whose masks share
//! enough recorders with its own: row 1 is grouped by mask, so a whole group is passed
//! over by one comparison. Row 2 then rules out most pairs, before the inverse table is asked.
//! All of that is [`srlg_core::regain`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use srlg_core::regain::{HighTable, Overlap, candidates, fill_overlap, overlap_len, subsets};
use srlg_core::{Address, Params};

use srlg_kernels::survey::WEIGHTS;

use super::share::share;
use super::sweep;
use crate::backend::high_table;
use crate::vectors::for_wider_vectors;

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

/// A column of row 1 that may make a pair with one of row 0.
struct Partner {
    column: u32,
    /// The sets of recorders that both masks hold.
    sets: u64,
}

for_wider_vectors! {
    /// Lists those of `partners` that make a pair with `base` for which there may be a host; how
    /// many they are.
    fn admit(
        params: &Params,
        table: HighTable<'_>,
        overlap: Overlap<'_>,
        base: u32,
        partners: &[Partner],
        admitted: &mut [u32],
    ) -> usize {
        // No branch depends on a pair: its outcome cannot be foreseen.
        let mut count = 0;
        for &Partner { column, sets } in partners {
            admitted[count] = column;
            count += usize::from(overlap.admits(base, column, sets));
        }
        table.keep_held(params, base, &mut admitted[..count])
    }
}

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
    /// when there are more than `limit`. Takes so many `threads`.
    pub(super) fn hosts(
        &self,
        params: &Params,
        weight: u32,
        limit: u32,
        threads: usize,
    ) -> Option<Vec<Address>> {
        let mut of_row_2 = vec![0; overlap_len(params)];
        fill_overlap(params, &self.subsets, self.masks_of_row(2), weight, &mut of_row_2);
        let overlap = Overlap::new(params, &of_row_2);
        let (bases, others) = (self.hot_by_mask(0, weight), self.hot_by_mask(1, weight));
        let (found, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        share(threads, bases.len(), |piece| {
            let enough = |more: usize| count.load(Relaxed) + more > limit as usize;
            let hosts = self.hosts_of(params, weight, overlap, &bases[piece], &others, &enough);
            count.fetch_add(hosts.len(), Relaxed);
            found.lock().expect("nobody panics with the hosts").extend(hosts);
        });
        let mut hosts = found.into_inner().expect("nobody panicked with the hosts");
        if hosts.len() > limit as usize {
            return None;
        }
        // Columns 0 and 1 determine the low and the high bits: no host is found twice.
        hosts.sort_unstable();
        Some(hosts)
    }

    /// Those hosts whose column in row 0 is one of `bases` and in row 1 one of `others`; not all
    /// of them when so many more are `enough`.
    fn hosts_of(
        &self,
        params: &Params,
        weight: u32,
        overlap: Overlap<'_>,
        (mask, bases): &Group,
        others: &[Group],
        enough: &dyn Fn(usize) -> bool,
    ) -> Vec<Address> {
        let table = self.high_table(params);
        let partners = self.partners(others, *mask, weight);
        let (mut hosts, mut admitted) = (Vec::new(), vec![0; partners.len()]);
        for &base in bases {
            if enough(hosts.len()) {
                break;
            }
            let count = admit(params, table, overlap, base, &partners, &mut admitted);
            for &column in &admitted[..count] {
                hosts.extend(candidates(params, table, &self.masks, [base, column], weight));
            }
        }
        hosts
    }

    /// The columns whose masks share at least `weight` recorders with `mask`.
    fn partners(&self, groups: &[Group], mask: u8, weight: u32) -> Vec<Partner> {
        let mut partners = Vec::new();
        for (other, columns) in groups {
            if (other & mask).count_ones() >= weight {
                let sets = self.subsets[usize::from(other & mask)];
                partners.extend(columns.iter().map(|&column| Partner { column, sets }));
            }
        }
        partners
    }

    fn high_table(&self, params: &Params) -> HighTable<'_> {
        let [starts, highs, present] = &self.table;
        HighTable::new(params, starts, highs, present)
    }

    /// The hot columns of `row`, grouped by mask.
    fn hot_by_mask(&self, row: u32, weight: u32) -> Vec<Group> {
        let mut groups: Vec<Group> = (0..=u8::MAX).map(|mask| (mask, Vec::new())).collect();
        for (column, &mask) in (0..).zip(self.masks_of_row(row)) {
            if mask.count_ones() >= weight {
                groups[usize::from(mask)].1.push(column);
            }
        }
        groups.retain(|(_, columns)| !columns.is_empty());
        groups
    }
}

#[cfg(test)]
mod vector_tests;
