//! [`Close`]: the work of a device at the end of a slice.
//!
//! [`TaggedClose`] implements it for the default scheme.
//!
//! In the default scheme, a close usually needs two *round trips*: copies for which the CPU waits. The first round trip
//! copies the cell counts by age, from which the CPU computes c_min. The second one copies the candidates, and the
//! records of candidates that may be super points. The numbers of candidates and records are not known in advance, so
//! slightly more entries are copied than the last close needed.
//!
//! Further round trips are needed if there are more entries than were copied, or if the device had no room for some
//! hosts. They are also needed if the CPU must recover IPv6 addresses, or if the coarse regions of a host with very
//! many peers must be counted.

use std::collections::HashSet;
use std::net::IpAddr;

use srlg_core::{HostId, Span};

use super::cells::{GpuCellSearch, HostList};
use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, values};
use super::looks::{Giant, HostLook, LookMemory};
use super::questions::{LIST_ROOM, Questions};
use super::records::{PART, Total, Totals, Turn, records_in};
use crate::backend::{Candidates, HostTallies, TallyVisitor, united};
use crate::error::Error;
use crate::finder::cells::{CellCounts, Shortlist, health_of_all};

/// The part of a close that runs on a device, and the memory for it.
pub(super) trait Close<G: Gpu>: Send + Sync {
    /// Finds the candidates, like [`Backend::candidates`](crate::backend::Backend::candidates).
    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G>,
        questions: &mut Questions<G>,
        span: Span,
        kept: &[IpAddr],
        limit: u32,
    ) -> Result<Candidates, Error>;

    /// Tallies the candidates, like [`Backend::tally`](crate::backend::Backend::tally).
    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G>,
        questions: &mut Questions<G>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error>;
}

/// Number of listed hosts or records that are copied in addition to 17/16 of the number in the last close.
const MORE: usize = if cfg!(test) { 2 } else { 32 };

pub(super) struct TaggedClose<G: Gpu> {
    search: GpuCellSearch<G>,
    looks: LookMemory<G>,
    last: Totals,
    /// The first records of the search, until the CPU examines them.
    pending: Option<PendingRecords>,
}

struct PendingRecords {
    turn: Turn,
    hosts: Vec<IpAddr>,
}

/// Returns the number of entries to copy, at most `most`, if the last close had `last` entries.
fn expected(last: usize, most: usize) -> usize {
    (last + last / 16 + MORE).min(most)
}

impl<G: Gpu> Close<G> for TaggedClose<G> {
    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G>,
        _: &mut Questions<G>,
        span: Span,
        kept: &[IpAddr],
        limit: u32,
    ) -> Result<Candidates, Error> {
        self.pending = None;
        let params = self.search.params;
        let (mut ages, row_weights) = self.search.count(ctx, span, &self.looks.copies[0])?;
        let counts = CellCounts::new(&params, &mut ages, span);

        let is_known = kept.len() <= LIST_ROOM;
        let known = if is_known { kept } else { &[] };
        let turn = self.start(ctx, span, counts, known)?;
        // The device examines candidates while the CPU computes the health.
        let health = health_of_all(counts);
        let (totals, listed) = self.listed(ctx, turn, span, known)?;
        self.last = totals;
        let row_weights = Some(row_weights);
        let is_looked_at = is_known && totals.listed <= LIST_ROOM;
        if is_looked_at && totals.held == 0 && !listed.is_beyond(limit) {
            let count = listed.hosts.len();
            self.pending = Some(PendingRecords { turn, hosts: listed.hosts });
            return Ok(Candidates { span, count, hosts: Vec::new(), health, row_weights });
        }
        // The CPU recovers IPv6 addresses, and selects candidates if there are more than the limit.
        let mut held = self.search.held(ctx, &self.looks.copies[1], totals.held)?;
        let Shortlist { hosts, health, is_limited } =
            listed.candidates(&params, counts, &mut held, limit);
        let mut hosts = united(hosts, kept);
        let count = hosts.len();
        if is_looked_at && !is_limited {
            let seen: HashSet<IpAddr> = listed.hosts.iter().copied().collect();
            hosts.retain(|host| !seen.contains(host));
            self.pending = Some(PendingRecords { turn, hosts: listed.hosts });
        }
        Ok(Candidates { span, count, hosts, health, row_weights })
    }

    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G>,
        questions: &mut Questions<G>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error> {
        let (memory, span) = (&self.looks, candidates.span);
        if let Some(PendingRecords { turn, hosts }) = self.pending.take() {
            let list = memory.listed(self.search.hosts());
            let giants = HostLook { ctx, memory, list, span }.finish(&hosts, turn, visit)?;
            all_regions(ctx, questions, span, &giants, visit)?;
        }
        for hosts in candidates.hosts.chunks(LIST_ROOM) {
            let ids: Vec<HostId> = hosts.iter().map(|&host| ctx.params.host_id(host)).collect();
            let list = questions.hosts.bring(ctx, &ids)?;
            let look = HostLook { ctx, memory, list, span };
            let turn = Turn { records: PART.min(hosts.len()), ..Turn::default() };
            look.start(turn)?;
            let giants = look.finish(hosts, turn, visit)?;
            all_regions(ctx, questions, span, &giants, visit)?;
        }
        Ok(())
    }
}

impl<G: Gpu> TaggedClose<G> {
    /// Allocates the memory for closes, and starts writing the constant parts of this memory through the pinned memory
    /// `by`.
    pub(super) fn new(ctx: GpuCtx<'_, G>, by: &mut G::HostMemory) -> Result<Self, Error> {
        let (search, looks) = (GpuCellSearch::new(ctx)?, LookMemory::new(ctx, by)?);
        Ok(Self { search, looks, last: Totals::default(), pending: None })
    }

    /// Starts listing and examining candidates, and copying the expected number of hosts and records. Returns the turn
    /// of these records.
    fn start(
        &mut self,
        ctx: GpuCtx<'_, G>,
        span: Span,
        counts: CellCounts<'_>,
        kept: &[IpAddr],
    ) -> Result<Turn, Error> {
        let Self { search, looks: memory, last, .. } = self;
        ctx.clear(memory.totals())?;
        search.list(ctx, counts.c_min, kept, memory.total(Total::Listed))?;
        if counts.may_spell() {
            search.list_held(ctx, span, counts.c_min, memory.total(Total::Held))?;
        }
        let turn = Turn { records: expected(last.reached, PART), ..Turn::default() };
        let mut at = records_in(span, turn.records).end;
        for part in search.entries(0..expected(last.listed, LIST_ROOM)) {
            ctx.download(part, &memory.copies[0], at)?;
            at += part.bytes;
        }
        let list = memory.listed(search.hosts());
        HostLook { ctx, memory, list, span }.start(turn)?;
        Ok(turn)
    }

    /// Waits for the started work and returns the totals and the listed hosts.
    fn listed(
        &self,
        ctx: GpuCtx<'_, G>,
        turn: Turn,
        span: Span,
        kept: &[IpAddr],
    ) -> Result<(Totals, HostList), Error> {
        let [first, other] = &self.looks.copies;
        let room = expected(self.last.listed, LIST_ROOM);
        let entries_at = records_in(span, turn.records).end;
        let holds_at = entries_at + room * size_of::<u64>();
        let (totals, mut entries, mut holds) = first.read(|bytes| {
            let totals = Totals::new(bytes);
            let there = room.min(totals.listed);
            let entries: &[u64] = values(&bytes[entries_at..][..there * size_of::<u64>()]);
            let holds: &[u32] = values(&bytes[holds_at..][..there * size_of::<u32>()]);
            (totals, entries.to_vec(), holds.to_vec())
        })?;
        if totals.listed > room {
            let [more, more_holds] = self.search.entries(room..totals.listed);
            ctx.fetch_into(more, other, &mut entries)?;
            ctx.fetch_into(more_holds, other, &mut holds)?;
        }
        Ok((totals, HostList::new(&self.search.params, &entries, &holds, kept)))
    }
}

/// Calls `visit` for each of `giants`, with the tallies of all its regions.
fn all_regions<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    questions: &mut Questions<G>,
    span: Span,
    giants: &[Giant],
    visit: &TallyVisitor<'_>,
) -> Result<(), Error> {
    let ids: Vec<HostId> = giants.iter().map(|giant| ctx.params.host_id(giant.host)).collect();
    questions.all_regions(ctx, &ids, span, &|number, tallies| {
        let Giant { host, words } = &giants[number];
        visit(&HostTallies { host: *host, tallies, words: Some(words) });
    })
}
