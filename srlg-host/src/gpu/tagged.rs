//! [`TaggedClose`]: a close of the default scheme, in two trips to the device where nothing is beyond what is expected.
//!
//! The first brings counts of cells by age, of which the host makes c_min. The second brings all else: which hosts are
//! candidates, and the records of those that may be super points. How many there are the host does not know when it
//! asks: it brings as many as at the last close and some more. Further trips bring what is beyond that, what the device had
//! no room for, all regions of giants, and IPv6 hosts, whose addresses the host spells first.

use std::collections::HashSet;
use std::net::IpAddr;

use srlg_core::finder::{CellsFinder, Finder};
use srlg_core::{HostId, Params, Span};

use super::close::GpuClose;
use super::ctx::GpuCtx;
use super::device::{Gpu, Part, Pinned, values};
use super::looks::{Looks, longest};
use super::records::{PART, Total, Totals, Turn, records_in};
use super::scheme::GpuScheme;
use super::trips::{LIST_ROOM, Trips, count, row_weights, sums_bytes};
use super::turns::{Turns, all_regions};
use crate::backend::{Candidates, TallyVisitor, united};
use crate::error::Error;
use crate::finder::{CellsGpuSearch, Counts, Listed, Selection, health_of_all};

/// Listed hosts and records that are brought beyond as many as at the last close: these, and a sixteenth.
const MORE: usize = if cfg!(test) { 2 } else { 32 };

/// Bytes of a listed host.
const ENTRY_BYTES: usize = size_of::<u64>() + size_of::<u32>();

/// Closes of the default scheme.
pub(crate) struct TaggedClose<G: Gpu> {
    search: CellsGpuSearch<G>,
    looks: Looks<G>,
    /// Where answers arrive in turn: counts, records, listed hosts.
    copies: [G::Pinned; 2],
    /// Listed hosts and records of the last close.
    last: [usize; 2],
    /// What the search has brought that nobody has looked at: records in the first copy.
    pending: Option<Pending>,
}

/// Records that are there.
struct Pending {
    turn: Turn,
    /// The listed hosts by number.
    hosts: Vec<IpAddr>,
}

/// How many to bring, where the last close had `last`.
const fn expected(last: usize, most: usize) -> usize {
    let expected = last + last / 16 + MORE;
    if expected < most { expected } else { most }
}

impl<G: Gpu, S: GpuScheme> GpuClose<G, S> for TaggedClose<G> {
    fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let bytes = records_in(longest(params), PART).end + LIST_ROOM * ENTRY_BYTES;
        Ok(Self {
            search: CellsGpuSearch::new(gpu, params, (LIST_ROOM, sums_bytes(params)))?,
            looks: Looks::new(gpu, params)?,
            copies: [gpu.pin(bytes)?, gpu.pin(bytes)?],
            last: [0; 2],
            pending: None,
        })
    }

    fn prepare(&mut self, ctx: GpuCtx<'_, G, S>, by: &mut G::Pinned) -> Result<(), Error> {
        self.search.prepare(ctx)?;
        self.looks.prepare(ctx, by)
    }

    fn candidates(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        _: &mut Trips<G, S>,
        (span, kept): (Span, &[IpAddr]),
    ) -> Result<Candidates, Error> {
        self.pending = None;
        let params = CellsFinder::params(ctx.params.finder());
        let (mut ages, row_weights) = self.count(ctx, span)?;
        let counts = Counts::new(params, &mut ages, span);
        let c_min = counts.histogram.c_min();

        let is_known = kept.len() <= LIST_ROOM;
        let known = if is_known { kept } else { &[] };
        let turn = self.look(ctx, (span, counts.may_spell()), (c_min, known))?;
        // While the device looks at them.
        let health = health_of_all(counts, c_min);
        let (totals, listed) = self.listed(ctx, turn, (span, known))?;
        self.last = [totals.listed, totals.reached];
        let row_weights = Some(row_weights);
        let is_looked_at = is_known && totals.listed <= LIST_ROOM;
        if is_looked_at && totals.held == 0 && !listed.is_beyond_limit(params) {
            let count = listed.hosts.len();
            self.pending = Some(Pending { turn, hosts: listed.hosts });
            return Ok(Candidates { span, count, hosts: Vec::new(), health, row_weights });
        }
        // The host spells IPv6 hosts, and chooses where there are more than the limit.
        let mut held = self.search.held(ctx, &self.copies[1], totals.held)?;
        let Selection { hosts, health, is_limited } =
            listed.candidates(params, (counts, c_min), &mut held);
        let mut hosts = united(hosts, kept);
        let count = hosts.len();
        if is_looked_at && !is_limited {
            let seen: HashSet<IpAddr> = listed.hosts.iter().copied().collect();
            hosts.retain(|host| !seen.contains(host));
            self.pending = Some(Pending { turn, hosts: listed.hosts });
        }
        Ok(Candidates { span, count, hosts, health, row_weights })
    }

    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        trips: &mut Trips<G, S>,
        candidates: &Candidates,
        visit: &TallyVisitor<'_>,
    ) -> Result<(), Error> {
        let span = candidates.span;
        if let Some(Pending { turn, hosts }) = self.pending.take() {
            let looks = &self.looks;
            let list = looks.listed(self.search.hosts());
            let turns = Turns { looks, copies: &self.copies, span, threads: trips.threads };
            let giants = turns.all(ctx, (list, &hosts), turn, visit)?;
            all_regions(ctx, trips, span, &giants, visit)?;
        }
        for hosts in candidates.hosts.chunks(LIST_ROOM) {
            let ids: Vec<HostId> = hosts.iter().map(|&host| ctx.params.host_id(host)).collect();
            let (looks, threads) = (&self.looks, trips.threads);
            let list = trips.asked.bring(ctx, &ids)?;
            let turns = Turns { looks, copies: &self.copies, span, threads };
            let turn = Turn { records: PART.min(hosts.len()), ..Turn::default() };
            turns.start(ctx, list, turn)?;
            let giants = turns.all(ctx, (list, hosts), turn, visit)?;
            all_regions(ctx, trips, span, &giants, visit)?;
        }
        Ok(())
    }
}

impl<G: Gpu> TaggedClose<G> {
    /// Counts the cells of the window. Returns the counts by age, of either family, and the weights of the counter's rows.
    fn count<S: GpuScheme>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let [ages, sums] = self.search.count(ctx, span, sums_bytes(ctx.params))?;
        count(ctx, span, sums)?;
        let both = Part { bytes: ages.bytes + sums.bytes, ..ages };
        ctx.download(both, &self.copies[0], 0)?;
        self.copies[0].read(|bytes| {
            let (by_age, sums) = bytes[..both.bytes].split_at(ages.bytes);
            (values(by_age).to_vec(), row_weights(sums))
        })
    }

    /// Starts listing candidates and looking at them, and bringing what is expected of both. Returns which records come.
    fn look<S: GpuScheme>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        (span, may_spell): (Span, bool),
        asked: (u32, &[IpAddr]),
    ) -> Result<Turn, Error> {
        let Self { search, looks, copies, last, .. } = self;
        looks.clear(ctx)?;
        search.list(ctx, asked, looks.total(Total::Listed))?;
        if may_spell {
            search.list_held(ctx, (span, asked.0), looks.total(Total::Held))?;
        }
        let turn = Turn { records: expected(last[1], PART), ..Turn::default() };
        let entries = search.entries(0..expected(last[0], LIST_ROOM));
        let turns = Turns { looks, copies, span, threads: 1 };
        let mut at = records_in(span, turn.records).end;
        for part in entries {
            ctx.download(part, &copies[0], at)?;
            at += part.bytes;
        }
        turns.start(ctx, looks.listed(search.hosts()), turn)?;
        Ok(turn)
    }

    /// Waits for what was started, and returns the counts and the listed hosts.
    fn listed<S: GpuScheme>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        turn: Turn,
        (span, kept): (Span, &[IpAddr]),
    ) -> Result<(Totals, Listed), Error> {
        let [first, other] = &self.copies;
        let room = expected(self.last[0], LIST_ROOM);
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
        Ok((totals, Listed::new(ctx.params, (&entries, &holds), kept)))
    }
}
