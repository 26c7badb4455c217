//! [`Arrays`]: the recorders of one detector in the memory of a device.

use srlg_core::{Ages, Params};

use super::device::{Gpu, Memory, Part, Pinned};
use super::kernel::{Array, Kernel};
use crate::error::Error;

/// Bytes of pairs of one scan, whose threads count pairs in 32 bits; hosts of 32 bits count bytes
/// so, too.
const MOST_BYTES: usize = 1 << 30;

/// The recorders of both arrays.
pub(super) struct Arrays<G: Gpu> {
    pub(super) rough: G::Memory,
    pub(super) linear: G::Memory,
}

/// Where the recorders are, and what belongs to them.
pub(super) struct To<'a, G: Gpu> {
    pub(super) gpu: &'a G,
    pub(super) params: &'a Params,
    pub(super) arrays: &'a Arrays<G>,
}

impl<G: Gpu> Clone for To<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu> Copy for To<'_, G> {}

impl<G: Gpu> Arrays<G> {
    /// Untouched recorders, as soon as `queue` gets there.
    pub(super) fn new(gpu: &G, queue: &G::Queue, params: &Params) -> Result<Self, Error> {
        let rough = gpu.allocate(Array::Rough.bytes(params))?;
        let linear = gpu.allocate(Array::Linear.bytes(params))?;
        gpu.fill(queue, rough.all(), u8::MAX)?;
        gpu.fill(queue, linear.all(), u8::MAX)?;
        Ok(Self { rough, linear })
    }

    pub(super) fn of(&self, array: Array) -> &G::Memory {
        match array {
            Array::Rough => &self.rough,
            Array::Linear => &self.linear,
        }
    }
}

impl<'a, G: Gpu> To<'a, G> {
    /// Starts `kernel`.
    pub(super) fn start(
        self,
        queue: &G::Queue,
        kernel: &Kernel<'_, G::Memory>,
    ) -> Result<(), Error> {
        let shape = kernel.shape(self.params, self.gpu.processors());
        self.gpu.launch(queue, self.params, shape, kernel)
    }

    /// Starts a scan of `pairs`.
    pub(super) fn scan(
        self,
        queue: &G::Queue,
        pairs: Part<'_, G::Memory>,
        ages: Ages,
    ) -> Result<(), Error> {
        let (rough, linear) = (&self.arrays.rough, &self.arrays.linear);
        // None for no pairs, whose memory may have no address.
        for at in (0..pairs.bytes).step_by(MOST_BYTES) {
            let bytes = MOST_BYTES.min(pairs.bytes - at);
            let pairs = Part { start: pairs.start + at, bytes, ..pairs };
            self.start(queue, &Kernel::Scan { ages, pairs, rough, linear })?;
        }
        Ok(())
    }

    /// By how much the words of an array grow.
    pub(super) fn step(self, array: Array, ages: Ages) -> u32 {
        match array {
            Array::Rough => ages.rough,
            Array::Linear => self.params.step(ages.linear),
        }
    }

    /// Copies `bytes` to `to`, `by` pinned memory.
    pub(super) fn send(
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
    pub(super) fn fetch(
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
