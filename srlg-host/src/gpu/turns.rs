//! [`Turns`]: hosts of a list, looked at by the device, whose records are brought to two copies in turn: while the host looks
//! at those of one turn the device makes those of the next.

use std::net::IpAddr;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::counter::tagged::Histograms;
use srlg_core::{HostId, Span, Tally};

use super::answers::share_out;
use super::ctx::GpuCtx;
use super::device::{Gpu, Pinned};
use super::looks::Looks;
use super::records::{Records, TOTALS_BYTES, Totals, Turn, records_in};
use super::scheme::{GpuScheme, List};
use super::trips::Trips;
use crate::backend::{HostTallies, TallyVisitor};
use crate::error::Error;

/// What looking at hosts of a list uses.
pub(super) struct Turns<'a, G: Gpu> {
    pub(super) looks: &'a Looks<G>,
    pub(super) copies: &'a [G::Pinned; 2],
    pub(super) span: Span,
    /// Threads that may look at records.
    pub(super) threads: usize,
}

/// A host that needs all of its regions, and the words of its cells. Its tally of 10 kB is not kept: there may be as many giants
/// as hosts of a list.
pub(super) type Giant = (IpAddr, Vec<u64>);

impl<G: Gpu> Turns<'_, G> {
    /// Starts looking at the hosts of `list` from the beginning, and bringing the records of `turn` to the first copy.
    pub(super) fn start<S: GpuScheme>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        list: List<'_, G::Memory>,
        turn: Turn,
    ) -> Result<(), Error> {
        if let Some(positions) = ctx.params.glimpse_positions() {
            self.looks.glimpse(ctx, self.span, list, positions)?;
        }
        self.looks.part(ctx, self.span, self.looks.left(ctx.params, list), turn.skip)?;
        self.bring(ctx, list, turn, 0)
    }

    /// Starts bringing the records of `turn` to the copy of that number.
    fn bring<S: GpuScheme>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        list: List<'_, G::Memory>,
        turn: Turn,
        copy: usize,
    ) -> Result<(), Error> {
        let left = self.looks.left(ctx.params, list);
        let records = self.looks.record(ctx, self.span, left, turn)?;
        ctx.download(records, &self.copies[copy], TOTALS_BYTES)?;
        ctx.download(self.looks.totals(), &self.copies[copy], 0)
    }

    /// Calls `visit` for the `hosts` of `list` that may be super points, of which the records of `turn` are on their way to the
    /// first copy; but for giants, which are returned. While the host looks at the records of a turn the device
    /// makes those of the next.
    pub(super) fn all<S: GpuScheme>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        (list, hosts): (List<'_, G::Memory>, &[IpAddr]),
        mut turn: Turn,
        visit: &TallyVisitor<'_>,
    ) -> Result<Vec<Giant>, Error> {
        let giants = Mutex::new(Vec::new());
        for copy in [0, 1].into_iter().cycle() {
            let Totals { left, reached, .. } = self.copies[copy].read(Totals::new)?;
            let left = if ctx.params.glimpse_positions().is_some() { left } else { hosts.len() };
            let next = turn.next(left, reached);
            if let Some(next) = next {
                if next.skip > turn.skip {
                    let left = self.looks.left(ctx.params, list);
                    self.looks.part(ctx, self.span, left, next.skip)?;
                }
                self.bring(ctx, list, next, 1 - copy)?;
            }
            let records = turn.records.min(reached - turn.first);
            self.copies[copy].read(|bytes| {
                let bytes = &bytes[records_in(self.span, turn.records)];
                let all = Records::new(bytes, self.span, turn.records);
                share_out(self.threads, records, |record| {
                    let (number, bins, words) = all.get(record);
                    let histograms = Histograms::of_bins(self.span, bins);
                    let (host, tally) = (hosts[number], Tally::Visible(histograms));
                    if ctx.params.needs_coarse(&tally, self.span) {
                        let mut giants = giants.lock().expect("nobody panics with it");
                        giants.push((host, words.to_vec()));
                    } else {
                        visit(&HostTallies { host, tallies: from_ref(&tally), words: Some(words) });
                    }
                });
            })?;
            match next {
                Some(next) => turn = next,
                None => break,
            }
        }
        Ok(giants.into_inner().expect("nobody panics with it"))
    }
}

/// Calls `visit` for `giants`, with the tallies of all their regions.
pub(super) fn all_regions<G: Gpu, S: GpuScheme>(
    ctx: GpuCtx<'_, G, S>,
    trips: &mut Trips<G, S>,
    span: Span,
    giants: &[Giant],
    visit: &TallyVisitor<'_>,
) -> Result<(), Error> {
    let ids: Vec<HostId> = giants.iter().map(|&(host, ..)| ctx.params.host_id(host)).collect();
    trips.all_regions(ctx, (&ids, span), &|giant, tallies| {
        let (host, words) = &giants[giant];
        visit(&HostTallies { host: *host, tallies, words: Some(words) });
    })
}
