//! [`GpuCtx`]: a device, one of its queues, and the arrays of a detector on the device.

use srlg_core::{ARRAYS, Params};
use srlg_kernels::Kernel;
use zerocopy::{FromBytes, Immutable};

use super::device::{Gpu, HostMemory, Memory, On, Part, values};
use crate::error::Error;

/// Number of blocks that fill one multiprocessor.
const BLOCKS_PER_PROCESSOR: usize = 8;

/// The recorders of both arrays. The size of each array is rounded up to whole 32-bit words, because kernels compare
/// and swap whole words.
pub(super) struct Arrays<G: Gpu>([G::Memory; ARRAYS]);

impl<G: Gpu> Arrays<G> {
    /// Allocates both arrays and starts setting all recorders to untouched.
    pub(super) fn new(gpu: &G, queue: &G::Queue, params: &Params) -> Result<Self, Error> {
        let [finder, counter] = params.arrays().map(|shape| -> Result<_, Error> {
            let memory = gpu.allocate(shape.bytes().next_multiple_of(size_of::<u32>()))?;
            gpu.fill(queue, memory.all(), u8::MAX)?;
            Ok(memory)
        });
        Ok(Self([finder?, counter?]))
    }
}

pub(super) struct GpuCtx<'a, G: Gpu> {
    pub(super) gpu: &'a G,
    pub(super) queue: &'a G::Queue,
    pub(super) params: &'a Params,
    pub(super) arrays: &'a Arrays<G>,
}

impl<G: Gpu> Clone for GpuCtx<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu> Copy for GpuCtx<'_, G> {}

impl<'a, G: Gpu> GpuCtx<'a, G> {
    pub(super) fn on(self, queue: &'a G::Queue) -> Self {
        Self { queue, ..self }
    }

    pub(super) fn recorders(self, array: usize) -> Part<'a, G::Memory> {
        self.arrays.0[array].part(0..self.params.arrays()[array].bytes())
    }

    /// Returns the recorders of `array` and the padding after the last one, as whole 32-bit words.
    pub(super) fn words(self, array: usize) -> Part<'a, G::Memory> {
        self.arrays.0[array].all()
    }

    /// Starts `kernel` with as many blocks as its work needs, up to the number that can run at the same time.
    pub(super) fn start(self, kernel: impl Kernel<Place = On<G>> + 'static) -> Result<(), Error> {
        let at_once = self.gpu.processors() as usize * BLOCKS_PER_PROCESSOR;
        let blocks = kernel.blocks().clamp(1, at_once);
        self.gpu.launch(self.queue, blocks as u32, kernel)
    }

    pub(super) fn clear(self, part: Part<'_, G::Memory>) -> Result<(), Error> {
        self.gpu.fill(self.queue, part, 0)
    }

    /// Starts copying `from` to `to`, beginning at byte `start` of `to`.
    pub(super) fn download(
        self,
        from: Part<'_, G::Memory>,
        to: &G::HostMemory,
        start: usize,
    ) -> Result<(), Error> {
        self.gpu.download(self.queue, from, to, start)
    }

    /// Copies `bytes` to `to`, which must be as long as `bytes`, through the pinned memory `by`.
    pub(super) fn send(
        self,
        by: &mut G::HostMemory,
        bytes: &[u8],
        to: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        assert_eq!(bytes.len(), to.bytes, "the lengths differ");
        for (run, to) in bytes.chunks(by.bytes()).zip(to.pieces(by.bytes())) {
            by.write()?[..run.len()].copy_from_slice(run);
            self.gpu.upload(self.queue, by, 0, to)?;
        }
        Ok(())
    }

    /// Copies `from` in pieces to the pinned memory `by` and calls `take` with the bytes of each piece.
    pub(super) fn fetch(
        self,
        from: Part<'_, G::Memory>,
        by: &G::HostMemory,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        for run in from.pieces(by.bytes()) {
            self.download(run, by, 0)?;
            by.read(|pinned| take(&pinned[..run.bytes]))?;
        }
        Ok(())
    }

    /// Copies `from` through the pinned memory `by` and appends its values to `all`.
    pub(super) fn fetch_into<T: FromBytes + Immutable + Copy>(
        self,
        from: Part<'_, G::Memory>,
        by: &G::HostMemory,
        all: &mut Vec<T>,
    ) -> Result<(), Error> {
        self.fetch(from, by, |bytes| all.extend_from_slice(values(bytes)))
    }
}
