//! Changing the recorders of either array as a whole: ageing, merging, and what the last
//! slices touched.

use crate::{Age, Apply, Body, Extract, Grid, KernelRecorder, Merge, Slices, add};
use srlg_core::Packed;

impl<R: KernelRecorder> Body for Age<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let step = R::saturated(self.step);
        for at in grid.of_all(self.recorders.len()) {
            let recorder = &self.recorders[at];
            recorder.set(R::aged(recorder.word(), step));
        }
    }
}

impl<R: KernelRecorder> Body for Merge<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let step = R::saturated(self.step);
        for at in grid.of_all(self.words.len()) {
            let word = R::aged(self.words[at], step);
            Packed::fetch_min(self.recorders, self.first as usize + at, word);
        }
    }
}

impl<R: KernelRecorder> Body for Extract<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.recorders.len()) {
            let word = Into::<u64>::into(self.recorders[at].word()) as u32;
            if word < self.recent || word.wrapping_sub(self.echo) < self.recent {
                add(self.entries, &self.count[0], (at as u64) << 32 | u64::from(word));
            }
        }
    }
}

impl<R: KernelRecorder> Body for Apply<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let step = R::saturated(self.step);
        for at in grid.of_all(self.entries.len()) {
            let (number, word) = ((self.entries[at] >> 32) as usize, self.entries[at] as u32);
            if Packed::<R>::words(number + 1) <= self.recorders.len() {
                Packed::fetch_min(self.recorders, number, R::aged(R::saturated(word), step));
            }
        }
    }
}
