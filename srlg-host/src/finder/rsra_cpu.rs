//! [`RsraSearch`]: a search of an RSRA for candidate hosts on the CPU.
//!
//! Every hot column of row 0 is paired with the hot columns of row 1 whose masks share enough recorders with its own
//! mask. Row 1 is grouped by mask, so one comparison accepts or rejects a whole group. Row 2 then rules out most pairs
//! before the inverse table is read. [`srlg_core::finder::regain`] and [`Overlap`] implement these steps.

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use srlg_core::finder::regain::{HighTable, candidates};
use srlg_core::finder::{
    Overlap, Rsra, RsraFinder, RsraParams, fill_overlap, overlap_len, subsets,
};
use srlg_core::{Address, Params, Span};
use srlg_kernels::survey::WEIGHTS;

use super::rsra::{HotCounts, high_table, hosts, rsra, search, untouched};
use super::{CpuFinder, CpuSearch, FinderHealth};
use crate::share::{share, share_chunks};
use crate::vectors::for_wider_vectors;

/// Number of masks that one thread takes at a time.
const MASKS_PER_CHUNK: usize = 1 << 15;

pub(crate) struct RsraSearch {
    params: Params,
    /// Masks of all `rows x 2^q` rough estimators.
    masks: Vec<u8>,
    /// The arrays of a [`HighTable`].
    table: [Vec<u32>; 3],
    subsets: [u64; 256],
}

struct Group {
    mask: u8,
    columns: Vec<u32>,
}

/// A column of row 1 that may form a pair with a column of row 0.
struct Partner {
    column: u32,
    /// One bit for each set of `hot_weight` recorders. The bit is 1 if the masks of both columns contain the set.
    sets: u64,
}

for_wider_vectors! {
    /// Writes the masks of rough estimators, starting with number `first`, to `masks`.
    fn take_masks(rsra: Rsra<'_, u16>, ages: u32, first: usize, masks: &mut [u8]) {
        rsra.masks(ages, first, masks);
    }

    /// Counts the `masks` of a row by weight, from `hot_weight` to 8.
    fn weights(masks: &[u8], hot_weight: u32) -> [u32; WEIGHTS] {
        let mut weights = [0; WEIGHTS];
        for (weight, total) in (0..).zip(&mut weights).skip(hot_weight as usize) {
            // Counters as narrow as the masks fill whole vectors, and 255 masks cannot overflow them. The additions
            // wrap, because the compiler does not vectorise sums that are checked for overflow.
            for masks in masks.chunks(255) {
                let mut count = 0u8;
                for mask in masks {
                    count = count.wrapping_add((mask.count_ones() == weight).into());
                }
                *total += u32::from(count);
            }
        }
        weights
    }

    /// Writes to `admitted` the columns of `partners` that may share a host with `base`, and returns their number.
    fn admit(
        params: &RsraParams,
        table: HighTable<'_>,
        overlap: Overlap<'_>,
        base: u32,
        partners: &[Partner],
        admitted: &mut [u32],
    ) -> usize {
        // The loop has no branches, because the processor could not predict them.
        let mut count = 0;
        for &Partner { column, sets } in partners {
            admitted[count] = column;
            count += usize::from(overlap.admits(base, column, sets));
        }
        table.keep_held(params, base, &mut admitted[..count])
    }
}

impl CpuFinder for RsraFinder {
    type Search = RsraSearch;

    fn untouched(params: &Params) -> FinderHealth {
        untouched(params)
    }
}

impl CpuSearch<u16> for RsraSearch {
    fn new(params: &Params) -> Self {
        let rsra = rsra(params);
        Self {
            params: *params,
            masks: vec![0; rsra.estimators()],
            table: high_table(rsra),
            subsets: subsets(rsra),
        }
    }

    fn candidates(
        &mut self,
        recorders: &[u16],
        span: Span,
        limit: u32,
        threads: usize,
    ) -> (Vec<IpAddr>, FinderHealth) {
        self.survey(recorders, span, threads);
        let (params, counts) = (self.params, self.hot_counts());
        let (found, health) =
            search(&params, &counts, |weight| Ok(self.hosts(weight, limit, threads)))
                .expect("a search on the CPU cannot fail");
        (hosts(found), health)
    }
}

impl RsraSearch {
    fn survey(&mut self, recorders: &[u16], span: Span, threads: usize) {
        let rsra = Rsra::new(rsra(&self.params), recorders);
        share_chunks(threads, &mut self.masks, MASKS_PER_CHUNK, |first, masks| {
            take_masks(rsra, span.finder_ages, first, masks);
        });
    }

    fn hot_counts(&self) -> HotCounts {
        let (rsra, all) = (self.rsra(), &self.masks);
        let rows = all.chunks_exact(rsra.columns() as usize);
        HotCounts(rows.map(|row| weights(row, rsra.hot_weight())).collect())
    }

    fn rsra(&self) -> &RsraParams {
        rsra(&self.params)
    }

    pub(crate) fn masks_of_row(&self, row: u32) -> &[u8] {
        let columns = self.rsra().columns() as usize;
        &self.masks[row as usize * columns..][..columns]
    }

    /// Returns the distinct hosts whose union estimator has a weight of at least `weight`, in ascending order.
    ///
    /// The result is `None` if there are more hosts than `limit`.
    fn hosts(&self, weight: u32, limit: u32, threads: usize) -> Option<Vec<Address>> {
        let params = self.rsra();
        let mut of_row_2 = vec![0; overlap_len(params)];
        fill_overlap(params, &self.subsets, self.masks_of_row(2), weight, &mut of_row_2);
        let overlap = Overlap::new(params, &of_row_2);
        let (bases, others) = (self.hot_by_mask(0, weight), self.hot_by_mask(1, weight));
        let (found, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        share(threads, bases.len(), |piece| {
            let enough = |more: usize| count.load(Relaxed) + more > limit as usize;
            let hosts = self.hosts_of(weight, overlap, &bases[piece], &others, &enough);
            count.fetch_add(hosts.len(), Relaxed);
            found.lock().expect("no thread panics while it holds the lock").extend(hosts);
        });
        let mut hosts = found.into_inner().expect("no thread panicked while it held the lock");
        if hosts.len() > limit as usize {
            return None;
        }
        // The columns in rows 0 and 1 determine the low and the high bits of a host, so no host is found twice.
        hosts.sort_unstable();
        Some(hosts)
    }

    /// Returns the candidates at `weight` whose column in row 0 is in `bases` and whose column in row 1 is in `others`.
    ///
    /// The search stops early if `enough` returns true for the number of hosts that this call has found.
    fn hosts_of(
        &self,
        weight: u32,
        overlap: Overlap<'_>,
        bases: &Group,
        others: &[Group],
        enough: &dyn Fn(usize) -> bool,
    ) -> Vec<Address> {
        let (params, table) = (self.rsra(), self.high_table());
        let partners = self.partners(others, bases.mask, weight);
        let (mut hosts, mut admitted) = (Vec::new(), vec![0; partners.len()]);
        for &base in &bases.columns {
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

    /// Returns the columns in `groups` whose masks share at least `weight` recorders with `mask`.
    fn partners(&self, groups: &[Group], mask: u8, weight: u32) -> Vec<Partner> {
        let mut partners = Vec::new();
        for Group { mask: other, columns } in groups {
            if (other & mask).count_ones() >= weight {
                let sets = self.subsets[usize::from(other & mask)];
                partners.extend(columns.iter().map(|&column| Partner { column, sets }));
            }
        }
        partners
    }

    fn high_table(&self) -> HighTable<'_> {
        HighTable::new(self.rsra(), self.table.each_ref().map(|values| &values[..]))
    }

    /// Returns the columns of `row` whose masks contain at least `weight` recorders, grouped by mask.
    fn hot_by_mask(&self, row: u32, weight: u32) -> Vec<Group> {
        let mut groups: Vec<Group> =
            (0..=u8::MAX).map(|mask| Group { mask, columns: Vec::new() }).collect();
        for (column, &mask) in (0..).zip(self.masks_of_row(row)) {
            if mask.count_ones() >= weight {
                groups[usize::from(mask)].columns.push(column);
            }
        }
        groups.retain(|group| !group.columns.is_empty());
        groups
    }
}

#[cfg(test)]
mod vector_tests;
