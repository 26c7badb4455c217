//! [`GpuClose`]: what a scheme does on a GPU at the end of a slice.

use std::net::IpAddr;

use srlg_core::{HostId, Params, Span};

use super::ctx::GpuCtx;
use super::device::Gpu;
use super::scheme::{GpuScheme, GpuSearch};
use super::trips::Trips;
use crate::backend::{Candidates, HostTallies, TallyVisitor, united};
use crate::error::Error;

/// Closes of a scheme on a GPU.
pub(crate) trait GpuClose<G: Gpu, S>: Sized + Send + Sync {
    /// Allocates what closes of a detector with `params` need.
    fn new(gpu: &G, params: &Params) -> Result<Self, Error>;

    /// Starts filling what does not change any more, `by` pinned memory.
    fn prepare(&mut self, ctx: GpuCtx<'_, G, S>, by: &mut G::Pinned) -> Result<(), Error>;

    /// See [`Backend::candidates`](crate::backend::Backend::candidates).
    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        trips: &mut Trips<G, S>,
        asked: (Span, &[IpAddr]),
    ) -> Result<Candidates, Error>;

    /// See [`Backend::tally`](crate::backend::Backend::tally).
    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        trips: &mut Trips<G, S>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error>;
}

/// A scheme that a GPU can close slices of.
pub(crate) trait Closed: GpuScheme + Sized {
    /// What closes them.
    type Close<G: Gpu>: GpuClose<G, Self>;
}

/// Closes by a search that brings its candidates to the host, which asks for all of them.
pub(crate) struct PlainClose<F>(F);

impl<G: Gpu, S: GpuScheme, F: GpuSearch<G>> GpuClose<G, S> for PlainClose<F> {
    fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        Ok(Self(GpuSearch::new(gpu, params)?))
    }

    fn prepare(&mut self, ctx: GpuCtx<'_, G, S>, by: &mut G::Pinned) -> Result<(), Error> {
        self.0.prepare(ctx, by)
    }

    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        trips: &mut Trips<G, S>,
        (span, kept): (Span, &[IpAddr]),
    ) -> Result<Candidates, Error> {
        // Counted while the search begins; brought back when it is over.
        trips.start_row_weights(ctx, span)?;
        let (hosts, health) = self.0.candidates(ctx, span)?;
        let hosts = united(hosts, kept);
        let row_weights = Some(trips.bring_row_weights(ctx)?);
        Ok(Candidates { span, count: hosts.len(), hosts, health, row_weights })
    }

    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        trips: &mut Trips<G, S>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error> {
        let Candidates { span, hosts, .. } = candidates;
        let ids: Vec<HostId> = hosts.iter().map(|&host| ctx.params.host_id(host)).collect();
        trips.all_regions(ctx, (&ids, *span), &|number, tallies| {
            visit(&HostTallies { host: hosts[number], tallies, words: None });
        })
    }
}
