//! [`CellsGpuSearch`]: from cells to candidate hosts, on a GPU.
//!
//! The device counts cells by age and by owner. From the ages the host computes how many cells a candidate
//! has, and the device lists the cells whose owners may have so many.

use srlg_core::finder::cells::chance::AgeHistogram;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{Address, ArrayParams, FINDER, Params, Span};
use srlg_kernels::{CountCells, ListCells, TouchCells};
use zerocopy::{FromBytes, Immutable};

use super::cells::candidates;
use super::quality::Quality;
use crate::error::Error;
use crate::gpu::answers::values;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Memory, Part};
use crate::gpu::scheme::{GpuFinder, GpuSearch};

/// Bytes that come back together.
const BYTES_PER_TRIP: usize = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// Memory of searches.
pub(crate) struct CellsGpuSearch<G: Gpu> {
    /// Cells by age.
    ages: G::Memory,
    /// Cells by the counter of their owners.
    owners: G::Memory,
    /// The list of cells: their number, their own numbers, their words.
    count: G::Memory,
    places: G::Memory,
    words: G::Memory,
    copy: G::Pinned,
}

impl GpuFinder for CellsFinder {
    type Search<G: Gpu> = CellsGpuSearch<G>;

    fn start_touches<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        pairs: Part<'_, G::Memory>,
        age: u32,
    ) -> Result<(), Error> {
        let (params, recorders) =
            (*Self::params(ctx.params.finder()), ctx.recorders(FINDER).buffer());
        ctx.start(TouchCells { params, age, pairs: pairs.buffer(), recorders })
    }
}

impl<G: Gpu> GpuSearch<G> for CellsGpuSearch<G> {
    fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let params = CellsFinder::params(params.finder());
        let (cells, ages) = (params.recorders(), params.most_ages() as usize);
        let counts = |count: usize| gpu.allocate(count * size_of::<u32>());
        Ok(Self {
            ages: counts(ages)?,
            owners: counts(cells)?,
            count: counts(1)?,
            places: counts(cells)?,
            words: gpu.allocate(cells * size_of::<u64>())?,
            copy: gpu.pin(BYTES_PER_TRIP)?,
        })
    }

    fn prepare<S>(&self, _: GpuCtx<'_, G, S>, _: &mut G::Pinned) -> Result<(), Error> {
        Ok(()) // nothing stays the same
    }

    fn candidates<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<(Vec<Address>, Quality), Error> {
        let params = CellsFinder::params(ctx.params.finder());
        let ages = self.count(ctx, *params, span)?;
        let histogram = AgeHistogram::new(params, &ages, span);
        let c_min = histogram.c_min();
        let cells = self.list(ctx, *params, (span, c_min))?;
        let owner = |(place, word): (u32, u64)| params.owner(place, word);
        let mut owners: Vec<_> = cells.into_iter().map(owner).collect();
        Ok(candidates(params, (histogram, c_min), &mut owners))
    }
}

impl<G: Gpu> CellsGpuSearch<G> {
    /// Counts the cells of the window, by age and by owner. Returns the counts by age.
    fn count<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        params: CellsParams,
        span: Span,
    ) -> Result<Vec<u32>, Error> {
        let ages = self.ages.part(0..span.finder_ages as usize * size_of::<u32>());
        ctx.clear(ages)?;
        ctx.clear(self.owners.all())?;
        let cells = ctx.recorders(FINDER).buffer();
        let owners = self.owners.all().buffer();
        ctx.start(CountCells { params, cells, ages: ages.buffer(), owners })?;
        self.fetch(ctx, ages)
    }

    /// Lists the cells over the span whose owners may have so many; their numbers and words.
    fn list<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        params: CellsParams,
        (span, least): (Span, u32),
    ) -> Result<impl IntoIterator<Item = (u32, u64)>, Error> {
        ctx.clear(self.count.all())?;
        ctx.start(ListCells {
            params,
            ages: span.finder_ages,
            least,
            cells: ctx.recorders(FINDER).buffer(),
            owners: self.owners.all().buffer(),
            places: self.places.all().buffer(),
            words: self.words.all().buffer(),
            count: self.count.all().buffer(),
        })?;
        let count = self.fetch::<u32, S>(ctx, self.count.all())?[0] as usize;
        let places = self.fetch::<u32, S>(ctx, self.places.part(0..count * size_of::<u32>()))?;
        let words = self.fetch::<u64, S>(ctx, self.words.part(0..count * size_of::<u64>()))?;
        Ok(places.into_iter().zip(words))
    }

    /// Returns the values in `part`.
    fn fetch<T: FromBytes + Immutable + Copy, S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        part: Part<'_, G::Memory>,
    ) -> Result<Vec<T>, Error> {
        let mut fetched = Vec::with_capacity(part.bytes / size_of::<T>());
        ctx.fetch(part, &self.copy, |bytes| fetched.extend_from_slice(values::<T>(bytes)))?;
        Ok(fetched)
    }
}
