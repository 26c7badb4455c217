//! [`CellsGpuSearch`]: from cells to candidate hosts, on a GPU.
//!
//! The device counts cells by age and by owner. From the ages the host computes how many cells a candidate
//! has, and the device lists the IPv4 hosts that hold so many, and the cells that IPv6 hosts hold: these the host
//! spells.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use srlg_core::finder::cells::Owner;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{ArrayParams, FINDER, HostId, Params, Span};
use srlg_kernels::cells::{KEPT, KeptHost};
use srlg_kernels::{CountCells, ListHeld, ListHolders, ListKept, owners};
use zerocopy::IntoBytes;

use super::cells::{Counts, Held, Selection, candidates, least_v6};
use crate::error::Error;
use crate::gpu::ctx::GpuCtx;
use crate::gpu::device::{Gpu, Memory, Part, Pinned};

/// Memory of searches.
pub(crate) struct CellsGpuSearch<G: Gpu> {
    /// Cells of IPv4 hosts by age, then those of IPv6 hosts, and behind them whatever else is counted.
    ages: G::Memory,
    /// The table of owners.
    keys: G::Memory,
    counts: G::Memory,
    /// The list of IPv4 hosts, and of kept ones: who each is, how many cells each holds, their ids.
    entries: G::Memory,
    holds: G::Memory,
    hosts: G::Memory,
    /// The list of cells of IPv6 hosts: their numbers, their words.
    places: G::Memory,
    words: G::Memory,
    /// Hosts that are candidates in any case.
    kept: G::Memory,
    kept_copy: G::Pinned,
}

impl<G: Gpu> CellsGpuSearch<G> {
    /// Memory for searches of a detector with `params`, which list the ids of up to `room` hosts, with `more` bytes behind
    /// the counts by age.
    pub(crate) fn new(
        gpu: &G,
        params: &Params,
        (room, more): (usize, usize),
    ) -> Result<Self, Error> {
        let params = CellsFinder::params(params.finder());
        let (cells, table) = (params.recorders(), owners::entries(params));
        let counts = |count: usize| gpu.allocate(count * size_of::<u32>());
        let words = |count: usize| gpu.allocate(count * size_of::<u64>());
        Ok(Self {
            ages: gpu.allocate(2 * params.most_ages() as usize * size_of::<u32>() + more)?,
            keys: words(table)?,
            counts: counts(table)?,
            entries: words(cells + room)?,
            holds: counts(cells + room)?,
            hosts: gpu.allocate(room * size_of::<HostId>())?,
            places: counts(cells)?,
            words: words(cells)?,
            kept: gpu.allocate(room * size_of::<KeptHost>())?,
            kept_copy: gpu.pin(room * size_of::<KeptHost>())?,
        })
    }

    /// Starts filling the list of hosts, of which more may be brought than were written.
    pub(crate) fn prepare<S>(&self, ctx: GpuCtx<'_, G, S>) -> Result<(), Error> {
        ctx.clear(self.entries.all())?;
        ctx.clear(self.holds.all())
    }

    /// Starts counting the cells of the window, by age and by owner. Returns where the counts by age are, and `more` bytes
    /// behind them.
    pub(crate) fn count<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
        more: usize,
    ) -> Result<[Part<'_, G::Memory>; 2], Error> {
        let params = *CellsFinder::params(ctx.params.finder());
        let end = 2 * span.finder_ages as usize * size_of::<u32>();
        let ages = self.ages.part(0..end);
        ctx.clear(ages)?;
        ctx.clear(self.keys.all())?;
        ctx.clear(self.counts.all())?;
        ctx.start(CountCells {
            params,
            cells: ctx.recorders(FINDER).buffer(),
            ages: ages.buffer(),
            keys: self.keys.all().buffer(),
            counts: self.counts.all().buffer(),
        })?;
        Ok([ages, self.ages.part(end..end + more)])
    }

    /// Starts listing the IPv4 hosts that hold at least `c_min` cells, and those of `kept` that are not among them.
    /// `count`, which is 0, becomes how many are listed.
    pub(crate) fn list<S>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        (c_min, kept): (u32, &[IpAddr]),
        count: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let params = *CellsFinder::params(ctx.params.finder());
        if !kept.is_empty() {
            let named = kept.iter().map(|&host| {
                let key = match host.to_canonical() {
                    IpAddr::V4(host) => params.owner_of(host.to_bits()).key(),
                    IpAddr::V6(_) => 0,
                };
                KeptHost { key, id: ctx.params.host_id(host) }
            });
            let named: Vec<KeptHost> = named.collect();
            let bytes = size_of_val(&named[..]);
            self.kept_copy.write()?[..bytes].copy_from_slice(named.as_bytes());
            let part = self.kept.part(0..bytes);
            ctx.gpu.upload(ctx.queue, &self.kept_copy, 0, part)?;
            ctx.start(ListKept {
                params,
                least: c_min,
                kept: part.buffer(),
                keys: self.keys.all().buffer(),
                counts: self.counts.all().buffer(),
                entries: self.entries.all().buffer(),
                holds: self.holds.all().buffer(),
                hosts: self.hosts.all().buffer(),
                count: count.buffer(),
            })?;
        }
        ctx.start(ListHolders {
            params,
            least: c_min,
            keys: self.keys.all().buffer(),
            counts: self.counts.all().buffer(),
            entries: self.entries.all().buffer(),
            holds: self.holds.all().buffer(),
            hosts: self.hosts.all().buffer(),
            count: count.buffer(),
        })
    }

    /// Starts listing the cells over `span` of the IPv6 hosts that may hold as many as a candidate, where `c_min` are asked
    /// of IPv4 hosts. `count`, which is 0, becomes how many are listed.
    pub(crate) fn list_held<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        (span, c_min): (Span, u32),
        count: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        ctx.start(ListHeld {
            params: *CellsFinder::params(ctx.params.finder()),
            ages: span.finder_ages,
            least: least_v6(c_min),
            cells: ctx.recorders(FINDER).buffer(),
            keys: self.keys.all().buffer(),
            counts: self.counts.all().buffer(),
            places: self.places.all().buffer(),
            words: self.words.all().buffer(),
            count: count.buffer(),
        })
    }

    /// Returns the ids of hosts that are listed.
    pub(crate) fn hosts(&self) -> Part<'_, G::Memory> {
        self.hosts.all()
    }

    /// Returns where some entries of the list are, and how many cells each of these holds.
    pub(crate) fn entries(&self, range: Range<usize>) -> [Part<'_, G::Memory>; 2] {
        [
            self.entries.part(range.start * size_of::<u64>()..range.end * size_of::<u64>()),
            self.holds.part(range.start * size_of::<u32>()..range.end * size_of::<u32>()),
        ]
    }

    /// Brings the first `count` cells of IPv6 hosts that are listed, `by` pinned memory.
    pub(crate) fn held<S>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        by: &G::Pinned,
        count: usize,
    ) -> Result<Vec<Held>, Error> {
        let params = CellsFinder::params(ctx.params.finder());
        let (mut places, mut words) = (Vec::<u32>::new(), Vec::<u64>::new());
        let part = self.places.part(0..count * size_of::<u32>());
        ctx.fetch_into(part, by, &mut places)?;
        let part = self.words.part(0..count * size_of::<u64>());
        ctx.fetch_into(part, by, &mut words)?;
        let owned = |(place, word)| (params.owner(place, word), place, word);
        Ok(places.into_iter().zip(words).map(owned).collect())
    }
}

/// The hosts of a list.
pub(crate) struct Listed {
    /// Who each is, by number.
    pub(crate) hosts: Vec<IpAddr>,
    /// The IPv4 hosts that hold enough cells, and how many.
    holders: Vec<(Owner, u32)>,
}

impl Listed {
    /// The hosts of `entries` that hold so many cells, kept ones being those of `kept`.
    pub(crate) fn new(
        params: &Params,
        (entries, holds): (&[u64], &[u32]),
        kept: &[IpAddr],
    ) -> Self {
        let params = CellsFinder::params(params.finder());
        let (mut hosts, mut holders) = (Vec::with_capacity(entries.len()), Vec::new());
        for (&entry, &holds) in entries.iter().zip(holds) {
            if entry & KEPT != 0 {
                hosts.push(kept[(entry & !KEPT) as usize]);
                continue;
            }
            let owner = Owner::of_key(entry).expect("entries are keys");
            let address = params.host(owner).expect("an IPv4 host");
            hosts.push(Ipv4Addr::from_bits(address).into());
            holders.push((owner, holds));
        }
        Self { hosts, holders }
    }

    /// Whether there are more holders than the limit of `params`.
    pub(crate) fn is_beyond_limit(&self, params: &CellsParams) -> bool {
        self.holders.len() > params.candidate_limit() as usize
    }

    /// The candidates: those of the list and those that `held` spells, where `c_min` cells are asked.
    pub(crate) fn candidates(
        &self,
        params: &CellsParams,
        counts: (Counts<'_>, u32),
        held: &mut [Held],
    ) -> Selection {
        candidates(params, counts, self.holders.iter().copied(), held)
    }
}
