//! [`HostLook`]: the steps from a list of hosts to the records of possible super points.
//!
//! All steps run on the device, without a copy to the host in between.
//!
//! The steps are the glimpse, the tally of the fine region, the selection of hosts that may reach the threshold, and
//! the records. The hosts that no glimpse dismissed are divided into *parts*, because the device has memory for a
//! limited number of fine regions. Records are copied in *turns*, alternately to two buffers. While the host reads one
//! turn, the device writes the next turn.

use std::net::IpAddr;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::counter::tagged::glimpse::STAGES;
use srlg_core::counter::tagged::{Grouping, Histograms};
use srlg_core::counter::{Counter, TaggedCounter, TaggedParams};
use srlg_core::finder::{CellsFinder, Finder};
use srlg_core::{FINDER, Span, Tally};
use srlg_kernels::{Glimpse, Reach, Record, Regroup};
use zerocopy::IntoBytes;

use super::cells::count_bytes;
use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, Part};
use super::questions::LIST_ROOM;
use super::records::{
    HostRecord, PART, Records, TOTALS_BYTES, Total, Totals, Turn, bin_bytes, record_bytes,
    record_parts, records_in,
};
use super::scheme::{List, start_bins};
use super::threads::share;
use crate::backend::{HostTallies, TallyVisitor};
use crate::error::Error;

const ENTRY_BYTES: usize = size_of::<u64>() + size_of::<u32>();

pub(super) struct LookMemory<G: Gpu> {
    /// All numbers below [`LIST_ROOM`].
    numbers: G::Memory,
    totals: G::Memory,
    /// Bins of glimpses, one stage after the other.
    glimpses: G::Memory,
    /// Indices of the hosts that no glimpse dismissed.
    left: G::Memory,
    /// Bins of the hosts in a part, by age. [`Regroup`] combines them into `groups`.
    bins: G::Memory,
    groups: G::Memory,
    /// Indices, within a part, of the hosts that may reach the threshold.
    reached: G::Memory,
    records: G::Memory,
    /// Buffers that alternately receive results: counts, records and listed hosts.
    pub(super) copies: [G::HostMemory; 2],
}

impl<G: Gpu> LookMemory<G> {
    /// Allocates the memory for all steps and starts writing its constant parts through the pinned memory `by`.
    pub(super) fn new(ctx: GpuCtx<'_, G>, by: &mut G::HostMemory) -> Result<Self, Error> {
        let (gpu, params) = (ctx.gpu, *TaggedCounter::params(ctx.params.counter()));
        let longest = Span::whole(params.echo_delay(), 1);
        // A window with fewer ages may have more groups.
        let groups = bin_bytes(Grouping::most_for_bound(longest));
        let numbers = |count: usize| gpu.allocate(count * size_of::<u32>());
        let answer = records_in(longest, PART).end + LIST_ROOM * ENTRY_BYTES;
        let copy = || gpu.pin(answer.max(count_bytes(ctx.params)));
        let memory = Self {
            numbers: numbers(LIST_ROOM)?,
            totals: gpu.allocate(TOTALS_BYTES)?,
            glimpses: gpu.allocate(STAGES * LIST_ROOM * groups)?,
            left: numbers(LIST_ROOM)?,
            bins: gpu.allocate(PART * bin_bytes(Grouping::of_ages(longest)))?,
            groups: gpu.allocate(PART * groups)?,
            reached: numbers(PART)?,
            records: gpu.allocate(record_bytes(longest, PART))?,
            copies: [copy()?, copy()?],
        };
        // The host may copy more records than the device wrote.
        ctx.clear(memory.records.all())?;
        let numbers: Vec<u32> = (0..LIST_ROOM as u32).collect();
        ctx.send(by, numbers.as_bytes(), memory.numbers.all())?;
        Ok(memory)
    }

    pub(super) fn total(&self, total: Total) -> Part<'_, G::Memory> {
        let at = total as usize * size_of::<u32>();
        self.totals.part(at..at + size_of::<u32>())
    }

    pub(super) fn totals(&self) -> Part<'_, G::Memory> {
        self.totals.all()
    }

    /// Returns the list of all hosts that the search found and stored in `hosts`.
    pub(super) fn listed<'a>(&'a self, hosts: Part<'a, G::Memory>) -> List<'a, G::Memory> {
        List { hosts, numbers: self.numbers.all(), count: self.total(Total::Listed), skip: 0 }
    }
}

pub(super) struct HostLook<'a, G: Gpu> {
    pub(super) ctx: GpuCtx<'a, G>,
    pub(super) memory: &'a LookMemory<G>,
    pub(super) list: List<'a, G::Memory>,
    pub(super) span: Span,
}

/// A host that has so many peers that its estimate needs all of its regions.
///
/// Its tally takes about 10 kB by default and is not stored, because all hosts of a list may be giants.
pub(super) struct Giant {
    pub(super) host: IpAddr,
    pub(super) words: Vec<u64>,
}

impl<G: Gpu> HostLook<'_, G> {
    fn params(&self) -> TaggedParams {
        *TaggedCounter::params(self.ctx.params.counter())
    }

    /// Starts all steps, and the copy of the records of `turn` to the first buffer.
    pub(super) fn start(&self, turn: Turn) -> Result<(), Error> {
        if let Some(stages) = self.ctx.params.glimpse_stages() {
            self.glimpse(stages)?;
        }
        self.part(turn.skip)?;
        self.bring(turn, 0)
    }

    /// Starts writing the records of `turn`, and copying them and the totals to buffer number `copy`.
    fn bring(&self, turn: Turn, copy: usize) -> Result<(), Error> {
        let copy = &self.memory.copies[copy];
        self.ctx.download(self.record(turn)?, copy, TOTALS_BYTES)?;
        self.ctx.download(self.memory.totals(), copy, 0)
    }

    /// Calls `visit` for the hosts that may be super points, except giants. Returns the giants.
    ///
    /// `hosts` are the hosts of the list. The copy of the records of `turn` to the first buffer must have been started.
    pub(super) fn finish(
        &self,
        hosts: &[IpAddr],
        mut turn: Turn,
        visit: &TallyVisitor<'_>,
    ) -> Result<Vec<Giant>, Error> {
        let (copies, giants) = (&self.memory.copies, Mutex::new(Vec::new()));
        for copy in [0, 1].into_iter().cycle() {
            let Totals { left, reached, .. } = copies[copy].read(Totals::new)?;
            let has_glimpses = self.ctx.params.glimpse_stages().is_some();
            let next = turn.next(if has_glimpses { left } else { hosts.len() }, reached);
            if let Some(next) = next {
                if next.skip > turn.skip {
                    self.part(next.skip)?;
                }
                self.bring(next, 1 - copy)?;
            }
            let count = turn.records.min(reached - turn.first);
            copies[copy].read(|bytes| {
                let records = Records::new(bytes, self.span, turn.records);
                share(count, |number| {
                    self.pass(hosts, &records.get(number), &giants, visit);
                });
            })?;
            match next {
                Some(next) => turn = next,
                None => break,
            }
        }
        Ok(giants.into_inner().expect("no thread panics while it holds the lock"))
    }

    fn pass(
        &self,
        hosts: &[IpAddr],
        record: &HostRecord<'_>,
        giants: &Mutex<Vec<Giant>>,
        visit: &TallyVisitor<'_>,
    ) {
        let (host, words) = (hosts[record.number], record.words);
        let tally = Tally::Visible(Histograms::of_bins(self.span, record.bins));
        if self.ctx.params.needs_coarse(&tally, self.span) {
            let giant = Giant { host, words: words.to_vec() };
            giants.lock().expect("no thread panics while it holds the lock").push(giant);
        } else {
            visit(&HostTallies { host, tallies: from_ref(&tally), words: Some(words) });
        }
    }

    /// Starts glimpses with the given `stages`.
    fn glimpse(&self, stages: [u32; STAGES]) -> Result<(), Error> {
        let Self { ctx, memory, list, span } = *self;
        let grouping = Grouping::for_bound(span);
        let hosts = list.numbers.bytes / size_of::<u32>();
        let each = hosts * bin_bytes(grouping);
        let bins = memory.glimpses.part(0..STAGES * each);
        ctx.clear(bins)?;
        ctx.clear(memory.total(Total::Left))?;
        let mut first = 0;
        for (stage, end) in stages.into_iter().enumerate() {
            // A short fine region has too few lines for all stages.
            if first < end {
                let bins = memory.glimpses.part(stage * each..(stage + 1) * each);
                start_bins(ctx, list, &(first..end), grouping, bins)?;
            }
            first = end;
        }
        ctx.start(Glimpse {
            params: self.params(),
            span,
            numbers: list.numbers.buffer(),
            count: list.count.buffer(),
            bins: bins.buffer(),
            left: memory.left.part(0..list.numbers.bytes).buffer(),
            left_count: memory.total(Total::Left).buffer(),
        })
    }

    /// Starts examining the fine regions of one part. `skip` is the number of hosts in earlier parts.
    fn part(&self, skip: usize) -> Result<(), Error> {
        let Self { ctx, memory, span, .. } = *self;
        let (left, bins) = (self.left(skip), self.bins());
        let groups = memory.groups.part(0..self.room() * bin_bytes(Grouping::for_bound(span)));
        ctx.clear(bins)?;
        ctx.clear(memory.total(Total::Reached))?;
        start_bins(ctx, left, &(0..self.params().width()), Grouping::of_ages(span), bins)?;
        ctx.start(Regroup {
            span,
            skip: left.skip,
            numbers: left.numbers.buffer(),
            count: left.count.buffer(),
            bins: bins.buffer(),
            groups: groups.buffer(),
        })?;
        ctx.start(Reach {
            params: self.params(),
            span,
            skip: left.skip,
            numbers: left.numbers.buffer(),
            count: left.count.buffer(),
            bins: groups.buffer(),
            reached: self.reached().buffer(),
            reached_count: memory.total(Total::Reached).buffer(),
        })
    }

    /// Starts writing the records of `turn`, and returns their memory. No other part may have been examined after the
    /// part of `turn`.
    fn record(&self, turn: Turn) -> Result<Part<'_, G::Memory>, Error> {
        let Self { ctx, memory, span, .. } = *self;
        let left = self.left(turn.skip);
        let [peers, tallies, recorded] =
            record_parts(span, turn.records).map(|part| memory.records.part(part));
        ctx.start(Record {
            params: *CellsFinder::params(ctx.params.finder()),
            span,
            skip: left.skip,
            first: turn.first as u32,
            hosts: left.hosts.buffer(),
            numbers: left.numbers.buffer(),
            reached: self.reached().buffer(),
            reached_count: memory.total(Total::Reached).buffer(),
            bins: self.bins().buffer(),
            cells: ctx.recorders(FINDER).buffer(),
            recorded: recorded.buffer(),
            peers: peers.buffer(),
            tallies: tallies.buffer(),
        })?;
        Ok(memory.records.part(0..record_bytes(span, turn.records)))
    }

    /// Returns the list of the hosts that no glimpse dismissed, without the first `skip` hosts. If there are no
    /// glimpses, no host is dismissed.
    fn left(&self, skip: usize) -> List<'_, G::Memory> {
        let list = List { skip: skip as u32, ..self.list };
        match self.ctx.params.glimpse_stages() {
            Some(_) => List {
                numbers: self.memory.left.part(0..list.numbers.bytes),
                count: self.memory.total(Total::Left),
                ..list
            },
            None => list,
        }
    }

    /// Returns the maximum number of hosts in a part.
    fn room(&self) -> usize {
        PART.min(self.list.numbers.bytes / size_of::<u32>())
    }

    fn bins(&self) -> Part<'_, G::Memory> {
        self.memory.bins.part(0..self.room() * bin_bytes(Grouping::of_ages(self.span)))
    }

    fn reached(&self) -> Part<'_, G::Memory> {
        self.memory.reached.part(0..self.room() * size_of::<u32>())
    }
}
