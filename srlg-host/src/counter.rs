//! How a GPU counts: for each counter of srlg-core its kernels, and tallies out of what they leave.
//! On the CPU all counters work alike.

use std::ops::Range;

use srlg_core::counter::tagged::{Grouping, Histograms};
use srlg_core::counter::{Counter, RowsCounter, TaggedCounter, Tally};
use srlg_core::{COUNTER, Span};
use srlg_kernels::Union;

use crate::error::Error;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Part, values};
use crate::gpu::scheme::{GpuCounter, List};

impl GpuCounter for TaggedCounter {
    fn answer_bytes(span: Span) -> usize {
        Grouping::of_ages(span).bin_words() * size_of::<u32>()
    }

    fn start_tallies<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        list: List<'_, G::Memory>,
        (span, positions): (Span, &Range<u32>),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        start_bins(ctx, list, (0, positions), (Grouping::of_ages(span), answers))
    }

    fn answer(answer: &[u8], span: Span) -> Tally {
        Tally::Visible(Histograms::of_bins(span, values(answer)))
    }
}

/// Starts looking at `positions` of the linear estimators of the hosts of `list` from number `skip` on, of as many as there is
/// room for in `bins`, which are all 0 and are grouped by `grouping`.
pub(crate) fn start_bins<G: Gpu, S>(
    ctx: GpuCtx<'_, G, S>,
    list: List<'_, G::Memory>,
    (skip, positions): (u32, &Range<u32>),
    (grouping, bins): (Grouping, Part<'_, G::Memory>),
) -> Result<(), Error> {
    ctx.start(srlg_kernels::Tally {
        params: *TaggedCounter::params(ctx.params.counter()),
        grouping,
        first: positions.start,
        positions: positions.end - positions.start,
        skip,
        hosts: list.hosts.buffer(),
        numbers: list.numbers.buffer(),
        count: list.count.buffer(),
        linear: ctx.recorders(COUNTER).buffer(),
        bins: bins.buffer(),
    })
}

impl GpuCounter for RowsCounter {
    fn answer_bytes(_: Span) -> usize {
        size_of::<u32>()
    }

    fn start_tallies<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        list: List<'_, G::Memory>,
        (span, positions): (Span, &Range<u32>),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (params, linear) =
            (*Self::params(ctx.params.counter()), ctx.recorders(COUNTER).buffer());
        // There is one region, which is looked at whole.
        let (hosts, weights, positions) = (list.hosts.buffer(), answers.buffer(), positions.end);
        ctx.start(Union { params, span, positions, hosts, linear, weights })
    }

    fn answer(answer: &[u8], _: Span) -> Tally {
        Tally::Union(values::<u32>(answer)[0])
    }
}
