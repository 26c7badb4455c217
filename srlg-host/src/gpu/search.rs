//! [`Search`]: from recorders to candidates, and their glimpses with them, in one round trip.
//!
//! A survey is asked for, then the candidates of the usual weight, then their glimpses: each
//! would be a trip to the device and back. All of it is started at once instead, for as many
//! candidates as the slice before had and some more. What was brought back and is then asked for
//! is there already; what is not there (after a leap in traffic, under overload) costs its own
//! trip.

use srlg_core::estimate::glimpse;
use srlg_core::regain::{high_table_lens, is_searchable};
use srlg_core::{Address, Params, Span, Tally};
use srlg_kernels as kernels;
use zerocopy::IntoBytes;

use super::answers::{host_bytes, most_host_bytes, share_out, tally};
use super::arrays::{Array, GpuCtx, by_width};
use super::device::{Gpu, Memory, Pinned};
use super::head::{Head, values};
use crate::backend::{Survey, high_table};
use crate::error::Error;

/// Hosts whose glimpses are taken ahead, at most: there are 2,400 candidates at 5 M distinct pairs.
const GLIMPSES: usize = if cfg!(test) { 8 } else { 4096 };

/// Memory of searches.
pub(super) struct Search<G: Gpu> {
    layout: Head,
    /// Counts and hosts, as [`Head`] says.
    head: G::Memory,
    head_copy: G::Pinned,
    masks: G::Memory,
    columns: [G::Memory; 2],
    table: [G::Memory; 3],
    glimpses: G::Memory,
    glimpse_copy: G::Pinned,
    /// Hosts whose glimpses the next survey takes ahead.
    ahead: usize,
    last: Option<Found>,
}

/// What the last search found.
struct Found {
    weight: u32,
    /// Hot columns in rows 0 and 1.
    hot: [u32; 2],
    /// Hosts, which may be more than `hosts`.
    found: u32,
    /// The first of them, as listed.
    hosts: Vec<Address>,
    glimpsed: Option<Glimpsed>,
}

/// Glimpses that were taken ahead.
struct Glimpsed {
    span: Span,
    positions: u32,
    /// Whose, and where they are, ascending.
    places: Vec<(Address, usize)>,
}

impl<G: Gpu> Search<G> {
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let layout = Head::new(params);
        let columns = || gpu.allocate(params.rough_columns() as usize * size_of::<u32>());
        let [starts, highs, present] = high_table_lens(params).map(|len| len * size_of::<u32>());
        Ok(Self {
            head: gpu.allocate(layout.bytes())?,
            head_copy: gpu.pin(layout.eager().end)?,
            masks: gpu.allocate(params.rough_estimators())?,
            columns: [columns()?, columns()?],
            table: [gpu.allocate(starts)?, gpu.allocate(highs)?, gpu.allocate(present)?],
            glimpses: gpu.allocate(GLIMPSES * most_host_bytes(params))?,
            glimpse_copy: gpu.pin(GLIMPSES * most_host_bytes(params))?,
            ahead: GLIMPSES.min(64),
            last: None,
            layout,
        })
    }

    /// Fills the inverse table, `by` pinned memory.
    pub(super) fn fill_table(
        &self,
        to: GpuCtx<'_, G>,
        queue: &G::Queue,
        by: &mut G::Pinned,
    ) -> Result<(), Error> {
        let table = high_table(to.params);
        let mut pairs = table.iter().zip(&self.table);
        pairs.try_for_each(|(values, memory)| to.send(queue, by, values.as_bytes(), memory))
    }

    /// Surveys both arrays, and takes ahead what will be asked for.
    pub(super) fn survey(
        &mut self,
        to: GpuCtx<'_, G>,
        queue: &G::Queue,
        span: Span,
    ) -> Result<Survey, Error> {
        let (head, layout, params) = (&self.head, &self.layout, *to.params);
        to.gpu.fill(queue, head.part(layout.counts()), 0)?;
        by_width!(Array::Rough, to.params, R => {
            let rough = to.recorders(Array::Rough).buffer();
            let weights = head.part(layout.rough.clone()).buffer();
            let masks = self.masks.all().buffer();
            to.start(queue, kernels::Survey::<_, R> { params, span, rough, masks, weights })
        })?;
        to.count(queue, span, head.part(layout.linear.clone()))?;
        let weight = to.params.hot_weight();
        self.find(to, queue, weight)?;
        let ahead = self.glimpse(to, queue, span)?;
        let mut found = self.fetch(to, queue, weight)?;
        let positions = glimpse::positions(to.params);
        found.glimpsed = Some(Glimpsed { span, positions, places: places(&found, ahead) });
        self.ahead = GLIMPSES.min(found.found as usize * 5 / 4 + 16);
        self.last = Some(found);
        self.head_copy.read(|bytes| self.layout.survey(bytes))
    }

    /// See [`Backend::regain`](crate::backend::Backend::regain).
    pub(super) fn regain(
        &mut self,
        to: GpuCtx<'_, G>,
        queue: &G::Queue,
        weight: u32,
        limit: u32,
    ) -> Result<Option<Vec<Address>>, Error> {
        let found = match self.last.take() {
            Some(found) if found.weight == weight => found,
            _ => {
                self.find(to, queue, weight)?;
                self.fetch(to, queue, weight)?
            }
        };
        let found = self.last.insert(found);
        let room = limit.min(to.params.candidate_limit());
        if found.found > room || !is_searchable(to.params, found.hot) {
            return Ok(None);
        }
        let mut hosts = found.hosts.clone();
        if hosts.len() < found.found as usize {
            let end = self.layout.hosts.start + found.found as usize * size_of::<u32>();
            let list = self.head.part(self.layout.hosts.start..end);
            hosts.clear();
            to.fetch(queue, list, &self.head_copy, |bytes| hosts.extend(values(bytes)))?;
        }
        hosts.sort_unstable();
        Ok(Some(hosts))
    }

    /// Hands `each` the glimpses of `hosts` that were taken ahead; whether they all were.
    pub(super) fn glimpses(
        &self,
        threads: usize,
        hosts: &[Address],
        span: Span,
        positions: u32,
        each: &(dyn Fn(usize, &Tally) + Sync),
    ) -> Result<bool, Error> {
        let Some(Found { glimpsed, .. }) = &self.last else { return Ok(false) };
        let Some(Glimpsed { span: of, positions: these, places }) = glimpsed else {
            return Ok(false);
        };
        let place = |host| places.binary_search_by_key(host, |&(host, _)| host).ok();
        let wanted: Option<Vec<usize>> =
            hosts.iter().map(|host| Some(places[place(host)?].1)).collect();
        let Some(wanted) = wanted.filter(|_| (*of, *these) == (span, positions)) else {
            return Ok(false);
        };
        self.glimpse_copy.read(|bytes| {
            share_out(threads, wanted.len(), |number| {
                let start = wanted[number] * host_bytes(span);
                each(number, &tally(&bytes[start..][..host_bytes(span)], span));
            });
        })?;
        Ok(true)
    }

    /// Starts a search at `weight`.
    fn find(&self, to: GpuCtx<'_, G>, queue: &G::Queue, weight: u32) -> Result<(), Error> {
        let (head, layout, params) = (&self.head, &self.layout, *to.params);
        to.gpu.fill(queue, head.part(layout.of_search()), 0)?;
        let counts = layout.hot.clone().map(|hot| head.part(hot));
        for ((row, columns), count) in (0..).zip(&self.columns).zip(counts) {
            let (masks, columns) = (self.masks.all().buffer(), columns.all().buffer());
            let count = count.buffer();
            to.start(queue, kernels::Hot { params, row, weight, masks, columns, count })?;
        }
        let regain = kernels::Regain {
            params,
            weight,
            starts: self.table[0].all().buffer(),
            highs: self.table[1].all().buffer(),
            present: self.table[2].all().buffer(),
            masks: self.masks.all().buffer(),
            bases: self.columns[0].all().buffer(),
            base_count: counts[0].buffer(),
            partners: self.columns[1].all().buffer(),
            partner_count: counts[1].buffer(),
            hosts: head.part(layout.hosts.clone()).buffer(),
            found: head.part(layout.found.clone()).buffer(),
        };
        to.start(queue, regain)
    }

    /// Starts the glimpses of the first hosts that a search found, where glimpses tell; of how
    /// many.
    fn glimpse(&self, to: GpuCtx<'_, G>, queue: &G::Queue, span: Span) -> Result<usize, Error> {
        if !to.params.is_tagged() || !glimpse::can_dismiss(to.params) {
            return Ok(0);
        }
        let ahead = self.ahead.min(to.params.candidate_limit() as usize);
        let (head, bins) = (&self.head, self.glimpses.part(0..ahead * host_bytes(span)));
        let hosts = self.layout.hosts.start;
        to.gpu.fill(queue, bins, 0)?;
        let glimpse = kernels::Tally {
            params: *to.params,
            span,
            positions: glimpse::positions(to.params),
            hosts: head.part(hosts..hosts + ahead * size_of::<u32>()).buffer(),
            count: head.part(self.layout.found.clone()).buffer(),
            linear: to.recorders(Array::Linear).buffer(),
            bins: bins.buffer(),
        };
        to.start(queue, glimpse)?;
        to.gpu.download(queue, bins, &self.glimpse_copy)?;
        Ok(ahead)
    }

    /// Waits for what a search found.
    fn fetch(&self, to: GpuCtx<'_, G>, queue: &G::Queue, weight: u32) -> Result<Found, Error> {
        let layout = &self.layout;
        to.gpu.download(queue, self.head.part(layout.eager()), &self.head_copy)?;
        self.head_copy.read(|bytes| {
            let count = |range: &std::ops::Range<usize>| values(&bytes[range.clone()])[0];
            let found = count(&layout.found);
            let mut hosts = values(&bytes[layout.hosts.start..layout.eager().end]);
            hosts.truncate(found as usize);
            let hot = layout.hot.each_ref().map(count);
            Found { weight, hot, found, hosts, glimpsed: None }
        })
    }
}

/// The hosts among the first `ahead` of a list, with their places in it, ascending.
fn places(found: &Found, ahead: usize) -> Vec<(Address, usize)> {
    let mut places: Vec<_> = found.hosts.iter().copied().take(ahead).zip(0..).collect();
    places.sort_unstable();
    places
}
