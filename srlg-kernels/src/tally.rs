//! The kernels that tally the positions of each host.

use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

use crate::looks::waiting;
use crate::{Body, Grid, Slices, Tally, Union};
use srlg_core::counter::tagged::bin_place;
use srlg_core::counter::{Lines, Rows};

/// Maximum number of positions of a host that a block processes at a time. The positions are split so that a few hosts
/// can occupy many blocks.
const PART: usize = 4096;

/// Returns the number of parts into which the `positions` of one host are split. Each part is processed by one block.
#[inline(always)]
pub(crate) fn parts_of(positions: u32) -> usize {
    (positions as usize).div_ceil(PART)
}

impl Body for Tally<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let (lines, words) = (Lines::new(&self.params, self.linear), self.grouping.bin_words());
        let room = self.bins.len() / words;
        let hosts = waiting(self.numbers.len(), self.count[0], self.skip, room);
        for (at, part) in parts(grid, hosts, self.positions) {
            let host = self.hosts[self.numbers[self.skip as usize + at] as usize];
            let positions = lines.positions(host, self.grouping);
            for position in grid.of_threads(part.len()) {
                let position = self.first + (part.start + position) as u32;
                if let Some(bin) = positions.bin(position) {
                    let (word, shift) = bin_place(bin);
                    self.bins[at * words + word].fetch_add(1 << shift, Relaxed);
                }
            }
        }
    }
}

impl Body for Union<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let rows = Rows::new(&self.params, self.linear);
        for (host, part) in parts(grid, self.hosts.len(), self.positions) {
            let in_union =
                |at| rows.in_union(self.hosts[host].lo, self.span, (part.start + at) as u32);
            let within = grid.of_threads(part.len()).map(|at| u32::from(in_union(at)));
            self.weights[host].fetch_add(within.sum(), Relaxed);
        }
    }
}

/// Returns the parts that this block processes. A part is the index of a host and a range of the host's positions.
#[inline(always)]
fn parts(grid: Grid, hosts: usize, positions: u32) -> impl Iterator<Item = (usize, Range<usize>)> {
    let of_one = parts_of(positions);
    grid.of_blocks(hosts * of_one).map(move |part| {
        let start = part % of_one * PART;
        (part / of_one, start..(start + PART).min(positions as usize))
    })
}
