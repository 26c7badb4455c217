//! Counting the cells of each host at the end of a slice, and listing those of candidates.

use core::sync::atomic::Ordering::Relaxed;

use crate::list::next;
use crate::{Body, CountCells, Grid, ListCells, Slices};
use srlg_core::{ReadRecorder, Recorder};

impl Body for CountCells<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for place in grid.of_all(self.cells.len()) {
            let word = self.cells[place].word();
            let (age, of_one) = (self.params.age(word) as usize, self.ages.len() / 2);
            if age < of_one {
                let owner = self.params.owner(place as u32, word);
                let of_family = age + usize::from(owner.is_fingerprint()) * of_one;
                self.ages[of_family].fetch_add(1, Relaxed);
                self.owners[owner.counter(self.params.cell_bits())].fetch_add(1, Relaxed);
            }
        }
    }
}

impl Body for ListCells<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for place in grid.of_all(self.cells.len()) {
            let word = self.cells[place].word();
            let owner = self.params.owner(place as u32, word);
            if self.params.age(word) < self.ages
                && self.owners[owner.counter(self.params.cell_bits())] >= self.least
                && let Some(entry) = next(self.places.len(), &self.count[0])
            {
                self.places[entry].store(place as u32, Relaxed);
                self.words[entry].set(word);
            }
        }
    }
}
