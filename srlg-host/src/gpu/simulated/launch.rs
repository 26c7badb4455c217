//! A launch: copies the memory of a kernel out, runs its threads, and copies back what they may
//! have changed.

use std::sync::atomic::{AtomicU8, AtomicU32};

use srlg_core::regain::HighTable;
use srlg_core::{Ages, IpPair, Params, Recorder, Recorder8, Recorder16, Span, Twin};
use srlg_kernels::{Grid, List, complete, filled, regain, scan, survey, tally};
use zerocopy::{FromBytes, IntoBytes};

use super::{Bytes, World};
use crate::gpu::device::{Memory, Part};
use crate::gpu::kernel::{Array, Kernel, Shape};

/// Where some bytes are: memory, first byte, length.
pub(super) type Place = (usize, usize, usize);

pub(super) type Run = Box<dyn FnOnce(&mut World) + Send>;

/// The launch, to be run when its turn comes.
pub(super) fn prepare(params: Params, shape: Shape, kernel: &Kernel<'_, Bytes>) -> Run {
    let launch = Launch { params, shape };
    match kernel {
        Kernel::Scan { ages, pairs, rough, linear } => {
            launch.scan(*ages, place(*pairs), all(rough), all(linear))
        }
        Kernel::Survey { span, rough, masks, weights } => {
            launch.survey(*span, all(rough), all(masks), place(*weights))
        }
        Kernel::Weigh { span, linear, weights } => {
            launch.weigh(*span, all(linear), place(*weights))
        }
        Kernel::Hot { row, weight, masks, columns, count } => {
            launch.hot((*row, *weight), all(masks), all(columns), place(*count))
        }
        Kernel::Regain { weight, table, masks, columns, counts, hosts, found } => launch.regain(
            *weight,
            (table.map(all), all(masks)),
            (columns.map(all), counts.map(place)),
            (place(*hosts), place(*found)),
        ),
        Kernel::Tally { span, positions, hosts, count, linear, bins } => {
            let asked = (*span, *positions);
            launch.tally(asked, (place(*hosts), place(*count)), all(linear), place(*bins))
        }
        Kernel::Union { span, hosts, count, linear, weights } => {
            launch.union(*span, (place(*hosts), place(*count)), all(linear), place(*weights))
        }
        Kernel::Age { array, recorders, step } => launch.age(*array, all(recorders), *step),
        Kernel::Merge { array, recorders, first, words, step } => {
            launch.merge(*array, all(recorders), (*first, place(*words)), *step)
        }
        Kernel::Extract { array, ages, recorders, recent, count } => {
            launch.extract(*array, *ages, all(recorders), (place(*recent), place(*count)))
        }
        Kernel::Apply { array, recorders, entries, step } => {
            launch.apply(*array, all(recorders), place(*entries), *step)
        }
    }
}

fn place(part: Part<'_, Bytes>) -> Place {
    (part.memory.id, part.start, part.bytes)
}

fn all(memory: &Bytes) -> Place {
    place(memory.all())
}

/// The values at a place.
pub(super) fn load<T: FromBytes>(world: &mut World, (id, start, bytes): Place) -> Vec<T> {
    let bytes = &world.bytes(id)[start..start + bytes];
    bytes.chunks_exact(size_of::<T>()).map(|value| T::read_from_bytes(value).unwrap()).collect()
}

/// Changes the values at a place.
pub(super) fn store<T: FromBytes + IntoBytes>(
    world: &mut World,
    (id, start, _): Place,
    mut values: Vec<T>,
) {
    let values = values.as_mut_slice().as_mut_bytes();
    world.bytes(id)[start..start + values.len()].copy_from_slice(values);
}

/// Whether the recorders of `array` have 8 bits.
pub(super) fn is_narrow(params: &Params, array: Array) -> bool {
    array.recorder_bytes(params) == 1
}

/// What every launch has.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub(super) params: Params,
    shape: Shape,
}

impl Launch {
    /// Calls `body` for every thread: in any order, and several at the same time.
    pub(super) fn run(self, world: &mut World, body: impl Fn(Grid) + Sync) {
        let Shape { blocks, lanes } = self.shape;
        let grid = |thread| Grid { block: thread / lanes, blocks, lane: thread % lanes, lanes };
        let mut threads: Vec<Grid> = (0..blocks * lanes).map(grid).collect();
        for last in (1..threads.len()).rev() {
            threads.swap(last, world.chance.below(last + 1));
        }
        let processors = 1 + world.chance.below(3);
        std::thread::scope(|scope| {
            for share in threads.chunks(threads.len().div_ceil(processors)) {
                scope.spawn(|| share.iter().for_each(|&grid| body(grid)));
            }
        });
    }

    fn scan(self, ages: Ages, pairs: Place, rough: Place, linear: Place) -> Run {
        if self.params.is_tagged() {
            return Box::new(move |world| {
                let pairs: Vec<IpPair> = load(world, pairs);
                let arrays: (Vec<Recorder8>, Vec<Twin>) = (load(world, rough), load(world, linear));
                let to = (&arrays.0[..], &arrays.1[..]);
                self.run(world, |grid| scan::scan(grid, &self.params, ages, &pairs, to));
                store(world, rough, arrays.0);
                store(world, linear, arrays.1);
            });
        }
        Box::new(move |world| {
            let pairs: Vec<IpPair> = load(world, pairs);
            let arrays: (Vec<Recorder16>, Vec<Recorder16>) =
                (load(world, rough), load(world, linear));
            let to = (&arrays.0[..], &arrays.1[..]);
            self.run(world, |grid| scan::scan_rows(grid, &self.params, ages, &pairs, to));
            store(world, rough, arrays.0);
            store(world, linear, arrays.1);
        })
    }

    fn survey(self, span: Span, rough: Place, masks: Place, weights: Place) -> Run {
        match is_narrow(&self.params, Array::Rough) {
            true => self.survey_of::<Recorder8>(span, rough, masks, weights),
            false => self.survey_of::<Recorder16>(span, rough, masks, weights),
        }
    }

    fn survey_of<R: Recorder + FromBytes>(
        self,
        span: Span,
        rough: Place,
        masks: Place,
        weights: Place,
    ) -> Run {
        Box::new(move |world| {
            let recorders: Vec<R> = load(world, rough);
            let counts: (Vec<AtomicU8>, Vec<AtomicU32>) =
                (load(world, masks), load(world, weights));
            let to = (&counts.0[..], &counts.1[..]);
            self.run(world, |grid| survey::survey(grid, &self.params, span, &recorders, to));
            store(world, masks, counts.0);
            store(world, weights, counts.1);
        })
    }

    fn weigh(self, span: Span, linear: Place, weights: Place) -> Run {
        Box::new(move |world| {
            let linear: Vec<Recorder16> = load(world, linear);
            let counts: Vec<AtomicU32> = load(world, weights);
            self.run(world, |grid| survey::weigh(grid, &self.params, span, &linear, &counts));
            store(world, weights, counts);
        })
    }

    fn hot(self, wanted: (u32, u32), masks: Place, columns: Place, count: Place) -> Run {
        Box::new(move |world| {
            let masks: Vec<u8> = load(world, masks);
            let (list, number): (Vec<AtomicU32>, Vec<AtomicU32>) =
                (load(world, columns), load(world, count));
            let to = List::new(&list, &number[0]);
            self.run(world, |grid| survey::hot(grid, &self.params, wanted, &masks, to));
            store(world, columns, list);
            store(world, count, number);
        })
    }

    fn regain(
        self,
        weight: u32,
        (table, masks): ([Place; 3], Place),
        (columns, counts): ([Place; 2], [Place; 2]),
        (hosts, found): (Place, Place),
    ) -> Run {
        Box::new(move |world| {
            let [starts, highs, present] = table.map(|place| load::<u32>(world, place));
            let table = HighTable::new(&self.params, &starts, &highs, &present);
            let masks: Vec<u8> = load(world, masks);
            let columns = columns.map(|place| load::<u32>(world, place));
            let counts = counts.map(|place| load::<u32>(world, place)[0]);
            let columns = [complete(&columns[0], counts[0]), complete(&columns[1], counts[1])];
            let (list, number): (Vec<AtomicU32>, Vec<AtomicU32>) =
                (load(world, hosts), load(world, found));
            let to = List::new(&list, &number[0]);
            self.run(world, |grid| {
                regain::regain(grid, &self.params, weight, (table, &masks), columns, to);
            });
            store(world, hosts, list);
            store(world, found, number);
        })
    }

    fn tally(
        self,
        asked: (Span, u32),
        (hosts, count): (Place, Place),
        linear: Place,
        bins: Place,
    ) -> Run {
        Box::new(move |world| {
            let (hosts, count): (Vec<u32>, Vec<u32>) = (load(world, hosts), load(world, count));
            let hosts = filled(&hosts, count[0]);
            let linear: Vec<Recorder16> = load(world, linear);
            let counts: Vec<AtomicU32> = load(world, bins);
            self.run(world, |grid| {
                tally::tally(grid, &self.params, asked, hosts, &linear, &counts);
            });
            store(world, bins, counts);
        })
    }

    fn union(
        self,
        span: Span,
        (hosts, count): (Place, Place),
        linear: Place,
        weights: Place,
    ) -> Run {
        Box::new(move |world| {
            let (hosts, count): (Vec<u32>, Vec<u32>) = (load(world, hosts), load(world, count));
            let hosts = filled(&hosts, count[0]);
            let linear: Vec<Recorder16> = load(world, linear);
            let counts: Vec<AtomicU32> = load(world, weights);
            self.run(world, |grid| tally::union(grid, &self.params, span, hosts, &linear, &counts));
            store(world, weights, counts);
        })
    }
}
