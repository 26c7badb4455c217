//! Changing the recorders of either array as a whole: growing older, merging, and what the last
//! slices touched.

use crate::{Age, Apply, Body, Extract, Grid, List, Merge, Slices, Width};
use srlg_core::Packed;

impl<R: Width> Body for Age<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.recorders.len()) {
            let recorder = &self.recorders[at];
            recorder.set(R::grown(recorder.word(), self.step));
        }
    }
}

impl<R: Width> Body for Merge<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.words.len()) {
            let word = R::grown(self.words[at], self.step);
            Packed::keep_min(self.recorders, self.first as usize + at, word);
        }
    }
}

impl<R: Width> Body for Extract<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let entries = List::new(self.entries, &self.count[0]);
        for at in grid.of_all(self.recorders.len()) {
            let word: u32 = self.recorders[at].word().into();
            if word < self.recent || word.wrapping_sub(self.echo) < self.recent {
                entries.add((at as u64) << 32 | u64::from(word));
            }
        }
    }
}

impl<R: Width> Body for Apply<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.entries.len()) {
            let (number, word) = ((self.entries[at] >> 32) as usize, self.entries[at] as u32);
            if Packed::<R>::words(number + 1) <= self.recorders.len() {
                Packed::keep_min(self.recorders, number, R::grown(R::saturated(word), self.step));
            }
        }
    }
}
