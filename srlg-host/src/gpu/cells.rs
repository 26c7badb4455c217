//! [`GpuCellSearch`]: a search of cells for candidate hosts.
//!
//! The device counts cells by age and by owner. From the counts by age, the CPU computes the number of cells that a
//! candidate needs. The device then lists the IPv4 hosts with enough cells, and cells held by IPv6 hosts. From these
//! cells, the CPU recovers the addresses of the IPv6 hosts.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use srlg_core::finder::cells::Owner;
use srlg_core::finder::cells::chance::least_v6;
use srlg_core::finder::{CellsFinder, CellsParams, Finder};
use srlg_core::{ArrayParams, FINDER, HostId, Params, Span};
use srlg_kernels::cells::{KEPT, KeptHost};
use srlg_kernels::{CountCells, ListHeld, ListHolders, ListKept, owners};
use zerocopy::IntoBytes;

use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, Part, values};
use super::questions::{LIST_ROOM, row_weights, sums_bytes};
use super::scheme::start_count;
use crate::error::Error;
use crate::finder::cells::{CellCounts, HeldCell, Shortlist, candidates};

pub(super) struct GpuCellSearch<G: Gpu> {
    pub(super) params: CellsParams,
    /// Cell counts of IPv4 hosts by age, then those of IPv6 hosts, then the sums of the counter's rows.
    ages: G::Memory,
    keys: G::Memory,
    counts: G::Memory,
    /// Keys of the listed IPv4 hosts, and numbers of the listed kept hosts.
    entries: G::Memory,
    /// Cell counts of the listed hosts.
    holds: G::Memory,
    /// IDs of the listed hosts.
    hosts: G::Memory,
    /// Indices of the listed cells of IPv6 hosts.
    places: G::Memory,
    /// Words of the listed cells of IPv6 hosts.
    words: G::Memory,
    /// Hosts that are always candidates.
    kept: G::Memory,
    kept_copy: G::HostMemory,
}

impl<G: Gpu> GpuCellSearch<G> {
    /// Allocates memory for searches, with room for the IDs of [`LIST_ROOM`] hosts.
    pub(super) fn new(ctx: GpuCtx<'_, G>) -> Result<Self, Error> {
        let (gpu, params) = (ctx.gpu, *CellsFinder::params(ctx.params.finder()));
        let (cells, table) = (params.recorders(), owners::entries(&params));
        let counts = |count: usize| gpu.allocate(count * size_of::<u32>());
        let words = |count: usize| gpu.allocate(count * size_of::<u64>());
        let search = Self {
            params,
            ages: gpu.allocate(count_bytes(ctx.params))?,
            keys: words(table)?,
            counts: counts(table)?,
            entries: words(cells + LIST_ROOM)?,
            holds: counts(cells + LIST_ROOM)?,
            hosts: gpu.allocate(LIST_ROOM * size_of::<HostId>())?,
            places: counts(cells)?,
            words: words(cells)?,
            kept: gpu.allocate(LIST_ROOM * size_of::<KeptHost>())?,
            kept_copy: gpu.pin(LIST_ROOM * size_of::<KeptHost>())?,
        };
        // The CPU may copy more entries of the list than the device wrote.
        ctx.clear(search.entries.all())?;
        ctx.clear(search.holds.all())?;
        Ok(search)
    }

    /// Counts the cells of the window by age and by owner. Copies the counts by age and the row weights to the CPU,
    /// through the pinned memory `by`.
    ///
    /// Returns the counts by age for both families, and the weights of the counter's rows.
    pub(super) fn count(
        &self,
        ctx: GpuCtx<'_, G>,
        span: Span,
        by: &G::HostMemory,
    ) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let end = 2 * span.finder_ages as usize * size_of::<u32>();
        let (ages, both) = (self.ages.part(0..end), 0..end + sums_bytes(ctx.params));
        ctx.clear(ages)?;
        ctx.clear(self.keys.all())?;
        ctx.clear(self.counts.all())?;
        ctx.start(CountCells {
            params: self.params,
            cells: ctx.recorders(FINDER).buffer(),
            ages: ages.buffer(),
            keys: self.keys.all().buffer(),
            counts: self.counts.all().buffer(),
        })?;
        start_count(ctx, span, self.ages.part(end..both.end))?;
        ctx.download(self.ages.part(both.clone()), by, 0)?;
        by.read(|bytes| {
            let (ages, sums) = bytes[both].split_at(end);
            (values(ages).to_vec(), row_weights(sums))
        })
    }

    /// Starts listing the IPv4 hosts with at least `c_min` cells, and the `kept` hosts that are not among them.
    ///
    /// `count` must be 0 and becomes the number of listed hosts.
    pub(super) fn list(
        &mut self,
        ctx: GpuCtx<'_, G>,
        c_min: u32,
        kept: &[IpAddr],
        count: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        if !kept.is_empty() {
            let kept = self.bring(ctx, kept)?.buffer();
            ctx.start(ListKept {
                params: self.params,
                least: c_min,
                kept,
                keys: self.keys.all().buffer(),
                counts: self.counts.all().buffer(),
                entries: self.entries.all().buffer(),
                holds: self.holds.all().buffer(),
                hosts: self.hosts.all().buffer(),
                count: count.buffer(),
            })?;
        }
        ctx.start(ListHolders {
            params: self.params,
            least: c_min,
            keys: self.keys.all().buffer(),
            counts: self.counts.all().buffer(),
            entries: self.entries.all().buffer(),
            holds: self.holds.all().buffer(),
            hosts: self.hosts.all().buffer(),
            count: count.buffer(),
        })
    }

    /// Starts copying the `kept` hosts to the device.
    fn bring(&mut self, ctx: GpuCtx<'_, G>, kept: &[IpAddr]) -> Result<Part<'_, G::Memory>, Error> {
        let kept = kept.iter().map(|&host| {
            let key = match host.to_canonical() {
                IpAddr::V4(host) => self.params.owner_of(host.to_bits()).key(),
                IpAddr::V6(_) => 0,
            };
            KeptHost { key, id: ctx.params.host_id(host) }
        });
        let kept: Vec<KeptHost> = kept.collect();
        let bytes = size_of_val(&kept[..]);
        self.kept_copy.write()?[..bytes].copy_from_slice(kept.as_bytes());
        let part = self.kept.part(0..bytes);
        ctx.gpu.upload(ctx.queue, &self.kept_copy, 0, part)?;
        Ok(part)
    }

    /// Starts listing cells of IPv6 hosts that may be candidates. Only cells within `span` are listed. `c_min` is the
    /// number of cells that an IPv4 candidate needs.
    ///
    /// `count` must be 0 and becomes the number of listed cells.
    pub(super) fn list_held(
        &self,
        ctx: GpuCtx<'_, G>,
        span: Span,
        c_min: u32,
        count: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        ctx.start(ListHeld {
            params: self.params,
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

    pub(super) fn hosts(&self) -> Part<'_, G::Memory> {
        self.hosts.all()
    }

    /// Returns the parts of the memory that contain a range of list entries and their cell counts.
    pub(super) fn entries(&self, range: Range<usize>) -> [Part<'_, G::Memory>; 2] {
        [
            self.entries.part(range.start * size_of::<u64>()..range.end * size_of::<u64>()),
            self.holds.part(range.start * size_of::<u32>()..range.end * size_of::<u32>()),
        ]
    }

    /// Copies the first `count` listed cells of IPv6 hosts to the CPU, through the pinned memory `by`.
    pub(super) fn held(
        &self,
        ctx: GpuCtx<'_, G>,
        by: &G::HostMemory,
        count: usize,
    ) -> Result<Vec<HeldCell>, Error> {
        let (mut places, mut words) = (Vec::<u32>::new(), Vec::<u64>::new());
        ctx.fetch_into(self.places.part(0..count * size_of::<u32>()), by, &mut places)?;
        ctx.fetch_into(self.words.part(0..count * size_of::<u64>()), by, &mut words)?;
        let owned = |(place, word)| (self.params.owner(place, word), place, word);
        Ok(places.into_iter().zip(words).map(owned).collect())
    }
}

/// Returns the maximum number of bytes that [`GpuCellSearch::count`] copies.
pub(super) fn count_bytes(params: &Params) -> usize {
    let ages = CellsFinder::params(params.finder()).most_ages() as usize;
    2 * ages * size_of::<u32>() + sums_bytes(params)
}

pub(super) struct HostList {
    pub(super) hosts: Vec<IpAddr>,
    /// The IPv4 hosts with enough cells, and the number of cells of each host.
    holders: Vec<(Owner, u32)>,
}

impl HostList {
    /// Creates the list from `entries`, with the cell counts in `holds`. Kept hosts are looked up in `kept`.
    pub(super) fn new(
        params: &CellsParams,
        entries: &[u64],
        holds: &[u32],
        kept: &[IpAddr],
    ) -> Self {
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

    pub(super) fn is_beyond(&self, limit: u32) -> bool {
        self.holders.len() > limit as usize
    }

    pub(super) fn candidates(
        &self,
        params: &CellsParams,
        counts: CellCounts<'_>,
        held: &mut [HeldCell],
        limit: u32,
    ) -> Shortlist {
        candidates(params, counts, self.holders.iter().copied(), held, limit)
    }
}
