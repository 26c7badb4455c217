//! Scanning pairs: each finder and each counter by itself.

use crate::{
    Body, Grid, Slices, TouchCells, TouchCells6, TouchLines, TouchLines6, TouchRows, TouchRsra,
};
use srlg_core::counter::rows::touch_rows;
use srlg_core::counter::tagged::touch_lines;
use srlg_core::finder::cells::touch_cells;
use srlg_core::finder::touch_rsra;

impl Body for TouchCells<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_cells(&self.params, self.recorders, &self.pairs[at], self.age);
        }
    }
}

impl Body for TouchCells6<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            let pair = self.params.ids(self.pairs[at]);
            touch_cells(&self.params, self.recorders, &pair, self.age);
        }
    }
}

impl Body for TouchRsra<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_rsra(&self.params, self.recorders, &self.pairs[at], self.age);
        }
    }
}

impl Body for TouchLines<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_lines(&self.params, self.recorders, &self.pairs[at], self.age);
        }
    }
}

impl Body for TouchLines6<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            let pair = self.params.ids(self.pairs[at]);
            touch_lines(&self.params, self.recorders, &pair, self.age);
        }
    }
}

impl Body for TouchRows<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        for at in grid.of_all(self.pairs.len()) {
            touch_rows(&self.params, self.recorders, &self.pairs[at], self.age);
        }
    }
}
