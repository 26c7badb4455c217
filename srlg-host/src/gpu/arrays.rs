//! [`Arrays`]: the recorders of one detector in the memory of a device.

use std::ops::Deref;

use srlg_core::scheme::{CounterParams, CounterRecorder, FinderParams};
use srlg_core::{ARRAYS, Ages, COUNTER, FINDER, Params, Span};
use srlg_kernels::{Count, Kernel};

use super::device::{Gpu, Memory, On, Part, Pinned};
use super::scheme::{GpuCounter, GpuFinder, GpuScheme};
use crate::error::Error;

/// Bytes of pairs of one scan, which counts pairs in 32 bits.
const BYTES_PER_SCAN: usize = 1 << 30;

/// Blocks that fill a processor.
const BLOCKS_PER_PROCESSOR: usize = 8;

/// The recorders of all arrays, each array in whole words of 32 bits: kernels swap such words.
pub(super) struct Arrays<G: Gpu>([G::Memory; ARRAYS]);

/// A device, and the arrays of a detector there.
pub(crate) struct DeviceCtx<'a, G: Gpu> {
    pub(crate) gpu: &'a G,
    pub(crate) params: &'a Params,
    arrays: &'a Arrays<G>,
}

impl<G: Gpu> Clone for DeviceCtx<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu> Copy for DeviceCtx<'_, G> {}

/// The same, with what its finder and its counter need.
pub(super) struct GpuCtx<'a, G: Gpu, S: GpuScheme> {
    device: DeviceCtx<'a, G>,
    pub(super) finder_params: &'a FinderParams<S>,
    pub(super) counter_params: &'a CounterParams<S>,
}

impl<G: Gpu, S: GpuScheme> Clone for GpuCtx<'_, G, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu, S: GpuScheme> Copy for GpuCtx<'_, G, S> {}

impl<'a, G: Gpu, S: GpuScheme> Deref for GpuCtx<'a, G, S> {
    type Target = DeviceCtx<'a, G>;

    fn deref(&self) -> &DeviceCtx<'a, G> {
        &self.device
    }
}

impl<G: Gpu> Arrays<G> {
    /// Untouched recorders, as soon as `queue` gets there.
    pub(super) fn new(gpu: &G, queue: &G::Queue, params: &Params) -> Result<Self, Error> {
        let [finder, counter] = params.arrays().map(|shape| -> Result<_, Error> {
            let memory = gpu.allocate(shape.bytes().next_multiple_of(size_of::<u32>()))?;
            gpu.fill(queue, memory.all(), u8::MAX)?;
            Ok(memory)
        });
        Ok(Self([finder?, counter?]))
    }
}

impl<'a, G: Gpu> DeviceCtx<'a, G> {
    /// The recorders of `array`.
    pub(crate) fn recorders(self, array: usize) -> Part<'a, G::Memory> {
        let Part { memory, .. } = self.words(array);
        memory.part(0..self.params.arrays()[array].bytes())
    }

    /// The words of 32 bits that hold them.
    pub(super) fn words(self, array: usize) -> Part<'a, G::Memory> {
        self.arrays.0[array].all()
    }

    /// Starts `kernel`: no more blocks than there is work for, and no more than run at once.
    pub(crate) fn start(
        self,
        queue: &G::Queue,
        kernel: impl Kernel<Place = On<G>> + 'static,
    ) -> Result<(), Error> {
        let at_once = self.gpu.processors() as usize * BLOCKS_PER_PROCESSOR;
        let blocks = kernel.blocks().clamp(1, at_once);
        self.gpu.launch(queue, blocks as u32, kernel)
    }

    /// Copies `bytes` to `to`, `by` pinned memory.
    pub(crate) fn send(
        self,
        queue: &G::Queue,
        by: &mut G::Pinned,
        bytes: &[u8],
        to: &G::Memory,
    ) -> Result<(), Error> {
        let mut at = 0;
        for run in bytes.chunks(by.bytes()) {
            by.write(|pinned| pinned[..run.len()].copy_from_slice(run))?;
            self.gpu.upload(queue, by, 0, to.part(at..at + run.len()))?;
            at += run.len();
        }
        Ok(())
    }

    /// Copies `from`, `by` pinned memory, and hands `take` run after run of it.
    pub(crate) fn fetch(
        self,
        queue: &G::Queue,
        from: Part<'_, G::Memory>,
        by: &G::Pinned,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        for at in (0..from.bytes).step_by(by.bytes()) {
            let bytes = by.bytes().min(from.bytes - at);
            let start = from.start + at;
            self.gpu.download(queue, from.memory.part(start..start + bytes), by)?;
            by.read(|pinned| take(&pinned[..bytes]))?;
        }
        Ok(())
    }
}

impl<'a, G: Gpu, S: GpuScheme> GpuCtx<'a, G, S> {
    pub(super) fn new(
        (gpu, params, arrays): (&'a G, &'a Params, &'a Arrays<G>),
        (finder_params, counter_params): (&'a FinderParams<S>, &'a CounterParams<S>),
    ) -> Self {
        Self { device: DeviceCtx { gpu, params, arrays }, finder_params, counter_params }
    }

    /// Starts a scan of `pairs`.
    pub(super) fn scan(
        self,
        queue: &G::Queue,
        pairs: Part<'_, G::Memory>,
        ages: Ages,
    ) -> Result<(), Error> {
        let Self { device, finder_params, counter_params } = self;
        let (finder, counter) = (self.words(FINDER), self.words(COUNTER));
        // None for no pairs, whose memory may have no address.
        for at in (0..pairs.bytes).step_by(BYTES_PER_SCAN) {
            let bytes = BYTES_PER_SCAN.min(pairs.bytes - at);
            let pairs = Part { start: pairs.start + at, bytes, ..pairs };
            S::Finder::touch(device, queue, finder_params, (pairs, finder), ages.finder)?;
            S::Counter::touch(device, queue, counter_params, (pairs, counter), ages.counter)?;
        }
        Ok(())
    }

    /// Starts counting the recorders of the counter within `span`, per row, into `sums`.
    pub(super) fn count(
        self,
        queue: &G::Queue,
        span: Span,
        sums: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let (row_len, limit) = (self.params.counter_sizes().row_len, self.params.step(span.ages));
        let (recorders, sums) = (self.recorders(COUNTER).buffer(), sums.buffer());
        self.start(queue, Count::<_, CounterRecorder<S>> { row_len, limit, recorders, sums })
    }
}
