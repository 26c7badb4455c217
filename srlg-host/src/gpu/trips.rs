//! [`Trips`]: questions about hosts that the host names, one question at a time, and memory for answers.

use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::scheme::CounterRecorder;
use srlg_core::{COUNTER, HostId, Params, Span, Tally};
use srlg_kernels::Count;
use srlg_kernels::survey::SUMS;
use zerocopy::IntoBytes;

use super::answers::{most_answer_bytes, share_out, threads};
use super::ctx::GpuCtx;
use super::device::{Gpu, Memory, Part, Pinned, values};
use super::scheme::{GpuCounter, GpuScheme, List};
use crate::error::Error;

/// Hosts whose tallies are brought back together.
const HOSTS_PER_TRIP: usize = if cfg!(test) { 3 } else { 512 };

/// Hosts that the device has a list of at once.
pub(super) const LIST_ROOM: usize = if cfg!(test) { 12 } else { 8192 };

/// Bytes that pass between host and device together, at least.
const BYTES_PER_TRIP: usize = if cfg!(test) { 30_720 } else { 1 << 20 };

/// Bytes of answers on the device: the recorders of a delta of some 250,000 pairs are listed there at once.
const RESULT_BYTES: usize = if cfg!(test) { 4 * BYTES_PER_TRIP } else { 6 << 20 };

/// Memory for hosts that are asked about, and for answers.
pub(crate) struct Trips<G: Gpu, S> {
    /// Threads that may look at tallies.
    pub(super) threads: usize,
    /// Tallies, or anything else that passes between host and device.
    pub(super) results: G::Memory,
    pub(super) results_copy: G::Pinned,
    pub(super) asked: Asked<G>,
    scheme: PhantomData<S>,
}

impl<G: Gpu, S: GpuScheme> Trips<G, S> {
    /// Memory for questions.
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        let answers = HOSTS_PER_TRIP * most_answer_bytes::<S>(params);
        let trip = BYTES_PER_TRIP.max(answers).max(sums_bytes(params)).next_multiple_of(8);
        Ok(Self {
            threads: threads(),
            results: gpu.allocate(RESULT_BYTES.max(trip))?,
            results_copy: gpu.pin(trip)?,
            asked: Asked::new(gpu)?,
            scheme: PhantomData,
        })
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

    /// Calls `each` with the number and the tally of `positions` of each of `hosts`, as many as a trip has at most.
    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        (hosts, span, positions): (&[HostId], Span, Range<u32>),
        each: &(dyn Fn(usize, Tally) + Sync),
    ) -> Result<(), Error> {
        if hosts.is_empty() {
            return Ok(());
        }
        let bytes_each = S::Counter::answer_bytes(span);
        let asked = self.asked.bring(ctx, hosts)?;
        let results = self.results.part(0..hosts.len() * bytes_each);
        ctx.clear(results)?;
        S::Counter::start_tallies(ctx, asked, (span, &positions), results)?;
        ctx.fetch(results, &self.results_copy, |bytes| {
            share_out(self.threads, hosts.len(), |host| {
                let answer = &bytes[host * bytes_each..][..bytes_each];
                each(host, <S::Counter as GpuCounter>::answer(answer, span));
            });
        })
    }

    /// Returns how many recorders of each row of the counter are within `span`.
    pub(super) fn row_weights(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<Vec<u32>, Error> {
        self.start_row_weights(ctx, span)?;
        self.bring_row_weights(ctx)
    }

    /// Starts counting for [`row_weights`](Self::row_weights).
    pub(super) fn start_row_weights(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        span: Span,
    ) -> Result<(), Error> {
        count(ctx, span, self.results.part(0..sums_bytes(ctx.params)))
    }

    /// Waits for what was started, and returns the [`row_weights`](Self::row_weights).
    pub(super) fn bring_row_weights(&mut self, ctx: GpuCtx<'_, G, S>) -> Result<Vec<u32>, Error> {
        let mut weights = Vec::new();
        let sums = self.results.part(0..sums_bytes(ctx.params));
        ctx.fetch(sums, &self.results_copy, |bytes| weights = row_weights(bytes))?;
        Ok(weights)
    }
}

/// The hosts of a question, up to [`LIST_ROOM`], as a [`List`] of all of them.
pub(crate) struct Asked<G: Gpu> {
    pub(super) memory: G::Memory,
    pub(super) copy: G::Pinned,
}

impl<G: Gpu> Asked<G> {
    fn new(gpu: &G) -> Result<Self, Error> {
        let [.., numbers] = list_parts(LIST_ROOM);
        Ok(Self { memory: gpu.allocate(numbers.end)?, copy: gpu.pin(numbers.end)? })
    }

    /// Starts bringing `hosts` to the device.
    pub(super) fn bring<S>(
        &mut self,
        ctx: GpuCtx<'_, G, S>,
        hosts: &[HostId],
    ) -> Result<List<'_, G::Memory>, Error> {
        let [count, ids, numbers] = list_parts(hosts.len());
        let all = self.memory.part(0..numbers.end);
        let list = List {
            hosts: self.memory.part(ids.clone()),
            numbers: self.memory.part(numbers.clone()),
            count: self.memory.part(0..size_of::<u32>()),
        };
        let bytes = self.copy.write()?;
        bytes[count].copy_from_slice([hosts.len() as u32, 0].as_bytes());
        bytes[ids].copy_from_slice(hosts.as_bytes());
        let numbers = bytes[numbers].chunks_exact_mut(size_of::<u32>());
        (0u32..).zip(numbers).for_each(|(number, to)| to.copy_from_slice(number.as_bytes()));
        ctx.gpu.upload(ctx.queue, &self.copy, 0, all)?;
        Ok(list)
    }
}

/// Where the count of a list of `hosts` hosts is, a word of 32 bits and 4 bytes that nobody reads, their ids, and the numbers
/// of all of them.
fn list_parts(hosts: usize) -> [Range<usize>; 3] {
    let ids = size_of::<u64>() + hosts * size_of::<HostId>();
    [0..size_of::<u64>(), size_of::<u64>()..ids, ids..ids + hosts * size_of::<u32>()]
}

/// Bytes of the sums that [`count`] leaves.
pub(super) fn sums_bytes(params: &Params) -> usize {
    params.counter_sizes().rows as usize * SUMS * size_of::<u32>()
}

/// Starts counting the recorders of the counter within `span`, per row, into `sums`.
pub(super) fn count<G: Gpu, S: GpuScheme>(
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
pub(super) fn row_weights(bytes: &[u8]) -> Vec<u32> {
    values(bytes).chunks_exact(SUMS).map(|sums| sums.iter().sum()).collect()
}
