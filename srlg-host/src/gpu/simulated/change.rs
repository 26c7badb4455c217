//! Launches that change the recorders of one array, or list them.

use std::sync::atomic::{AtomicU32, AtomicU64};

use srlg_core::{Recorder, Recorder8, Recorder16};
use srlg_kernels::{Grid, List, change};
use zerocopy::{FromBytes, IntoBytes};

use super::launch::{Launch, Place, Run, is_narrow, load, store};
use crate::gpu::kernel::Array;

impl Launch {
    pub(super) fn age(self, array: Array, recorders: Place, step: u32) -> Run {
        match is_narrow(&self.params, array) {
            true => self.change::<Recorder8>(recorders, move |grid, r| change::age(grid, r, step)),
            false => {
                self.change::<Recorder16>(recorders, move |grid, r| change::age(grid, r, step))
            }
        }
    }

    pub(super) fn merge(
        self,
        array: Array,
        recorders: Place,
        (first, words): (u32, Place),
        step: u32,
    ) -> Run {
        Box::new(move |world| {
            let words: Vec<u16> = load(world, words);
            let run = match is_narrow(&self.params, array) {
                true => self.change::<Recorder8>(recorders, move |grid, r| {
                    change::merge(grid, r, first, &words, step);
                }),
                false => self.change::<Recorder16>(recorders, move |grid, r| {
                    change::merge(grid, r, first, &words, step);
                }),
            };
            run(world);
        })
    }

    pub(super) fn extract(
        self,
        array: Array,
        ages: u32,
        recorders: Place,
        to: (Place, Place),
    ) -> Run {
        let params = self.params;
        match array {
            Array::Linear => self.extract_of::<Recorder16>(recorders, to, move |word| {
                params.is_recent(word as u16, ages)
            }),
            _ if is_narrow(&params, array) => {
                self.extract_of::<Recorder8>(recorders, to, move |word| word < ages)
            }
            _ => self.extract_of::<Recorder16>(recorders, to, move |word| word < ages),
        }
    }

    fn extract_of<R: Recorder + FromBytes>(
        self,
        recorders: Place,
        (recent, count): (Place, Place),
        is_recent: impl Fn(u32) -> bool + Copy + Send + Sync + 'static,
    ) -> Run {
        Box::new(move |world| {
            let recorders: Vec<R> = load(world, recorders);
            let (list, number): (Vec<AtomicU64>, Vec<AtomicU32>) =
                (load(world, recent), load(world, count));
            let to = List::new(&list, &number[0]);
            self.run(world, |grid| change::extract(grid, &recorders, is_recent, to));
            store(world, recent, list);
            store(world, count, number);
        })
    }

    pub(super) fn apply(self, array: Array, recorders: Place, entries: Place, step: u32) -> Run {
        Box::new(move |world| {
            let entries: Vec<u64> = load(world, entries);
            let run = match is_narrow(&self.params, array) {
                true => self.change::<Recorder8>(recorders, move |grid, r| {
                    change::apply(grid, r, &entries, step);
                }),
                false => self.change::<Recorder16>(recorders, move |grid, r| {
                    change::apply(grid, r, &entries, step);
                }),
            };
            run(world);
        })
    }

    /// Runs a kernel that changes the recorders of one array.
    fn change<R: Recorder + FromBytes + IntoBytes>(
        self,
        recorders: Place,
        body: impl Fn(Grid, &[R]) + Send + Sync + 'static,
    ) -> Run {
        Box::new(move |world| {
            let all: Vec<R> = load(world, recorders);
            self.run(world, |grid| body(grid, &all));
            store(world, recorders, all);
        })
    }
}
