//! [`RsraGpuSearch`]: from the recorders of an RSRA to candidate hosts, on a GPU.
//!
//! Masks, hot columns and regained hosts are started together; counts and hosts come back in one
//! copy.

use std::net::IpAddr;

use srlg_core::finder::regain::high_table_lens;
use srlg_core::{Address, FINDER, Params, Span};
use srlg_kernels::{Hot, Regain, Survey, filled};
use zerocopy::IntoBytes;

use super::FinderHealth;
use super::rsra::{HotCounts, high_table, hosts, rsra, search};
use super::rsra_counts::CountsLayout;
use crate::error::Error;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Memory, Pinned, values};
use crate::gpu::scheme::GpuSearch;

/// Memory of searches.
pub(crate) struct RsraGpuSearch<G: Gpu> {
    layout: CountsLayout,
    /// Counts and hosts, as the layout says.
    counts: G::Memory,
    counts_copy: G::Pinned,
    masks: G::Memory,
    columns: [G::Memory; 2],
    /// The arrays of a [`HighTable`](srlg_core::finder::regain::HighTable).
    table: [G::Memory; 3],
}

impl<G: Gpu> GpuSearch<G> for RsraGpuSearch<G> {
    fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let (rsra, layout) = (rsra(params), CountsLayout::new(params));
        let columns = || gpu.allocate(rsra.columns() as usize * size_of::<u32>());
        let [starts, highs, present] = high_table_lens(rsra).map(|len| len * size_of::<u32>());
        Ok(Self {
            counts: gpu.allocate(layout.hosts.end)?,
            counts_copy: gpu.pin(layout.eager().end)?,
            masks: gpu.allocate(rsra.estimators())?,
            columns: [columns()?, columns()?],
            table: [gpu.allocate(starts)?, gpu.allocate(highs)?, gpu.allocate(present)?],
            layout,
        })
    }

    fn prepare<S>(&self, ctx: GpuCtx<'_, G, S>, by: &mut G::Pinned) -> Result<(), Error> {
        let table = high_table(rsra(ctx.params));
        let mut pairs = table.iter().zip(&self.table);
        pairs.try_for_each(|(values, memory)| ctx.send(by, values.as_bytes(), memory.all()))
    }

    fn candidates<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<(Vec<IpAddr>, FinderHealth), Error> {
        let params = *rsra(ctx.params);
        ctx.clear(self.counts.part(0..self.layout.found.end))?;
        let rough = ctx.recorders(FINDER).buffer();
        let weights = self.counts.part(self.layout.weights.clone()).buffer();
        let masks = self.masks.all().buffer();
        ctx.start(Survey { params, span, rough, masks, weights })?;
        // At the usual weight before anybody knows whether the limits accept it: mostly they do.
        self.find(ctx, params.hot_weight())?;
        let mut listed = Some(self.fetch(ctx)?);
        let counts = HotCounts(self.counts_copy.read(|bytes| self.layout.hot_weights(bytes))?);
        let (found, health) = search(ctx.params, &counts, |weight| {
            let listed = match listed.take().filter(|_| weight == params.hot_weight()) {
                Some(listed) => listed,
                None => {
                    self.find(ctx, weight)?;
                    self.fetch(ctx)?
                }
            };
            self.all_hosts(ctx, listed)
        })?;
        Ok((hosts(found), health))
    }
}

impl<G: Gpu> RsraGpuSearch<G> {
    /// Starts a search at `weight`.
    fn find<S>(&self, ctx: GpuCtx<'_, G, S>, weight: u32) -> Result<(), Error> {
        let (counts, layout, params) = (&self.counts, &self.layout, *rsra(ctx.params));
        ctx.clear(counts.part(layout.hot[0].start..layout.found.end))?;
        let hot = layout.hot.clone().map(|hot| counts.part(hot));
        for ((row, columns), count) in (0..).zip(&self.columns).zip(hot) {
            let (masks, columns) = (self.masks.all().buffer(), columns.all().buffer());
            let count = count.buffer();
            ctx.start(Hot { params, row, weight, masks, columns, count })?;
        }
        let regain = Regain {
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
        };
        ctx.start(regain)
    }

    /// Waits for what a search listed: how many hosts, and the first of them.
    fn fetch<S>(&self, ctx: GpuCtx<'_, G, S>) -> Result<(u32, Vec<Address>), Error> {
        let layout = &self.layout;
        ctx.download(self.counts.part(layout.eager()), &self.counts_copy, 0)?;
        self.counts_copy.read(|bytes| {
            let count = values::<u32>(&bytes[layout.found.clone()])[0];
            let hosts = values(&bytes[layout.hosts.start..layout.eager().end]);
            (count, filled(hosts, count).to_vec())
        })
    }

    /// Returns all hosts that a search listed; `None` when there are more than the limit.
    fn all_hosts<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        (count, mut hosts): (u32, Vec<Address>),
    ) -> Result<Option<Vec<Address>>, Error> {
        if count > ctx.params.candidate_limit() {
            return Ok(None);
        }
        if hosts.len() < count as usize {
            let end = self.layout.hosts.start + count as usize * size_of::<u32>();
            let list = self.counts.part(self.layout.hosts.start..end);
            hosts.clear();
            ctx.fetch(list, &self.counts_copy, |bytes| hosts.extend(values(bytes)))?;
        }
        Ok(Some(hosts))
    }
}
