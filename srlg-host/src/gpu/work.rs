//! [`Work`]: what is asked of the recorders, one question at a time.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::scheme::CounterRecorder;
use srlg_core::{COUNTER, HostId, Params, Span, Tally};
use srlg_kernels::Count;
use srlg_kernels::survey::SUMS;
use zerocopy::IntoBytes;

use super::answers::{most_answer_bytes, share_out, threads, values};
use super::ctx::GpuCtx;
use super::device::{Gpu, Memory, Part, Pinned};
use super::scheme::{GpuCounter, GpuFinder, GpuScheme, GpuSearch};
use crate::backend::Found;
use crate::error::Error;

/// Hosts whose tallies are brought back together. While the host looks at those of a trip, the device counts those of
/// the next.
const HOSTS_PER_TRIP: usize = if cfg!(test) { 3 } else { 512 };

/// Bytes that pass between host and device together, at least.
const BYTES_PER_TRIP: usize = if cfg!(test) { 30_720 } else { 1 << 20 };

/// Bytes of answers on the device: the recorders of a delta of some 250,000 pairs are listed there at once.
const RESULT_BYTES: usize = if cfg!(test) { BYTES_PER_TRIP } else { 6 << 20 };

/// What questions need: a search, and memory for answers.
pub(super) struct Work<G: Gpu, S: GpuScheme> {
    search: <S::Finder as GpuFinder>::Search<G>,
    /// Threads that may look at tallies.
    pub(super) threads: usize,
    /// Tallies, or anything else that passes between host and device.
    pub(super) results: G::Memory,
    pub(super) results_copy: G::Pinned,
    /// The same for every other trip of tallies.
    other_copy: G::Pinned,
    /// The hosts of a question.
    pub(super) asked: G::Memory,
    pub(super) asked_copy: G::Pinned,
}

impl<G: Gpu, S: GpuScheme> Work<G, S> {
    /// Memory for questions.
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let answers = HOSTS_PER_TRIP * most_answer_bytes::<S>(params);
        let trip = BYTES_PER_TRIP.max(answers).max(sums_bytes(params)).next_multiple_of(8);
        let asked = HOSTS_PER_TRIP * size_of::<HostId>();
        Ok(Self {
            search: GpuSearch::new(gpu, params)?,
            threads: threads(),
            results: gpu.allocate(RESULT_BYTES.max(trip))?,
            results_copy: gpu.pin(trip)?,
            other_copy: gpu.pin(answers)?,
            asked: gpu.allocate(asked)?,
            asked_copy: gpu.pin(asked)?,
        })
    }

    /// Fills what does not change any more.
    pub(super) fn prepare(&mut self, ctx: GpuCtx<'_, G, S>) -> Result<(), Error> {
        self.search.prepare(ctx, &mut self.results_copy)
    }

    /// See [`Backend::candidates`](crate::backend::Backend::candidates).
    pub(super) fn candidates(&mut self, ctx: GpuCtx<'_, G, S>, span: Span) -> Result<Found, Error> {
        // Counted while the search begins; brought back when it is over.
        let sums = self.results.part(0..sums_bytes(ctx.params));
        count(ctx, span, sums)?;
        let (hosts, quality) = self.search.candidates(ctx, span)?;
        let mut weights = Vec::new();
        ctx.fetch(sums, &self.results_copy, |bytes| weights = row_weights(bytes))?;
        Ok(Found { span, hosts, quality, row_weights: Some(weights) })
    }

    /// See [`Backend::tally`](crate::backend::Backend::tally): glimpses of all first, then all that these leave.
    pub(super) fn tallies(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        found: &Found,
        each: &(dyn Fn(usize, &[Tally]) + Sync),
    ) -> Result<(), Error> {
        let hosts: Vec<HostId> = found.hosts.iter().map(|&host| ctx.params.host_id(host)).collect();
        let Some(positions) = ctx.params.glimpse_positions() else {
            return self.all_regions(ctx, (&hosts, found.span), each);
        };
        let left = Mutex::new(Vec::new());
        let asked = (&hosts[..], found.span, 0..positions);
        self.tally(ctx, asked, &|number, tally| {
            if ctx.params.may_reach(&tally, found.span) {
                left.lock().expect("nobody panics with it").push(number);
            }
        })?;
        let left = left.into_inner().expect("nobody panics with it");
        let hosts: Vec<HostId> = left.iter().map(|&number| hosts[number]).collect();
        self.all_regions(ctx, (&hosts, found.span), &|number, tallies| each(left[number], tallies))
    }

    /// Calls `each` with the number and the tallies of each of `hosts`.
    pub(super) fn all_regions(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        (hosts, span): (&[HostId], Span),
        each: &(dyn Fn(usize, &[Tally]) + Sync),
    ) -> Result<(), Error> {
        let regions: Vec<Range<u32>> = ctx.params.regions().collect();
        let (fine, coarse) = regions.split_first().expect("a fine region");
        // Tallies of a trip's hosts at a time: there may be as many giants as hosts.
        for (hosts, first) in hosts.chunks(HOSTS_PER_TRIP).zip((0..).step_by(HOSTS_PER_TRIP)) {
            let giants = Mutex::new(Vec::new());
            self.tally(ctx, (hosts, span, fine.clone()), &|number, tally| {
                if ctx.params.needs_coarse(&tally, span) {
                    giants.lock().expect("nobody panics with it").push((number, vec![tally]));
                } else {
                    each(first + number, from_ref(&tally));
                }
            })?;
            let giants = giants.into_inner().expect("nobody panics with it");
            let of_giants: Vec<HostId> = giants.iter().map(|&(number, _)| hosts[number]).collect();
            let giants: Vec<_> = giants.into_iter().map(Mutex::new).collect();
            for region in coarse {
                self.tally(ctx, (&of_giants, span, region.clone()), &|giant, tally| {
                    giants[giant].lock().expect("nobody panics with it").1.push(tally);
                })?;
            }
            for giant in giants {
                let (number, tallies) = giant.into_inner().expect("nobody panics with it");
                each(first + number, &tallies);
            }
        }
        Ok(())
    }

    /// Calls `each` with the number and the tally of `positions` of each of `hosts`.
    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        (hosts, span, positions): (&[HostId], Span, Range<u32>),
        each: &(dyn Fn(usize, Tally) + Sync),
    ) -> Result<(), Error> {
        let bytes_each = S::Counter::answer_bytes(span);
        let threads = self.threads;
        // The numbers of the hosts of a trip, and where their tallies arrive.
        let look = |(hosts, copy): (Range<usize>, &G::Pinned)| {
            copy.read(|bytes| {
                share_out(threads, hosts.len(), |host| {
                    let answer = &bytes[host * bytes_each..][..bytes_each];
                    each(hosts.start + host, <S::Counter as GpuCounter>::answer(answer, span));
                });
            })
        };
        let mut under_way = None;
        let copies = [&self.results_copy, &self.other_copy].into_iter().cycle();
        for (number, (trip, copy)) in hosts.chunks(HOSTS_PER_TRIP).zip(copies).enumerate() {
            let asked = self.asked.part(0..size_of_val(trip));
            self.asked_copy.write(|bytes| bytes[..asked.bytes].copy_from_slice(trip.as_bytes()))?;
            ctx.gpu.upload(ctx.queue, &self.asked_copy, 0, asked)?;
            let results = self.results.part(0..trip.len() * bytes_each);
            ctx.clear(results)?;
            S::Counter::start_tallies(ctx, asked, (span, &positions), results)?;
            ctx.download(results, copy)?;
            let first = number * HOSTS_PER_TRIP;
            under_way.replace((first..first + trip.len(), copy)).map_or(Ok(()), look)?;
        }
        under_way.map_or(Ok(()), look)
    }

    /// Returns how many recorders of each row of the counter are within `span`.
    pub(super) fn row_weights(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<Vec<u32>, Error> {
        let sums = self.results.part(0..sums_bytes(ctx.params));
        count(ctx, span, sums)?;
        let mut weights = Vec::new();
        ctx.fetch(sums, &self.results_copy, |bytes| weights = row_weights(bytes))?;
        Ok(weights)
    }
}

/// Bytes of the sums that [`count`] leaves.
fn sums_bytes(params: &Params) -> usize {
    params.counter_sizes().rows as usize * SUMS * size_of::<u32>()
}

/// Starts counting the recorders of the counter within `span`, per row, into `sums`.
fn count<G: Gpu, S: GpuScheme>(
    ctx: GpuCtx<'_, G, S>,
    span: Span,
    sums: Part<'_, G::Memory>,
) -> Result<(), Error> {
    ctx.clear(sums)?;
    let row_len = ctx.params.counter_sizes().row_len;
    let limit = ctx.params.recent_ranges(span)[COUNTER].of_width().recent;
    let (recorders, sums) = (ctx.recorders(COUNTER).buffer(), sums.buffer());
    ctx.start(Count::<_, CounterRecorder<S>> { row_len, limit, recorders, sums })
}

/// Per row of the counter the weight, of the sums that a kernel left.
fn row_weights(bytes: &[u8]) -> Vec<u32> {
    values(bytes).chunks_exact(SUMS).map(|sums| sums.iter().sum()).collect()
}
