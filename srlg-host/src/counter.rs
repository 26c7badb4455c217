//! How a GPU counts: for each counter of srlg-core its kernels, and tallies out of what they leave.
//! On the CPU all counters work alike.

use std::ops::Range;

use srlg_core::counter::tagged::Histograms;
use srlg_core::counter::{Counter, RowsCounter, TaggedCounter, Tally};
use srlg_core::{COUNTER, Span};
use srlg_kernels::{TouchLines, TouchLines6, TouchRows, Union};

use crate::error::Error;
use crate::gpu::answers::values;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Part};
use crate::gpu::scheme::{FamilyPart, GpuCounter};
use crate::pairs::Family;

impl GpuCounter for TaggedCounter {
    fn start_touches<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        (family, pairs): FamilyPart<'_, G>,
        age: u32,
    ) -> Result<(), Error> {
        let (params, recorders) =
            (*Self::params(ctx.params.counter()), ctx.words(COUNTER).buffer());
        match family {
            Family::V4 => ctx.start(TouchLines { params, age, pairs: pairs.buffer(), recorders }),
            Family::V6 => ctx.start(TouchLines6 { params, age, pairs: pairs.buffer(), recorders }),
        }
    }

    fn answer_bytes(span: Span) -> usize {
        span.bin_words() * size_of::<u32>()
    }

    fn start_tallies<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        hosts: Part<'_, G::Memory>,
        (span, positions): (Span, &Range<u32>),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (params, linear) =
            (*Self::params(ctx.params.counter()), ctx.recorders(COUNTER).buffer());
        let (hosts, bins) = (hosts.buffer(), answers.buffer());
        let (first, positions) = (positions.start, positions.end - positions.start);
        ctx.start(srlg_kernels::Tally { params, span, first, positions, hosts, linear, bins })
    }

    fn answer(answer: &[u8], span: Span) -> Tally {
        Tally::Visible(Histograms::of_bins(span, values(answer)))
    }
}

impl GpuCounter for RowsCounter {
    fn start_touches<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        (_, pairs): FamilyPart<'_, G>,
        age: u32,
    ) -> Result<(), Error> {
        // Of IPv4: the paper's scheme takes no others.
        let (params, recorders) =
            (*Self::params(ctx.params.counter()), ctx.words(COUNTER).buffer());
        ctx.start(TouchRows { params, age, pairs: pairs.buffer(), recorders })
    }

    fn answer_bytes(_: Span) -> usize {
        size_of::<u32>()
    }

    fn start_tallies<G: Gpu, S>(
        ctx: GpuCtx<'_, G, S>,
        hosts: Part<'_, G::Memory>,
        (span, positions): (Span, &Range<u32>),
        answers: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (params, linear) =
            (*Self::params(ctx.params.counter()), ctx.recorders(COUNTER).buffer());
        // There is one region, which is looked at whole.
        let (hosts, weights, positions) = (hosts.buffer(), answers.buffer(), positions.end);
        ctx.start(Union { params, span, positions, hosts, linear, weights })
    }

    fn answer(answer: &[u8], _: Span) -> Tally {
        Tally::Union(values::<u32>(answer)[0])
    }
}
