//! Scanning pairs.

use crate::{Body, Grid, Scan, ScanRows, Slices};
use srlg_core::{touch_lines, touch_rough, touch_rows};

impl Body for Scan<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_rough(&self.params, self.rough, self.pairs[at], self.ages.rough);
            touch_lines(&self.params, self.linear, self.pairs[at], self.ages.linear);
        }
    }
}

impl Body for ScanRows<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_rough(&self.params, self.rough, self.pairs[at], self.ages.rough);
            touch_rows(&self.params, self.linear, self.pairs[at], self.ages.linear);
        }
    }
}
