//! The kernels of each scheme, and their results.
//!
//! Apart from the choice of a [`Close`](super::close::Close), only this file of the GPU backend distinguishes schemes.

use std::ops::Range;

use srlg_core::counter::tagged::{Grouping, Histograms};
use srlg_core::counter::{Counter, CounterPart, TaggedCounter, Tally};
use srlg_core::finder::{CellsFinder, Finder, RsraFinder};
use srlg_core::{Ages, COUNTER, FINDER, Span};
use srlg_kernels::{Count, Touch, Touch6, TouchPaper, Union};

use super::ctx::GpuCtx;
use super::device::{Gpu, Part, values};
use crate::error::Error;
use crate::ingest::pairs::Family;

/// A list of hosts in the memory of a device. It starts at entry number `skip` of `numbers`.
pub(super) struct List<'a, M> {
    pub(super) hosts: Part<'a, M>,
    /// Entries of the list, which are indices into `hosts`.
    pub(super) numbers: Part<'a, M>,
    /// Number of entries, in device memory because the device may compute it.
    pub(super) count: Part<'a, M>,
    pub(super) skip: u32,
}

impl<M> Clone for List<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for List<'_, M> {}

/// Evaluates `$work`, in which `$Recorder` is the recorder type of array number `$array`.
macro_rules! for_array {
    ($params:expr, $array:expr, $Recorder:ident => $work:expr) => {
        srlg_core::for_scheme!($params, Scheme => match $array {
            srlg_core::FINDER => {
                type $Recorder = srlg_core::scheme::FinderRecorder<Scheme>;
                $work
            }
            srlg_core::COUNTER => {
                type $Recorder = srlg_core::scheme::CounterRecorder<Scheme>;
                $work
            }
            other => panic!("there is no array {other}"),
        })
    };
}
pub(super) use for_array;

pub(super) fn start_touches<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    family: Family,
    pairs: Part<'_, G::Memory>,
    ages: Ages,
) -> Result<(), Error> {
    match *ctx.params.counter() {
        CounterPart::Tagged(counter) => {
            let finder = *CellsFinder::params(ctx.params.finder());
            let Ages { finder: cells_age, counter: lines_age } = ages;
            let (cells, lines) = (ctx.recorders(FINDER).buffer(), ctx.words(COUNTER).buffer());
            match family {
                Family::V4 => {
                    let pairs = pairs.buffer();
                    ctx.start(Touch { finder, counter, cells_age, lines_age, pairs, cells, lines })
                }
                Family::V6 => {
                    let pairs = pairs.buffer();
                    ctx.start(Touch6 { finder, counter, cells_age, lines_age, pairs, cells, lines })
                }
            }
        }
        CounterPart::Rows(counter) => {
            assert_eq!(family, Family::V4, "the paper's scheme accepts only IPv4 pairs");
            assert_eq!(
                ages.finder, ages.counter,
                "the paper's scheme has the same age in both arrays"
            );
            ctx.start(TouchPaper {
                finder: *RsraFinder::params(ctx.params.finder()),
                counter,
                age: ages.finder,
                pairs: pairs.buffer(),
                rough: ctx.words(FINDER).buffer(),
                linear: ctx.words(COUNTER).buffer(),
            })
        }
    }
}

/// Returns the size of the result of [`start_tallies`] for one host, in bytes.
pub(super) fn answer_bytes(counter: &CounterPart, span: Span) -> usize {
    match counter {
        CounterPart::Tagged(_) => Grouping::of_ages(span).bin_words() * size_of::<u32>(),
        CounterPart::Rows(_) => size_of::<u32>(),
    }
}

/// Starts counting, for each host of `list`, the `positions` of its linear estimator over `span`.
///
/// The results are written to `answers`, which must be all zeros.
pub(super) fn start_tallies<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    list: List<'_, G::Memory>,
    span: Span,
    positions: &Range<u32>,
    answers: Part<'_, G::Memory>,
) -> Result<(), Error> {
    match *ctx.params.counter() {
        CounterPart::Tagged(_) => {
            start_bins(ctx, list, positions, Grouping::of_ages(span), answers)
        }
        CounterPart::Rows(params) => ctx.start(Union {
            params,
            span,
            // There is one region, which is counted as a whole.
            positions: positions.end,
            hosts: list.hosts.buffer(),
            linear: ctx.recorders(COUNTER).buffer(),
            weights: answers.buffer(),
        }),
    }
}

/// Starts counting, for each host of `list`, the `positions` of its linear estimator in the tagged counter.
///
/// The results are grouped by `grouping` and written to `bins`, which must be all zeros. The length of `bins` limits
/// the number of hosts.
pub(super) fn start_bins<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    list: List<'_, G::Memory>,
    positions: &Range<u32>,
    grouping: Grouping,
    bins: Part<'_, G::Memory>,
) -> Result<(), Error> {
    ctx.start(srlg_kernels::Tally {
        params: *TaggedCounter::params(ctx.params.counter()),
        grouping,
        first: positions.start,
        positions: positions.end - positions.start,
        skip: list.skip,
        hosts: list.hosts.buffer(),
        numbers: list.numbers.buffer(),
        count: list.count.buffer(),
        linear: ctx.recorders(COUNTER).buffer(),
        bins: bins.buffer(),
    })
}

/// Returns the tally in `answer`, the result of [`start_tallies`] for one host.
pub(super) fn tally(counter: &CounterPart, answer: &[u8], span: Span) -> Tally {
    match counter {
        CounterPart::Tagged(_) => Tally::Visible(Histograms::of_bins(span, values(answer))),
        CounterPart::Rows(_) => Tally::Union(values::<u32>(answer)[0]),
    }
}

/// Starts counting the recorders within `span` in each row of the counter.
pub(super) fn start_count<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    span: Span,
    sums: Part<'_, G::Memory>,
) -> Result<(), Error> {
    ctx.clear(sums)?;
    let row_len = ctx.params.counter_sizes().row_len;
    let limit = ctx.params.recent_ranges(span)[COUNTER].of_width().recent;
    let sums = sums.buffer();
    for_array!(ctx.params, COUNTER, R => {
        let recorders = ctx.recorders(COUNTER).buffer();
        ctx.start(Count::<_, R> { row_len, limit, recorders, sums })
    })
}
