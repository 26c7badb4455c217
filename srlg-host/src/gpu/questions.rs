//! [`Questions`]: queries about hosts that the CPU selects, and the memory for their answers.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::{HostId, Params, Span, Tally};
use srlg_kernels::survey::SUMS;
use zerocopy::IntoBytes;

use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, values};
use super::scheme::{List, answer_bytes, start_count, start_tallies, tally};
use super::threads::share;
use crate::error::Error;

/// Maximum number of hosts whose tallies are copied together.
const HOSTS_PER_TRIP: usize = if cfg!(test) { 3 } else { 512 };

/// Maximum number of hosts in a list on the device.
pub(super) const LIST_ROOM: usize = if cfg!(test) { 12 } else { 8192 };

/// Minimum size of the pinned memory for results, in bytes.
const BYTES_PER_TRIP: usize = if cfg!(test) { 30_720 } else { 1 << 20 };

/// Minimum size of the device memory for results, in bytes. A delta of about 250,000 pairs fits.
const RESULT_BYTES: usize = if cfg!(test) { 4 * BYTES_PER_TRIP } else { 6 << 20 };

pub(super) struct Questions<G: Gpu> {
    /// Tallies, or other data that is copied between host and device.
    pub(super) results: G::Memory,
    pub(super) results_copy: G::HostMemory,
    pub(super) hosts: HostBuffer<G>,
}

impl<G: Gpu> Questions<G> {
    pub(super) fn new(gpu: &G, params: &Params) -> Result<Self, Error> {
        // Ages of echoes cover a whole window. Without echoes, words are ages in slices.
        let longest = Span::whole(params.counter_sizes().echo_delay.max(1), 1);
        let answers = HOSTS_PER_TRIP * answer_bytes(params.counter(), longest);
        let trip = BYTES_PER_TRIP.max(answers).max(sums_bytes(params)).next_multiple_of(8);
        Ok(Self {
            results: gpu.allocate(RESULT_BYTES.max(trip))?,
            results_copy: gpu.pin(trip)?,
            hosts: HostBuffer::new(gpu)?,
        })
    }

    /// Calls `each` with the index and the tallies of each host in `hosts`.
    pub(super) fn all_regions(
        &mut self,
        ctx: GpuCtx<'_, G>,
        hosts: &[HostId],
        span: Span,
        each: &(dyn Fn(usize, &[Tally]) + Sync),
    ) -> Result<(), Error> {
        let regions: Vec<Range<u32>> = ctx.params.regions().collect();
        let (fine, coarse) = regions.split_first().expect("a fine region");
        // Only the tallies of one trip are stored at a time, because all hosts may need all of their regions.
        for (hosts, first) in hosts.chunks(HOSTS_PER_TRIP).zip((0..).step_by(HOSTS_PER_TRIP)) {
            let giants = Mutex::new(Vec::new());
            self.tally(ctx, hosts, span, fine, &|number, tally| {
                if ctx.params.needs_coarse(&tally, span) {
                    giants
                        .lock()
                        .expect("no thread panics while it holds the lock")
                        .push((number, vec![tally]));
                } else {
                    each(first + number, from_ref(&tally));
                }
            })?;
            let giants = giants.into_inner().expect("no thread panics while it holds the lock");
            let of_giants: Vec<HostId> = giants.iter().map(|&(number, _)| hosts[number]).collect();
            let giants: Vec<_> = giants.into_iter().map(Mutex::new).collect();
            for region in coarse {
                self.tally(ctx, &of_giants, span, region, &|giant, tally| {
                    giants[giant]
                        .lock()
                        .expect("no thread panics while it holds the lock")
                        .1
                        .push(tally);
                })?;
            }
            for giant in giants {
                let (number, tallies) =
                    giant.into_inner().expect("no thread panics while it holds the lock");
                each(first + number, &tallies);
            }
        }
        Ok(())
    }

    /// Calls `each` with the index of each host in `hosts` and the tally of the host's `positions`. The tallies must
    /// fit into one trip.
    fn tally(
        &mut self,
        ctx: GpuCtx<'_, G>,
        hosts: &[HostId],
        span: Span,
        positions: &Range<u32>,
        each: &(dyn Fn(usize, Tally) + Sync),
    ) -> Result<(), Error> {
        if hosts.is_empty() {
            return Ok(());
        }
        let bytes_each = answer_bytes(ctx.params.counter(), span);
        let list = self.hosts.bring(ctx, hosts)?;
        let results = self.results.part(0..hosts.len() * bytes_each);
        ctx.clear(results)?;
        start_tallies(ctx, list, span, positions, results)?;
        ctx.fetch(results, &self.results_copy, |bytes| {
            share(hosts.len(), |host| {
                let answer = &bytes[host * bytes_each..][..bytes_each];
                each(host, tally(ctx.params.counter(), answer, span));
            });
        })
    }

    /// Returns the number of recorders within `span` for each row of the counter.
    pub(super) fn row_weights(
        &mut self,
        ctx: GpuCtx<'_, G>,
        span: Span,
    ) -> Result<Vec<u32>, Error> {
        self.start_row_weights(ctx, span)?;
        self.bring_row_weights(ctx)
    }

    pub(super) fn start_row_weights(
        &mut self,
        ctx: GpuCtx<'_, G>,
        span: Span,
    ) -> Result<(), Error> {
        start_count(ctx, span, self.results.part(0..sums_bytes(ctx.params)))
    }

    pub(super) fn bring_row_weights(&mut self, ctx: GpuCtx<'_, G>) -> Result<Vec<u32>, Error> {
        let mut weights = Vec::new();
        let sums = self.results.part(0..sums_bytes(ctx.params));
        ctx.fetch(sums, &self.results_copy, |bytes| weights = row_weights(bytes))?;
        Ok(weights)
    }
}

/// Memory for up to [`LIST_ROOM`] hosts, and for a [`List`] that contains all of them.
pub(super) struct HostBuffer<G: Gpu> {
    pub(super) memory: G::Memory,
    pub(super) copy: G::HostMemory,
}

impl<G: Gpu> HostBuffer<G> {
    fn new(gpu: &G) -> Result<Self, Error> {
        let [.., numbers] = list_parts(LIST_ROOM);
        Ok(Self { memory: gpu.allocate(numbers.end)?, copy: gpu.pin(numbers.end)? })
    }

    /// Starts copying `hosts` to the device, and returns a list of all of them.
    pub(super) fn bring(
        &mut self,
        ctx: GpuCtx<'_, G>,
        hosts: &[HostId],
    ) -> Result<List<'_, G::Memory>, Error> {
        let [count, ids, numbers] = list_parts(hosts.len());
        let all = self.memory.part(0..numbers.end);
        let list = List {
            hosts: self.memory.part(ids.clone()),
            numbers: self.memory.part(numbers.clone()),
            count: self.memory.part(0..size_of::<u32>()),
            skip: 0,
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

/// Returns the byte ranges of the count, the host IDs and the entries of a list of `hosts` hosts.
///
/// The first range includes 4 bytes of padding after the count.
fn list_parts(hosts: usize) -> [Range<usize>; 3] {
    let ids = size_of::<u64>() + hosts * size_of::<HostId>();
    [0..size_of::<u64>(), size_of::<u64>()..ids, ids..ids + hosts * size_of::<u32>()]
}

/// Returns the size of the sums that [`start_count`] writes, in bytes.
pub(super) fn sums_bytes(params: &Params) -> usize {
    params.counter_sizes().rows as usize * SUMS * size_of::<u32>()
}

pub(super) fn row_weights(bytes: &[u8]) -> Vec<u32> {
    values(bytes).chunks_exact(SUMS).map(|sums| sums.iter().sum()).collect()
}
