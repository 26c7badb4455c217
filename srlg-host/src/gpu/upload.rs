//! [`Uploads`]: buffers of pairs that are copied to a device.
//!
//! An upload buffer consists of pinned memory that threads fill, memory of the device, and a queue. It is copied and
//! scanned while threads fill other buffers. Pairs stay in a buffer until it is full, until pairs of a different type
//! or age arrive, or until other work needs them. All memory is allocated when the detector is created. A thread that
//! fills a buffer waits for the device only until the previous copy from the same buffer is complete.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use srlg_core::Ages;

use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, Part};
use super::scheme::start_touches;
use crate::error::Error;
use crate::ingest::pairs::{Family, PairSlice};

pub(super) const BUFFERS: usize = 4;

/// Size of an upload buffer in bytes, a multiple of the pair sizes of both families.
///
/// At this size, a copy takes much longer than starting it.
const CAPACITY: usize = if cfg!(test) { 416 } else { 8 << 20 };

/// Maximum size of the pairs in one scan, in bytes. The size is limited, because a scan counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// Starts scanning `pairs`, at most [`BYTES_PER_SCAN`] bytes in each scan.
pub(super) fn scan<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    family: Family,
    pairs: Part<'_, G::Memory>,
    ages: Ages,
) -> Result<(), Error> {
    pairs.pieces(BYTES_PER_SCAN).try_for_each(|pairs| start_touches(ctx, family, pairs, ages))
}

pub(super) struct Uploads<G: Gpu> {
    buffers: [Mutex<UploadBuffer<G>>; BUFFERS],
    next: AtomicUsize,
}

/// An upload buffer. The first `filled` bytes of `staging` contain pairs of type `family`, which have the ages `ages`.
pub(super) struct UploadBuffer<G: Gpu> {
    // Fields are dropped in this order, so memory is freed before the queue whose work uses it.
    staging: G::HostMemory,
    filled: usize,
    family: Family,
    ages: Ages,
    pairs: G::Memory,
    /// A mark that [`join`](Uploads::join) records after the scans in `queue`.
    done: G::Mark,
    /// Whether `done` comes after all scans in `queue`.
    is_joined: bool,
    pub(super) queue: G::Queue,
}

impl<G: Gpu> Uploads<G> {
    pub(super) fn new(gpu: &G) -> Result<Self, Error> {
        let buffer = || -> Result<_, Error> {
            Ok(Mutex::new(UploadBuffer {
                queue: gpu.queue()?,
                staging: gpu.pin(CAPACITY)?,
                filled: 0,
                family: Family::V4,
                ages: Ages::default(),
                pairs: gpu.allocate(CAPACITY)?,
                done: gpu.mark()?,
                is_joined: true,
            }))
        };
        let buffers = [buffer()?, buffer()?, buffer()?, buffer()?];
        Ok(Self { buffers, next: AtomicUsize::new(0) })
    }

    /// Copies `pairs` into buffers and submits full buffers.
    pub(super) fn scan(
        &self,
        ctx: GpuCtx<'_, G>,
        pairs: PairSlice<'_>,
        ages: Ages,
    ) -> Result<(), Error> {
        let (family, mut pairs) = (pairs.family(), pairs.as_bytes());
        while !pairs.is_empty() {
            let mut buffer = self.free();
            pairs = buffer.fill(ctx, family, pairs, ages)?;
            if buffer.filled == CAPACITY {
                buffer.submit(ctx)?;
                self.turn();
            }
        }
        Ok(())
    }

    /// Uploads and scans the pairs of `family` in the first `bytes` bytes of `pinned`, which the device reads directly.
    pub(super) fn scan_pinned(
        &self,
        ctx: GpuCtx<'_, G>,
        family: Family,
        pinned: &G::HostMemory,
        bytes: usize,
        ages: Ages,
    ) -> Result<(), Error> {
        for start in (0..bytes).step_by(CAPACITY) {
            let buffer = self.take();
            let pairs = buffer.pairs.part(0..CAPACITY.min(bytes - start));
            ctx.gpu.upload(&buffer.queue, pinned, start, pairs)?;
            scan(ctx.on(&buffer.queue), family, pairs, ages)?;
        }
        Ok(())
    }

    /// Locks a buffer to run work in its queue, without storing pairs in it. Other threads continue with the next
    /// buffer.
    pub(super) fn take(&self) -> MutexGuard<'_, UploadBuffer<G>> {
        let mut buffer = self.free();
        buffer.is_joined = false;
        self.turn();
        buffer
    }

    /// Submits the pairs in all buffers and makes the queue of `ctx` wait for all scans. The queue must be the same in
    /// all calls.
    pub(super) fn join(&self, ctx: GpuCtx<'_, G>) -> Result<(), Error> {
        self.buffers.iter().try_for_each(|buffer| {
            let mut buffer = lock(buffer);
            buffer.submit(ctx)?;
            if !buffer.is_joined {
                ctx.gpu.record(&buffer.queue, &buffer.done)?;
                ctx.gpu.wait(ctx.queue, &buffer.done)?;
                buffer.is_joined = true;
            }
            Ok(())
        })
    }

    pub(super) fn wait(&self, gpu: &G, mark: &G::Mark) -> Result<(), Error> {
        self.buffers.iter().try_for_each(|buffer| gpu.wait(&lock(buffer).queue, mark))
    }

    /// Locks a buffer that no other thread is filling. If all buffers are being filled, waits for the next one.
    fn free(&self) -> MutexGuard<'_, UploadBuffer<G>> {
        let next = self.next.load(Relaxed);
        let buffer = |number| &self.buffers[(next + number) % BUFFERS];
        let free = (0..BUFFERS).find_map(|number| buffer(number).try_lock().ok());
        free.unwrap_or_else(|| lock(buffer(0)))
    }

    /// Lets threads continue with the next buffer while the current one is copied.
    fn turn(&self) {
        self.next.fetch_add(1, Relaxed);
    }
}

impl<G: Gpu> UploadBuffer<G> {
    /// Copies as many whole pairs from `pairs` as there is room for. Returns the remaining bytes.
    fn fill<'p>(
        &mut self,
        ctx: GpuCtx<'_, G>,
        family: Family,
        pairs: &'p [u8],
        ages: Ages,
    ) -> Result<&'p [u8], Error> {
        if (self.family, self.ages) != (family, ages) {
            self.submit(ctx)?;
            (self.family, self.ages) = (family, ages);
        }
        let (taken, rest) = pairs.split_at(pairs.len().min(CAPACITY - self.filled));
        let start = self.filled;
        self.staging.write()?[start..][..taken.len()].copy_from_slice(taken);
        self.filled += taken.len();
        Ok(rest)
    }

    fn submit(&mut self, ctx: GpuCtx<'_, G>) -> Result<(), Error> {
        if self.filled == 0 {
            return Ok(());
        }
        let pairs = self.pairs.part(0..self.filled);
        ctx.gpu.upload(&self.queue, &self.staging, 0, pairs)?;
        (self.filled, self.is_joined) = (0, false);
        scan(ctx.on(&self.queue), self.family, pairs, self.ages)
    }
}

/// Locks `buffer`. Its data is consistent even after a panic, because `filled` changes only after the pairs were
/// copied.
fn lock<T>(buffer: &Mutex<T>) -> MutexGuard<'_, T> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}
