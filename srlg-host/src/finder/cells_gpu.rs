//! [`CellsGpuSearch`]: from cells to candidate hosts, on a GPU.
//!
//! The device counts cells by age and by owner. From the ages the host computes how many cells a candidate
//! has, and the device lists the cells whose owners may have so many.

use std::net::IpAddr;

use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{ArrayParams, FINDER, Params, Span};
use srlg_kernels::{CountCells, ListCells, TouchCells, TouchCells6};
use zerocopy::{FromBytes, Immutable};

use super::cells::{Counts, candidates};
use super::quality::Quality;
use crate::error::Error;
use crate::gpu::answers::values;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Memory, Part};
use crate::gpu::scheme::{FamilyPart, GpuFinder, GpuSearch};
use crate::pairs::Family;

/// Bytes that come back together.
const BYTES_PER_TRIP: usize = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// Memory of searches.
pub(crate) struct CellsGpuSearch<G: Gpu> {
    /// Cells of IPv4 hosts by age, then those of IPv6 hosts.
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
        (family, pairs): FamilyPart<'_, G>,
        age: u32,
    ) -> Result<(), Error> {
        let (params, recorders) =
            (*Self::params(ctx.params.finder()), ctx.recorders(FINDER).buffer());
        match family {
            Family::V4 => ctx.start(TouchCells { params, age, pairs: pairs.buffer(), recorders }),
            Family::V6 => ctx.start(TouchCells6 { params, age, pairs: pairs.buffer(), recorders }),
        }
    }
}

impl<G: Gpu> GpuSearch<G> for CellsGpuSearch<G> {
    fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let params = CellsFinder::params(params.finder());
        let (cells, ages) = (params.recorders(), params.most_ages() as usize);
        let counts = |count: usize| gpu.allocate(count * size_of::<u32>());
        Ok(Self {
            ages: counts(2 * ages)?,
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
    ) -> Result<(Vec<IpAddr>, Quality), Error> {
        let params = CellsFinder::params(ctx.params.finder());
        let mut ages = self.count(ctx, *params, span)?;
        let counts = Counts::new(params, &mut ages, span);
        let c_min = counts.histogram.c_min();
        let (mut owners, mut held) = (Vec::new(), Vec::new());
        for (place, word) in self.list(ctx, *params, (span, c_min))? {
            let owner = params.owner(place, word);
            owners.push(owner);
            if owner.is_fingerprint() {
                held.push((owner, place, word));
            }
        }
        Ok(candidates(params, (counts, c_min), &mut owners, &mut held))
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
        let ages = self.ages.part(0..2 * span.finder_ages as usize * size_of::<u32>());
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
