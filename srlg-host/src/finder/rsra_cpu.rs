//! [`RsraSearch`]: from the recorders of an RSRA to candidate hosts, on the CPU.
//!
//! Pairs every hot column of row 0 with the hot columns of row 1 whose masks share
//! enough recorders with its own: row 1 is grouped by mask, so a whole group is passed
//! over by one comparison. Row 2 then rules out most pairs, before the inverse table is asked.
//! All of that is [`srlg_core::finder::regain`] and
//! [`Overlap`].

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

/// Masks that one thread takes at once.
const MASKS_PER_CHUNK: usize = 1 << 15;

/// The masks of the last search, and the table that regains hosts.
pub(crate) struct RsraSearch {
    params: Params,
    /// `rows x 2^q` masks.
    masks: Vec<u8>,
    /// The arrays of a [`HighTable`].
    table: [Vec<u32>; 3],
    subsets: [u64; 256],
}

/// Columns of one mask.
struct Group {
    mask: u8,
    columns: Vec<u32>,
}

/// A column of row 1 that may make a pair with one of row 0.
struct Partner {
    column: u32,
    /// The sets of recorders that both masks hold.
    sets: u64,
}

for_wider_vectors! {
    /// Takes the masks of rough estimators, from number `first` on.
    fn take_masks(rsra: Rsra<'_, u16>, ages: u32, first: usize, masks: &mut [u8]) {
        rsra.masks(ages, first, masks);
    }

    /// Counts how many of a row of `masks` have weight 0, 1, ... 8, of those with at least
    /// `hot_weight`.
    fn weights(masks: &[u8], hot_weight: u32) -> [u32; WEIGHTS] {
        let mut weights = [0; WEIGHTS];
        for (weight, total) in (0..).zip(&mut weights).skip(hot_weight as usize) {
            // Counters as narrow as the masks fill whole vectors; 255 masks cannot overflow them, so
            // they wrap: where the compiler checks sums for overflow, it does not vectorise them.
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

    /// Lists those of `partners` that make a pair with `base` for which there may be a host, and
    /// returns their number.
    fn admit(
        params: &RsraParams,
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
        threads: usize,
    ) -> (Vec<IpAddr>, FinderHealth) {
        self.survey(recorders, span, threads);
        let counts = self.hot_counts();
        let (params, limit) = (self.params, self.params.candidate_limit());
        let (found, health) =
            search(&params, &counts, |weight| Ok(self.hosts(weight, limit, threads)))
                .expect("a search on the CPU reports no error");
        (hosts(found), health)
    }
}

impl RsraSearch {
    /// Takes the masks of all rough estimators.
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

    /// The masks of `row`, as of the last search.
    pub(crate) fn masks_of_row(&self, row: u32) -> &[u8] {
        let columns = self.rsra().columns() as usize;
        &self.masks[row as usize * columns..][..columns]
    }

    /// Returns the hosts whose union estimator has at least `weight`, ascending, each once; `None`
    /// when there are more than `limit`. Works on up to `threads` threads.
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

    /// Returns the hosts whose column in row 0 is one of `bases` and whose column in row 1 is one of `others`; stops
    /// early once `enough` says so of the number of hosts found.
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

    /// The columns whose masks share at least `weight` recorders with `mask`.
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

    /// The hot columns of `row`, grouped by mask.
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
