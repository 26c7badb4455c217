//! How a GPU counts: for each counter of srlg-core its kernels, and tallies out of what they leave.
//! On the CPU all counters work alike.

use srlg_core::counter::tagged::Histograms;
use srlg_core::counter::{RowsCounter, TaggedCounter, Tally};
use srlg_core::{COUNTER, Span};
use srlg_kernels::{TouchLines, TouchRows, Union};
use zerocopy::FromBytes;

use crate::error::Error;
use crate::gpu::arrays::DeviceCtx;
use crate::gpu::device::{Gpu, Part};
use crate::gpu::scheme::{GpuCounter, HostList, PairsAndWords};

/// `answer` as 32-bit values.
fn values(answer: &[u8]) -> &[u32] {
    <[u32]>::ref_from_bytes(answer).expect("answers are 32-bit values in aligned memory")
}

impl GpuCounter for TaggedCounter {
    fn answer_bytes(span: Span) -> usize {
        span.bins() * size_of::<u32>()
    }

    fn touch<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        &params: &Self::Params,
        (pairs, words): PairsAndWords<'_, G::Memory>,
        age: u32,
    ) -> Result<(), Error> {
        let (pairs, recorders) = (pairs.buffer(), words.buffer());
        ctx.start(queue, TouchLines { params, age, pairs, recorders })
    }

    fn start_tallies<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        &params: &Self::Params,
        (list, span, positions): (HostList<'_, G::Memory>, Span, u32),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let tally = srlg_kernels::Tally {
            params,
            span,
            positions,
            hosts: list.hosts.buffer(),
            count: list.count.buffer(),
            linear: ctx.recorders(COUNTER).buffer(),
            bins: answers.buffer(),
        };
        ctx.start(queue, tally)
    }

    fn tally(answer: &[u8], span: Span) -> Tally {
        Tally::Visible(Histograms::of_bins(span, values(answer)))
    }
}

impl GpuCounter for RowsCounter {
    fn answer_bytes(_: Span) -> usize {
        size_of::<u32>()
    }

    fn touch<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        &params: &Self::Params,
        (pairs, words): PairsAndWords<'_, G::Memory>,
        age: u32,
    ) -> Result<(), Error> {
        let (pairs, recorders) = (pairs.buffer(), words.buffer());
        ctx.start(queue, TouchRows { params, age, pairs, recorders })
    }

    fn start_tallies<G: Gpu>(
        ctx: DeviceCtx<'_, G>,
        queue: &G::Queue,
        &params: &Self::Params,
        (list, span, positions): (HostList<'_, G::Memory>, Span, u32),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let union = Union {
            params,
            span,
            positions,
            hosts: list.hosts.buffer(),
            count: list.count.buffer(),
            linear: ctx.recorders(COUNTER).buffer(),
            weights: answers.buffer(),
        };
        ctx.start(queue, union)
    }

    fn tally(answer: &[u8], _: Span) -> Tally {
        Tally::Union(values(answer)[0])
    }
}
