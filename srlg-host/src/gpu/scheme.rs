//! What a finder and a counter have to do on a GPU: start kernels, and read what these leave.

use std::net::IpAddr;
use std::ops::Range;

use srlg_core::counter::{Counter, Tally};
use srlg_core::finder::Finder;
use srlg_core::{Ages, Params, Recorder, SchemeTypes, Span};
use srlg_kernels::KernelRecorder;

use super::ctx::GpuCtx;
use super::device::{Gpu, Part};
use crate::error::Error;
use crate::finder::FinderHealth;
use crate::ingest::pairs::Family;
use crate::state::StateWord;

/// Bytes of pairs of one scan, which counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// A recorder that kernels, snapshots and deltas know.
pub(crate) trait GpuRecorder: KernelRecorder + Recorder<Word: StateWord> {}

impl<R: KernelRecorder + Recorder<Word: StateWord>> GpuRecorder for R {}

/// A scheme whose arrays a GPU can hold and search.
pub(crate) trait GpuScheme:
    SchemeTypes<Finder: Finder<Recorder: GpuRecorder>, Counter: GpuCounter> + Sized
{
    /// Starts updating the recorders of `pairs`, so many epochs ago.
    fn start_touches<G: Gpu>(
        ctx: GpuCtx<'_, G, Self>,
        pairs: FamilyPart<'_, G>,
        ages: Ages,
    ) -> Result<(), Error>;
}

/// Hosts in memory of a device: those of `hosts` that a list of `numbers` names, which has `count` of them.
pub(crate) struct List<'a, M> {
    /// Their ids.
    pub(crate) hosts: Part<'a, M>,
    /// Numbers of ids.
    pub(crate) numbers: Part<'a, M>,
    /// How many of the numbers there are, on the device alone.
    pub(crate) count: Part<'a, M>,
}

impl<M> Clone for List<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for List<'_, M> {}

/// Pairs of a family in memory of a device.
pub(crate) type FamilyPart<'a, G> = (Family, Part<'a, <G as Gpu>::Memory>);

/// Starts a scan of `pairs`.
pub(super) fn scan<G: Gpu, S: GpuScheme>(
    ctx: GpuCtx<'_, G, S>,
    (family, pairs): FamilyPart<'_, G>,
    ages: Ages,
) -> Result<(), Error> {
    // None for no pairs, whose memory may have no address.
    for at in (0..pairs.bytes).step_by(BYTES_PER_SCAN) {
        let bytes = BYTES_PER_SCAN.min(pairs.bytes - at);
        let pairs = (family, Part { start: pairs.start + at, bytes, ..pairs });
        S::start_touches(ctx, pairs, ages)?;
    }
    Ok(())
}

/// A search on a GPU that ends with candidates on the host.
pub(crate) trait GpuSearch<G: Gpu>: Sized + Send + Sync {
    /// Allocates what searches of a detector with `params` need.
    fn new(gpu: &G, params: &Params) -> Result<Self, Error>;

    /// Starts filling what does not change any more, `by` pinned memory.
    fn prepare<S>(&self, ctx: GpuCtx<'_, G, S>, by: &mut G::Pinned) -> Result<(), Error>;

    /// Returns the candidates over `span`, each once, and what they are worth.
    fn candidates<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<(Vec<IpAddr>, FinderHealth), Error>;
}

/// The counter's part of the work of a GPU.
pub(crate) trait GpuCounter: Counter<Recorder: GpuRecorder> {
    /// Bytes of what [`start_tallies`](Self::start_tallies) leaves for one host.
    fn answer_bytes(span: Span) -> usize;

    /// Starts looking at positions of the linear estimators of `hosts` over a span; `answers` are all 0.
    fn start_tallies<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        hosts: List<'_, G::Memory>,
        asked: (Span, &Range<u32>),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error>;

    /// Returns the tally in the answer for one host.
    fn answer(answer: &[u8], span: Span) -> Tally;
}
