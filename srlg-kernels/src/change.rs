//! The kernels that age an array, merge words into it, or list and copy its recorders.

use core::sync::atomic::Ordering::Relaxed;

use crate::list::next;
use crate::{Age, Apply, Body, Extract, Gather, Grid, KernelRecorder, Merge, Slices};
use srlg_core::RecentRange;

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
            R::fetch_min_at(self.recorders, self.first as usize + at, word);
        }
    }
}

impl<R: KernelRecorder> Body for Extract<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let range = RecentRange { recent: self.recent, echo: self.echo }.of_width();
        for at in grid.of_all(self.recorders.len()) {
            if range.holds(self.recorders, at)
                && let Some(entry) = next(self.places.len(), &self.count[0])
            {
                self.places[entry].store(at as u32, Relaxed);
                self.words[entry].set(self.recorders[at].word());
            }
        }
    }
}

impl<R: KernelRecorder> Body for Apply<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let step = R::saturated(self.step);
        for at in grid.of_all(self.places.len()) {
            let place = self.places[at] as usize;
            if R::swapped(place + 1) <= self.recorders.len() {
                R::fetch_min_at(self.recorders, place, R::aged(self.words[at], step));
            }
        }
    }
}

impl<R: KernelRecorder> Body for Gather<Slices<'_>, R> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.places.len()) {
            self.words[at].set(self.recorders[self.places[at] as usize].word());
        }
    }
}
