//! The kernels that narrow down the candidates in steps. Glimpses dismiss most hosts, and fine regions dismiss further
//! hosts. The remaining hosts are recorded.
//!
//! All hosts are in one array, and each kernel processes a list of hosts. [`Glimpse`] and [`Reach`] write a list and
//! the count of its entries. If the count exceeds the length of the list, the kernels that read the list do nothing.

use core::sync::atomic::Ordering::Relaxed;

use crate::list::add;
use crate::{Body, Glimpse, Grid, Reach, Record, Regroup, Slices};
use srlg_core::counter::tagged::glimpse::{self, STAGES};
use srlg_core::counter::tagged::{Grouping, bound};
use srlg_core::finder::cells::SLOTS;
use srlg_core::{ReadRecorder, Recorder};

/// Returns the number of entries to process from entry `skip` on, limited to `room`. The list has `count` entries and a
/// capacity of `len`. Returns 0 if `count` exceeds the capacity.
#[inline(always)]
pub(crate) fn waiting(len: usize, count: u32, skip: u32, room: usize) -> usize {
    if count as usize > len {
        return 0;
    }
    (count.saturating_sub(skip) as usize).min(room)
}

impl Body for Glimpse<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let groups = Grouping::for_bound(self.span);
        let words = groups.bin_words();
        let room = self.bins.len() / (STAGES * words);
        let ends = glimpse::stages(&self.params);
        for at in grid.of_all(waiting(self.numbers.len(), self.count[0], 0, room)) {
            let may_reach = |stage: usize| {
                let bins = |stage| &self.bins[(stage * room + at) * words..][..words];
                let count = |kind, group| {
                    (0..=stage).map(|stage| groups.count(bins(stage), kind, group)).sum()
                };
                glimpse::may_reach(&self.params, &self.span, ends[stage], count)
            };
            if (0..STAGES).all(may_reach) {
                add(self.left, &self.left_count[0], self.numbers[at]);
            }
        }
    }
}

impl Body for Regroup<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let (ages, groups) = (Grouping::of_ages(self.span), Grouping::for_bound(self.span));
        let (words, room) = (groups.bin_words(), self.bins.len() / ages.bin_words());
        let hosts = waiting(self.numbers.len(), self.count[0], self.skip, room);
        for at in grid.of_all(hosts * words) {
            let bins = &self.bins[at / words * ages.bin_words()..][..ages.bin_words()];
            self.groups[at].store(groups.word(ages, bins, at % words), Relaxed);
        }
    }
}

impl Body for Reach<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let groups = Grouping::for_bound(self.span);
        let room = self.bins.len() / groups.bin_words();
        for at in grid.of_all(waiting(self.numbers.len(), self.count[0], self.skip, room)) {
            let bins = &self.bins[at * groups.bin_words()..][..groups.bin_words()];
            let count = |kind, group| groups.count(bins, kind, group);
            if bound::may_reach(&self.params, &self.span, count) {
                add(self.reached, &self.reached_count[0], at as u32);
            }
        }
    }
}

impl Body for Record<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let (words, slots) = (Grouping::of_ages(self.span).bin_words(), SLOTS as usize);
        let (count, room) = (self.reached_count[0], self.recorded.len());
        for at in grid.of_blocks(waiting(self.reached.len(), count, self.first, room)) {
            let bins = self.reached[self.first as usize + at] as usize;
            let number = self.numbers[self.skip as usize + bins];
            for word in grid.of_threads(words) {
                let bin = self.bins[bins * words + word];
                self.tallies[at * words + word].store(bin, Relaxed);
            }
            for slot in grid.of_threads(slots) {
                // These spots are meaningless for an IPv6 host, and the CPU ignores their words.
                let spot = self.params.spot(self.hosts[number as usize].lo, slot as u32);
                self.peers[at * slots + slot].set(self.cells[spot.place as usize].word());
            }
            for _ in grid.of_threads(1) {
                self.recorded[at].store(number, Relaxed);
            }
        }
    }
}
