//! [`Uploads`]: the ways of pairs into a device.
//!
//! An upload buffer has pinned memory that threads fill, memory of the device, and a queue: its
//! copy and its scan happen while threads fill other buffers. A few pairs wait in a buffer until it
//! is full or a question is asked. Nothing is allocated after the start, and a thread waits
//! only for the copy of what was in its buffer several buffers ago.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use srlg_core::Ages;

use super::ctx::GpuCtx;
use super::device::{Gpu, HostMemory, Memory, Part};
use super::scheme::start_touches;
use crate::error::Error;
use crate::ingest::pairs::{Family, PairSlice};

/// Upload buffers: some are filled while others are copied and scanned.
pub(super) const BUFFERS: usize = 4;

/// Bytes of an upload buffer, whole pairs of either family: their copy takes much longer than what it costs to start it.
const CAPACITY: usize = if cfg!(test) { 416 } else { 8 << 20 };

/// Bytes of pairs of one scan, which counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// Starts a scan of `pairs`, which were in contact `ages` ago.
pub(super) fn scan<G: Gpu>(
    ctx: GpuCtx<'_, G>,
    family: Family,
    pairs: Part<'_, G::Memory>,
    ages: Ages,
) -> Result<(), Error> {
    pairs.pieces(BYTES_PER_SCAN).try_for_each(|pairs| start_touches(ctx, family, pairs, ages))
}

/// All upload buffers of one detector.
pub(super) struct Uploads<G: Gpu> {
    buffers: [Mutex<UploadBuffer<G>>; BUFFERS],
    /// The buffer to fill next.
    next: AtomicUsize,
}

/// One upload buffer. Invariant: the pairs in it, the first `filled` bytes of `staging`, are all of `family` and have `ages`.
pub(super) struct UploadBuffer<G: Gpu> {
    // Dropped in this order: memory before the queue whose work uses it.
    staging: G::HostMemory,
    filled: usize,
    family: Family,
    ages: Ages,
    pairs: G::Memory,
    /// Behind the last scan that was joined.
    done: G::Mark,
    /// Whether there was no scan after that.
    is_joined: bool,
    pub(super) queue: G::Queue,
}

impl<G: Gpu> Uploads<G> {
    /// Allocates the buffers.
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

    /// Takes in `pairs`, which were in contact `ages` ago.
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

    /// Takes in the pairs of `family` in the first `bytes` of `pinned`, which the device reads there.
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

    /// Lends a buffer for work that does not wait in it; other threads continue with the next one.
    pub(super) fn take(&self) -> MutexGuard<'_, UploadBuffer<G>> {
        let mut buffer = self.free();
        buffer.is_joined = false;
        self.turn();
        buffer
    }

    /// Starts what waits in all buffers, and lets the queue of `ctx`, always the same one, wait for it.
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

    /// Lets all buffers wait for `mark`.
    pub(super) fn wait(&self, gpu: &G, mark: &G::Mark) -> Result<(), Error> {
        self.buffers.iter().try_for_each(|buffer| gpu.wait(&lock(buffer).queue, mark))
    }

    /// Locks a buffer that no other thread fills, or else waits for the next one.
    fn free(&self) -> MutexGuard<'_, UploadBuffer<G>> {
        let next = self.next.load(Relaxed);
        let buffer = |number| &self.buffers[(next + number) % BUFFERS];
        let free = (0..BUFFERS).find_map(|number| buffer(number).try_lock().ok());
        free.unwrap_or_else(|| lock(buffer(0)))
    }

    /// Continues with the next buffer, while this one is copied.
    fn turn(&self) {
        self.next.fetch_add(1, Relaxed);
    }
}

impl<G: Gpu> UploadBuffer<G> {
    /// Takes as many of the bytes of `pairs` as there is room for, whole pairs, and returns the rest.
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

    /// Starts the copy and the scan of what is in the buffer.
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

/// Locks `buffer`. A thread that panicked with it left it whole, as its pairs are counted last.
fn lock<T>(buffer: &Mutex<T>) -> MutexGuard<'_, T> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}
