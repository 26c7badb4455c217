//! [`Looks`]: from hosts that the device has a list of to those that may be super points, and all that is to be known of
//! them, without a question in between.
//!
//! glimpse -> tally of the fine region -> those that may reach the threshold -> their records. As many hosts as there is room
//! for have their fine regions on the device at once: a *part* of those that the glimpses leave.

use srlg_core::counter::tagged::Grouping;
use srlg_core::counter::{Counter, TaggedCounter};
use srlg_core::finder::{CellsFinder, Finder};
use srlg_core::{FINDER, Params, Span};
use srlg_kernels::{Glimpse, Reach, Record, Regroup};
use zerocopy::IntoBytes;

use super::ctx::GpuCtx;
use super::device::{Gpu, Memory, Part};
use super::records::{PART, TOTALS_BYTES, Total, Turn, bytes, record_bytes, record_parts};
use super::scheme::List;
use super::trips::LIST_ROOM;
use crate::counter::start_bins;
use crate::error::Error;

/// Memory of looks.
pub(super) struct Looks<G: Gpu> {
    /// All numbers below [`LIST_ROOM`].
    numbers: G::Memory,
    totals: G::Memory,
    /// Bins of glimpses.
    glimpses: G::Memory,
    /// Numbers of hosts that the glimpses leave.
    left: G::Memory,
    /// Bins of a part, by age and in groups.
    bins: G::Memory,
    groups: G::Memory,
    /// Numbers in a part.
    reached: G::Memory,
    records: G::Memory,
}

/// The longest span of a detector with `params`.
pub(super) fn longest(params: &Params) -> Span {
    Span::whole(TaggedCounter::params(params.counter()).echo_delay(), 1)
}

impl<G: Gpu> Looks<G> {
    /// Memory for looks of a detector with `params`.
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let span = longest(params);
        // A window of fewer ages may have more groups.
        let groups = bytes(Grouping::most_for_bound(span));
        let numbers = |count: usize| gpu.allocate(count * size_of::<u32>());
        Ok(Self {
            numbers: numbers(LIST_ROOM)?,
            totals: gpu.allocate(TOTALS_BYTES)?,
            glimpses: gpu.allocate(LIST_ROOM * groups)?,
            left: numbers(LIST_ROOM)?,
            bins: gpu.allocate(PART * bytes(Grouping::of_ages(span)))?,
            groups: gpu.allocate(PART * groups)?,
            reached: numbers(PART)?,
            records: gpu.allocate(record_bytes(span, PART))?,
        })
    }

    /// Starts filling what does not change any more, `by` pinned memory, and records, of which more may be brought than were
    /// written.
    pub(super) fn prepare<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        by: &mut G::Pinned,
    ) -> Result<(), Error> {
        ctx.clear(self.records.all())?;
        let numbers: Vec<u32> = (0..LIST_ROOM as u32).collect();
        ctx.send(by, numbers.as_bytes(), self.numbers.all())
    }

    /// Starts setting all totals to 0.
    pub(super) fn clear<S>(&self, ctx: GpuCtx<'_, G, S>) -> Result<(), Error> {
        ctx.clear(self.totals.all())
    }

    /// One of the totals.
    pub(super) fn total(&self, total: Total) -> Part<'_, G::Memory> {
        let at = total as usize * size_of::<u32>();
        self.totals.part(at..at + size_of::<u32>())
    }

    /// All totals.
    pub(super) fn totals(&self) -> Part<'_, G::Memory> {
        self.totals.all()
    }

    /// The list of those of `hosts` that the search listed.
    pub(super) fn listed<'a>(&'a self, hosts: Part<'a, G::Memory>) -> List<'a, G::Memory> {
        List { hosts, numbers: self.numbers.all(), count: self.total(Total::Listed) }
    }

    /// Starts glimpses of the hosts of `list`, whose params have glimpses.
    pub(super) fn glimpse<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
        list: List<'_, G::Memory>,
        positions: u32,
    ) -> Result<(), Error> {
        let grouping = Grouping::for_bound(span);
        let hosts = list.numbers.bytes / size_of::<u32>();
        let bins = self.glimpses.part(0..hosts * bytes(grouping));
        ctx.clear(bins)?;
        ctx.clear(self.total(Total::Left))?;
        start_bins(ctx, list, (0, &(0..positions)), (grouping, bins))?;
        ctx.start(Glimpse {
            params: *TaggedCounter::params(ctx.params.counter()),
            span,
            numbers: list.numbers.buffer(),
            count: list.count.buffer(),
            bins: bins.buffer(),
            left: self.left.part(0..list.numbers.bytes).buffer(),
            left_count: self.total(Total::Left).buffer(),
        })
    }

    /// Those of `list` that the glimpses left; all of them where there were no glimpses.
    pub(super) fn left<'a>(
        &'a self,
        params: &Params,
        list: List<'a, G::Memory>,
    ) -> List<'a, G::Memory> {
        match params.glimpse_positions() {
            Some(_) => List {
                numbers: self.left.part(0..list.numbers.bytes),
                count: self.total(Total::Left),
                ..list
            },
            None => list,
        }
    }

    /// Starts looking at the fine regions of a part of the hosts `left`, which begins with number `skip`.
    pub(super) fn part<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
        left: List<'_, G::Memory>,
        skip: usize,
    ) -> Result<(), Error> {
        let (params, skip) = (*TaggedCounter::params(ctx.params.counter()), skip as u32);
        let (hosts, bins, reached) = self.of_part(span, left);
        let groups = self.groups.part(0..hosts * bytes(Grouping::for_bound(span)));
        let (numbers, count) = (|| left.numbers.buffer(), || left.count.buffer());
        ctx.clear(bins)?;
        ctx.clear(self.total(Total::Reached))?;
        let fine = 0..params.width();
        start_bins(ctx, left, (skip, &fine), (Grouping::of_ages(span), bins))?;
        ctx.start(Regroup {
            span,
            skip,
            numbers: numbers(),
            count: count(),
            bins: bins.buffer(),
            groups: groups.buffer(),
        })?;
        ctx.start(Reach {
            params,
            span,
            skip,
            numbers: numbers(),
            count: count(),
            bins: groups.buffer(),
            reached: reached.buffer(),
            reached_count: self.total(Total::Reached).buffer(),
        })
    }

    /// How many hosts a part of the hosts `left` has at most, their bins by age, and where the numbers of those go that may
    /// reach the threshold.
    fn of_part(
        &self,
        span: Span,
        left: List<'_, G::Memory>,
    ) -> (usize, Part<'_, G::Memory>, Part<'_, G::Memory>) {
        let hosts = PART.min(left.numbers.bytes / size_of::<u32>());
        let bins = self.bins.part(0..hosts * bytes(Grouping::of_ages(span)));
        (hosts, bins, self.reached.part(0..hosts * size_of::<u32>()))
    }

    /// Starts writing the records of `turn`, of the hosts `left` whose part was looked at last. Returns where they are.
    pub(super) fn record<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
        left: List<'_, G::Memory>,
        turn: Turn,
    ) -> Result<Part<'_, G::Memory>, Error> {
        let (_, bins, reached) = self.of_part(span, left);
        let [peers, tallies, recorded] =
            record_parts(span, turn.records).map(|part| self.records.part(part));
        ctx.start(Record {
            params: *CellsFinder::params(ctx.params.finder()),
            span,
            skip: turn.skip as u32,
            first: turn.first as u32,
            hosts: left.hosts.buffer(),
            numbers: left.numbers.buffer(),
            reached: reached.buffer(),
            reached_count: self.total(Total::Reached).buffer(),
            bins: bins.buffer(),
            cells: ctx.recorders(FINDER).buffer(),
            recorded: recorded.buffer(),
            peers: peers.buffer(),
            tallies: tallies.buffer(),
        })?;
        Ok(self.records.part(0..record_bytes(span, turn.records)))
    }
}
