//! [`GpuCtx`]: a device, a queue of its work, and the arrays of a detector there.

use std::marker::PhantomData;

use srlg_core::{ARRAYS, Params};
use srlg_kernels::Kernel;
use zerocopy::{FromBytes, Immutable};

use super::device::{Gpu, Memory, On, Part, Pinned, values};
use crate::error::Error;

/// Blocks that fill a processor.
const BLOCKS_PER_PROCESSOR: usize = 8;

/// The recorders of all arrays, each array in whole words of 32 bits: kernels swap such words.
pub(super) struct Arrays<G: Gpu>([G::Memory; ARRAYS]);

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

/// A device, a queue, and the arrays of a detector of the scheme `S`.
pub(crate) struct GpuCtx<'a, G: Gpu, S> {
    pub(crate) gpu: &'a G,
    pub(crate) queue: &'a G::Queue,
    pub(crate) params: &'a Params,
    pub(super) arrays: &'a Arrays<G>,
    pub(super) scheme: PhantomData<S>,
}

impl<G: Gpu, S> Clone for GpuCtx<'_, G, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Gpu, S> Copy for GpuCtx<'_, G, S> {}

impl<'a, G: Gpu, S> GpuCtx<'a, G, S> {
    /// The same with another queue.
    pub(super) fn on(self, queue: &'a G::Queue) -> Self {
        Self { queue, ..self }
    }

    /// The recorders of `array`.
    pub(crate) fn recorders(self, array: usize) -> Part<'a, G::Memory> {
        self.arrays.0[array].part(0..self.params.arrays()[array].bytes())
    }

    /// The words of 32 bits that hold them.
    pub(crate) fn words(self, array: usize) -> Part<'a, G::Memory> {
        self.arrays.0[array].all()
    }

    /// Starts `kernel`: no more blocks than there is work for, and no more than run at once.
    pub(crate) fn start(self, kernel: impl Kernel<Place = On<G>> + 'static) -> Result<(), Error> {
        let at_once = self.gpu.processors() as usize * BLOCKS_PER_PROCESSOR;
        let blocks = kernel.blocks().clamp(1, at_once);
        self.gpu.launch(self.queue, blocks as u32, kernel)
    }

    /// Sets all bytes of `part` to 0.
    pub(crate) fn clear(self, part: Part<'_, G::Memory>) -> Result<(), Error> {
        self.gpu.fill(self.queue, part, 0)
    }

    /// Copies `from` to the bytes of `to` from number `start` on.
    pub(crate) fn download(
        self,
        from: Part<'_, G::Memory>,
        to: &G::Pinned,
        start: usize,
    ) -> Result<(), Error> {
        self.gpu.download(self.queue, from, to, start)
    }

    /// Copies `bytes` to `to`, `by` pinned memory.
    pub(crate) fn send(
        self,
        by: &mut G::Pinned,
        bytes: &[u8],
        to: Part<'_, G::Memory>,
    ) -> Result<(), Error> {
        let mut at = 0;
        for run in bytes.chunks(by.bytes()) {
            by.write()?[..run.len()].copy_from_slice(run);
            self.gpu.upload(
                self.queue,
                by,
                0,
                Part { start: to.start + at, bytes: run.len(), ..to },
            )?;
            at += run.len();
        }
        Ok(())
    }

    /// Copies `from`, `by` pinned memory, and hands `take` run after run of it.
    pub(crate) fn fetch(
        self,
        from: Part<'_, G::Memory>,
        by: &G::Pinned,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        for at in (0..from.bytes).step_by(by.bytes()) {
            let bytes = by.bytes().min(from.bytes - at);
            self.download(Part { start: from.start + at, bytes, ..from }, by, 0)?;
            by.read(|pinned| take(&pinned[..bytes]))?;
        }
        Ok(())
    }

    /// Copies `from`, `by` pinned memory, and adds what is there to `all`.
    pub(crate) fn fetch_into<T: FromBytes + Immutable + Copy>(
        self,
        from: Part<'_, G::Memory>,
        by: &G::Pinned,
        all: &mut Vec<T>,
    ) -> Result<(), Error> {
        self.fetch(from, by, |bytes| all.extend_from_slice(values(bytes)))
    }
}
