//! [`Glimpses`]: glimpses that a device takes together with a search.

use srlg_core::{Params, Span, Tally};

use super::answers::{most_answer_bytes, share_out};
use super::ctx::GpuCtx;
use super::device::{Gpu, Memory, Part, Pinned};
use super::scheme::{GpuCounter, GpuScheme, HostList};
use crate::error::Error;

/// Hosts whose glimpses are taken ahead, at most: there are 2,400 candidates at 5 M distinct pairs.
const MOST_HOSTS: usize = if cfg!(test) { 8 } else { 4096 };

/// The glimpses of the first hosts of a search.
pub(super) struct Glimpses<G: Gpu> {
    answers: G::Memory,
    copy: G::Pinned,
    /// Hosts whose glimpses the next search takes along.
    ahead: usize,
}

impl<G: Gpu> Glimpses<G> {
    pub(super) fn new<S: GpuScheme>(gpu: &G, params: &Params) -> Result<Self, Error> {
        let bytes = MOST_HOSTS * most_answer_bytes::<S>(params);
        Ok(Self { answers: gpu.allocate(bytes)?, copy: gpu.pin(bytes)?, ahead: MOST_HOSTS.min(64) })
    }

    /// Starts the glimpses of the first hosts of `list`, where glimpses tell anything; of how many.
    pub(super) fn start<S: GpuScheme>(
        &self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
        list: &HostList<'_, G::Memory>,
    ) -> Result<usize, Error> {
        let Some(positions) = ctx.params.glimpse_positions() else { return Ok(0) };
        let ahead = self.ahead.min(list.hosts.bytes / size_of::<u32>());
        let answers = self.answers.part(0..ahead * S::Counter::answer_bytes(span));
        let hosts = Part { bytes: ahead * size_of::<u32>(), ..list.hosts };
        ctx.clear(answers)?;
        let list = HostList { hosts, count: list.count };
        S::Counter::start_tallies(ctx, &list, (span, positions), answers)?;
        ctx.download(answers, &self.copy)?;
        Ok(ahead)
    }

    /// Lets the next search take along the glimpses of a few hosts more than the last one's `found`.
    pub(super) fn expect(&mut self, found: usize) {
        self.ahead = MOST_HOSTS.min(found * 5 / 4 + 16);
    }

    /// Calls `each` with the number and the glimpse of each of the first `count` hosts.
    pub(super) fn read<S: GpuScheme>(
        &self,
        threads: usize,
        (count, span): (usize, Span),
        each: impl Fn(usize, &Tally) + Sync,
    ) -> Result<(), Error> {
        let bytes_each = S::Counter::answer_bytes(span);
        self.copy.read(|bytes| {
            share_out(threads, count, |host| {
                let answer = &bytes[host * bytes_each..][..bytes_each];
                each(host, &<S::Counter as GpuCounter>::tally(answer, span));
            });
        })
    }
}
