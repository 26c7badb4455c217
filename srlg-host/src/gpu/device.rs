//! [`Gpu`]: the interface through which the backend uses memory, queues and marks of a GPU, and launches kernels of
//! srlg-kernels.
//!
//! Work in one queue runs in order. Work in different queues runs in any order. Most functions return before their work
//! is complete. A call to [`finish`](Gpu::finish) waits until a mark is reached. An access to pinned memory, or a
//! drop of memory, waits for the work that uses the memory. An error of any function except `allocate` and `pin` may
//! come from earlier work, and leaves the memory in an unknown state.

use std::marker::PhantomData;
use std::ops::Range;

use srlg_kernels::{Element, Kernel, Length, Place};
use zerocopy::{FromBytes, Immutable};

#[cfg(feature = "cuda")]
use super::cuda::pairs::DevicePairs;
use crate::error::Error;

/// Interprets `bytes`, which a device wrote, as values of type `T`.
pub(crate) fn values<T: FromBytes + Immutable>(bytes: &[u8]) -> &[T] {
    <[T]>::ref_from_bytes(bytes).expect("results are whole values in aligned memory")
}

pub(crate) trait Gpu: Send + Sync + Sized + 'static {
    /// Device memory. Dropping it waits for all work that uses the memory.
    type Memory: Memory;
    type HostMemory: HostMemory;
    type Queue: Send + Sync;
    /// A point in a queue.
    type Mark: Send + Sync;

    /// Returns the number of multiprocessors, which limits the number of blocks in a launch.
    fn processors(&self) -> u32;

    /// Allocates `bytes` bytes of device memory, with arbitrary contents.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// Allocates `bytes` bytes of pinned memory, set to zero.
    fn pin(&self, bytes: usize) -> Result<Self::HostMemory, Error>;

    fn queue(&self) -> Result<Self::Queue, Error>;

    /// Creates a mark that has already been reached.
    fn mark(&self) -> Result<Self::Mark, Error>;

    fn fill(
        &self,
        queue: &Self::Queue,
        part: Part<'_, Self::Memory>,
        byte: u8,
    ) -> Result<(), Error>;

    /// Starts filling `to` with bytes of `from`, beginning at byte `start` of `from`.
    fn upload(
        &self,
        queue: &Self::Queue,
        from: &Self::HostMemory,
        start: usize,
        to: Part<'_, Self::Memory>,
    ) -> Result<(), Error>;

    /// Starts copying all of `from` to `to`, beginning at byte `start` of `to`.
    fn download(
        &self,
        queue: &Self::Queue,
        from: Part<'_, Self::Memory>,
        to: &Self::HostMemory,
        start: usize,
    ) -> Result<(), Error>;

    /// Starts `blocks` blocks of `kernel`.
    ///
    /// # Panics
    /// Panics if [`Kernel::check`] panics.
    fn launch<K: Kernel<Place = On<Self>> + 'static>(
        &self,
        queue: &Self::Queue,
        blocks: u32,
        kernel: K,
    ) -> Result<(), Error>;

    /// Passes a user's pairs on the device to `scan`, which starts work on them in `queue`.
    #[cfg(feature = "cuda")]
    fn lend(
        queue: &Self::Queue,
        pairs: &dyn DevicePairs,
        scan: Scan<'_, Self::Memory>,
    ) -> Result<(), Error>;

    /// Moves `mark` to the end of the work that is now in `queue`.
    fn record(&self, queue: &Self::Queue, mark: &Self::Mark) -> Result<(), Error>;

    /// Makes later work in `queue` wait for `mark`.
    fn wait(&self, queue: &Self::Queue, mark: &Self::Mark) -> Result<(), Error>;

    /// Waits until `mark` is reached.
    fn finish(&self, mark: &Self::Mark) -> Result<(), Error>;
}

pub(crate) type Scan<'a, M> = &'a mut dyn FnMut(Part<'_, M>) -> Result<(), Error>;

/// Memory of a device.
pub(crate) trait Memory: Send + Sync + Sized {
    /// Address of a value, as passed to kernels.
    type Address: Copy + Send + Sync + 'static;

    fn bytes(&self) -> usize;

    fn address(&self, start: usize) -> Self::Address;

    /// # Panics
    /// Panics if the memory does not contain `range`.
    fn part(&self, range: Range<usize>) -> Part<'_, Self> {
        assert!(
            range.start <= range.end && range.end <= self.bytes(),
            "the part is outside its memory"
        );
        Part { memory: self, start: range.start, bytes: range.len() }
    }

    fn all(&self) -> Part<'_, Self> {
        self.part(0..self.bytes())
    }
}

/// Pinned host memory. Reads and writes wait until all copies to and from the memory are complete.
pub(crate) trait HostMemory: Send + Sync + 'static {
    fn bytes(&self) -> usize;

    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error>;

    fn write(&mut self) -> Result<&mut [u8], Error>;
}

/// A range of bytes in the memory of a device.
#[derive(Debug)]
pub(crate) struct Part<'a, M> {
    pub(crate) memory: &'a M,
    /// Offset within `memory`, in bytes.
    pub(crate) start: usize,
    /// Length in bytes.
    pub(crate) bytes: usize,
}

impl<M> Clone for Part<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Part<'_, M> {}

impl<M> Part<'_, M> {
    /// Splits the part into pieces of up to `bytes` bytes, in order. An empty part has no pieces, because its memory
    /// may have no address.
    pub(crate) fn pieces(self, bytes: usize) -> impl Iterator<Item = Self> {
        (0..self.bytes).step_by(bytes).map(move |at| {
            let bytes = bytes.min(self.bytes - at);
            Part { start: self.start + at, bytes, ..self }
        })
    }
}

impl<M: Memory> Part<'_, M> {
    /// Interprets the part as values of type `T`.
    ///
    /// # Panics
    /// Panics if the part does not consist of whole values, is misaligned, or contains 2^32 values or more.
    pub(crate) fn buffer<T>(self) -> Buffer<M::Address, T> {
        let whole = self.bytes.is_multiple_of(size_of::<T>());
        assert!(
            whole && self.start.is_multiple_of(align_of::<T>()),
            "the part does not consist of whole values"
        );
        let len =
            u32::try_from(self.bytes / size_of::<T>()).expect("a part has fewer than 2^32 values");
        Buffer { address: self.memory.address(self.start), len, of: PhantomData }
    }
}

/// Values of type `T` in the memory of a device, as passed to a kernel.
#[repr(C)]
pub(crate) struct Buffer<A, T> {
    pub(crate) address: A,
    len: u32,
    of: PhantomData<fn() -> T>,
}

impl<A, T> Length for Buffer<A, T> {
    fn len(&self) -> usize {
        self.len as usize
    }
}

pub(crate) struct On<G>(PhantomData<G>);

impl<G: Gpu> Place for On<G> {
    type Buffer<T: Element> = Buffer<<G::Memory as Memory>::Address, T>;
}
