//! [`PaperClose`]: a close in the paper's scheme, which usually needs three round trips.
//!
//! The host receives the addresses of all candidates before it requests their tallies. The computations of masks, hot
//! columns and recovered hosts are started together. One copy transfers all counts and the first recovered hosts.

use std::net::IpAddr;
use std::ops::Range;

use srlg_core::finder::regain::high_table_lens;
use srlg_core::finder::{Finder, RsraFinder, RsraParams};
use srlg_core::{Address, FINDER, HostId, Params, Span};
use srlg_kernels::survey::WEIGHTS;
use srlg_kernels::{Hot, Regain, Survey, filled};
use zerocopy::IntoBytes;

use super::close::Close;
use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, values};
use super::questions::Questions;
use crate::backend::{Candidates, HostTallies, TallyVisitor, united};
use crate::error::Error;
use crate::finder::rsra::{HotCounts, high_table, hosts, search};

/// Maximum number of recovered hosts that are copied together with the counts. Without overload, a window has fewer
/// candidates.
const EAGER_HOSTS: usize = if cfg!(test) { 12 } else { 4096 };

pub(super) struct PaperClose<G: Gpu> {
    params: RsraParams,
    layout: CountsLayout,
    /// Counts and hosts, arranged as in `layout`.
    counts: G::Memory,
    counts_copy: G::HostMemory,
    masks: G::Memory,
    columns: [G::Memory; 2],
    /// The arrays of a [`HighTable`](srlg_core::finder::regain::HighTable).
    table: [G::Memory; 3],
}

struct RegainedHosts {
    count: u32,
    /// The first hosts.
    eager: Vec<Address>,
}

impl<G: Gpu> Close<G> for PaperClose<G> {
    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G>,
        questions: &mut Questions<G>,
        span: Span,
        kept: &[IpAddr],
        limit: u32,
    ) -> Result<Candidates, Error> {
        // The row weights are counted while the search starts, and are copied after it.
        questions.start_row_weights(ctx, span)?;
        self.survey(ctx, span)?;
        let usual = self.params.hot_weight();
        // The search starts before the host knows whether the limits accept the usual weight, because they usually do.
        self.start(ctx, usual)?;
        let mut regained = Some(self.finish(ctx)?);
        let counts = HotCounts(self.counts_copy.read(|bytes| self.layout.hot_weights(bytes))?);
        let (addresses, health) = search(ctx.params, &counts, |weight| {
            let regained = match regained.take().filter(|_| weight == usual) {
                Some(regained) => regained,
                None => {
                    self.start(ctx, weight)?;
                    self.finish(ctx)?
                }
            };
            self.all_hosts(ctx, regained, limit)
        })?;
        let hosts = united(hosts(addresses), kept);
        let row_weights = Some(questions.bring_row_weights(ctx)?);
        Ok(Candidates { span, count: hosts.len(), hosts, health, row_weights })
    }

    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G>,
        questions: &mut Questions<G>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error> {
        let Candidates { span, hosts, .. } = candidates;
        let ids: Vec<HostId> = hosts.iter().map(|&host| ctx.params.host_id(host)).collect();
        questions.all_regions(ctx, &ids, *span, &|number, tallies| {
            visit(&HostTallies { host: hosts[number], tallies, words: None });
        })
    }
}

impl<G: Gpu> PaperClose<G> {
    /// Allocates the memory for closes and starts writing the table through the pinned memory `by`.
    pub(super) fn new(ctx: GpuCtx<'_, G>, by: &mut G::HostMemory) -> Result<Self, Error> {
        let (gpu, layout) = (ctx.gpu, CountsLayout::new(ctx.params));
        let params = *RsraFinder::params(ctx.params.finder());
        let columns = || gpu.allocate(params.columns() as usize * size_of::<u32>());
        let [starts, highs, present] = high_table_lens(&params).map(|len| len * size_of::<u32>());
        let close = Self {
            params,
            counts: gpu.allocate(layout.hosts.end)?,
            counts_copy: gpu.pin(layout.eager().end)?,
            masks: gpu.allocate(params.estimators())?,
            columns: [columns()?, columns()?],
            table: [gpu.allocate(starts)?, gpu.allocate(highs)?, gpu.allocate(present)?],
            layout,
        };
        // The host may copy more hosts than the device found.
        ctx.clear(close.counts.all())?;
        for (values, memory) in high_table(&params).iter().zip(&close.table) {
            ctx.send(by, values.as_bytes(), memory.all())?;
        }
        Ok(close)
    }

    /// Starts computing the masks of all rough estimators over `span`, and the number of hot estimators of each weight.
    fn survey(&self, ctx: GpuCtx<'_, G>, span: Span) -> Result<(), Error> {
        ctx.clear(self.counts.part(0..self.layout.found.end))?;
        ctx.start(Survey {
            params: self.params,
            span,
            rough: ctx.recorders(FINDER).buffer(),
            masks: self.masks.all().buffer(),
            weights: self.counts.part(self.layout.weights.clone()).buffer(),
        })
    }

    /// Starts a search at `weight`.
    fn start(&self, ctx: GpuCtx<'_, G>, weight: u32) -> Result<(), Error> {
        let Self { params, ref layout, ref counts, .. } = *self;
        ctx.clear(counts.part(layout.hot[0].start..layout.found.end))?;
        let hot = layout.hot.clone().map(|hot| counts.part(hot));
        for ((row, columns), count) in (0..).zip(&self.columns).zip(hot) {
            let (masks, columns) = (self.masks.all().buffer(), columns.all().buffer());
            ctx.start(Hot { params, row, weight, masks, columns, count: count.buffer() })?;
        }
        ctx.start(Regain {
            params,
            weight,
            starts: self.table[0].all().buffer(),
            highs: self.table[1].all().buffer(),
            present: self.table[2].all().buffer(),
            masks: self.masks.all().buffer(),
            bases: self.columns[0].all().buffer(),
            base_count: hot[0].buffer(),
            partners: self.columns[1].all().buffer(),
            partner_count: hot[1].buffer(),
            hosts: counts.part(layout.hosts.clone()).buffer(),
            found: counts.part(layout.found.clone()).buffer(),
        })
    }

    fn finish(&self, ctx: GpuCtx<'_, G>) -> Result<RegainedHosts, Error> {
        let layout = &self.layout;
        ctx.download(self.counts.part(layout.eager()), &self.counts_copy, 0)?;
        self.counts_copy.read(|bytes| {
            let count = values::<u32>(&bytes[layout.found.clone()])[0];
            let eager = values(&bytes[layout.hosts.start..layout.eager().end]);
            RegainedHosts { count, eager: filled(eager, count).to_vec() }
        })
    }

    /// Returns all recovered hosts, or `None` if their number exceeds `limit`.
    fn all_hosts(
        &self,
        ctx: GpuCtx<'_, G>,
        regained: RegainedHosts,
        limit: u32,
    ) -> Result<Option<Vec<Address>>, Error> {
        let RegainedHosts { count, eager: mut hosts } = regained;
        if count > limit {
            return Ok(None);
        }
        if hosts.len() < count as usize {
            let end = self.layout.hosts.start + count as usize * size_of::<u32>();
            let list = self.counts.part(self.layout.hosts.start..end);
            hosts.clear();
            ctx.fetch_into(list, &self.counts_copy, &mut hosts)?;
        }
        Ok(Some(hosts))
    }
}

/// The layout of a search's counts and hosts in one buffer, so that one copy transfers all counts and the first hosts.
///
/// The fields are byte ranges. The 32-bit counts come before the list of hosts.
struct CountsLayout {
    /// For each row, the number of hot rough estimators of each weight.
    weights: Range<usize>,
    hot: [Range<usize>; 2],
    found: Range<usize>,
    hosts: Range<usize>,
}

impl CountsLayout {
    fn new(params: &Params) -> Self {
        let mut end = 0;
        let mut next = |values: usize| {
            let start = end;
            end += values * size_of::<u32>();
            start..end
        };
        let rows = RsraFinder::params(params.finder()).rows() as usize;
        Self {
            weights: next(rows * WEIGHTS),
            hot: [next(1), next(1)],
            found: next(1),
            hosts: next(params.candidate_limit() as usize),
        }
    }

    fn eager(&self) -> Range<usize> {
        0..self.hosts.end.min(self.hosts.start + EAGER_HOSTS * size_of::<u32>())
    }

    /// Reads `weights` from `bytes`, a copy of the counts.
    fn hot_weights(&self, bytes: &[u8]) -> Vec<[u32; WEIGHTS]> {
        values(&bytes[self.weights.clone()]).as_chunks().0.to_vec()
    }
}
