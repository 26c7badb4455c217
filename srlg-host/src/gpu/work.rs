//! [`Work`]: all that is asked of the recorders, one question at a time.

use srlg_core::Params;
use srlg_core::scheme::{PaperTypes, TaggedTypes};

use super::close::{Closed, GpuClose, PlainClose};
use super::ctx::GpuCtx;
use super::device::Gpu;
use super::tagged::TaggedClose;
use super::trips::Trips;
use crate::error::Error;
use crate::finder::RsraGpuSearch;

impl Closed for TaggedTypes {
    type Close<G: Gpu> = TaggedClose<G>;
}

impl Closed for PaperTypes {
    type Close<G: Gpu> = PlainClose<RsraGpuSearch<G>>;
}

/// What questions need: the memory of closes, and that of all others.
pub(super) struct Work<G: Gpu, S: Closed> {
    pub(super) close: S::Close<G>,
    pub(super) trips: Trips<G, S>,
}

impl<G: Gpu, S: Closed> Work<G, S> {
    /// Memory for questions.
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        Ok(Self { close: GpuClose::new(gpu, params)?, trips: Trips::new(gpu, params)? })
    }

    /// Fills what does not change any more.
    pub(super) fn prepare(&mut self, ctx: GpuCtx<'_, G, S>) -> Result<(), Error> {
        self.close.prepare(ctx, &mut self.trips.results_copy)
    }
}
