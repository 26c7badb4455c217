//! [`Gpu`]: a GPU as the backend sees it, and the only way in which it sees one: memory, queues of work, marks in them,
//! and the kernels of srlg-kernels.
//!
//! Work in one queue happens in order, work in different queues at any time. Nothing but
//! [`finish`](Gpu::finish) and access to pinned memory waits. Any error but those of `allocate`
//! and `pin` may come late, from earlier work, and leaves the memory in an unknown state.

use std::marker::PhantomData;
use std::ops::Range;

use srlg_kernels::{Element, Kernel, Length, Place};
use zerocopy::{FromBytes, Immutable};

#[cfg(feature = "cuda")]
use super::cuda::pairs::DevicePairs;
use crate::error::Error;

/// Returns `bytes` that a device left as values of `T`.
pub(crate) fn values<T: FromBytes + Immutable>(bytes: &[u8]) -> &[T] {
    <[T]>::ref_from_bytes(bytes).expect("answers are whole values in aligned memory")
}

/// A device with memory of its own.
pub(crate) trait Gpu: Send + Sync + Sized + 'static {
    /// Memory of the device; its drop waits for work that uses it.
    type Memory: Memory;
    /// Memory of the host that the device copies from and to.
    type HostMemory: HostMemory;
    /// Work that happens in order.
    type Queue: Send + Sync;
    /// A point in a queue.
    type Mark: Send + Sync;

    /// Returns how many groups of threads run at the same time; the shapes of launches follow from it.
    fn processors(&self) -> u32;

    /// Allocates memory of `bytes`, with any content.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, Error>;

    /// Allocates pinned memory of `bytes`, all zero.
    fn pin(&self, bytes: usize) -> Result<Self::HostMemory, Error>;

    /// Makes an empty queue.
    fn queue(&self) -> Result<Self::Queue, Error>;

    /// Makes a mark that has been reached.
    fn mark(&self) -> Result<Self::Mark, Error>;

    /// Sets all bytes of `part`.
    fn fill(
        &self,
        queue: &Self::Queue,
        part: Part<'_, Self::Memory>,
        byte: u8,
    ) -> Result<(), Error>;

    /// Copies the bytes of `from` from `start` on, as many as `to` has.
    fn upload(
        &self,
        queue: &Self::Queue,
        from: &Self::HostMemory,
        start: usize,
        to: Part<'_, Self::Memory>,
    ) -> Result<(), Error>;

    /// Copies `from` to the bytes of `to` from number `start` on.
    fn download(
        &self,
        queue: &Self::Queue,
        from: Part<'_, Self::Memory>,
        to: &Self::HostMemory,
        start: usize,
    ) -> Result<(), Error>;

    /// Starts `blocks` of `kernel`.
    ///
    /// # Panics
    /// When [`Kernel::check`] does.
    fn launch<K: Kernel<Place = On<Self>> + 'static>(
        &self,
        queue: &Self::Queue,
        blocks: u32,
        kernel: K,
    ) -> Result<(), Error>;

    /// Lends pairs that users have on the device to `scan`, which starts work with them in `queue`.
    #[cfg(feature = "cuda")]
    fn lend(
        queue: &Self::Queue,
        pairs: &dyn DevicePairs,
        scan: Scan<'_, Self::Memory>,
    ) -> Result<(), Error>;

    /// Puts `mark`, which was somewhere else before, behind all work that is in `queue`.
    fn record(&self, queue: &Self::Queue, mark: &Self::Mark) -> Result<(), Error>;

    /// Lets later work in `queue` wait for `mark`.
    fn wait(&self, queue: &Self::Queue, mark: &Self::Mark) -> Result<(), Error>;

    /// Waits for `mark`.
    fn finish(&self, mark: &Self::Mark) -> Result<(), Error>;
}

/// A function that starts a scan of pairs in memory of a device.
pub(crate) type Scan<'a, M> = &'a mut dyn FnMut(Part<'_, M>) -> Result<(), Error>;

/// Memory of a device.
pub(crate) trait Memory: Send + Sync + Sized {
    /// Where kernels find something in it.
    type Address: Copy + Send + Sync + 'static;

    /// Returns its length.
    fn bytes(&self) -> usize;

    /// Returns the address of its byte number `start`.
    fn address(&self, start: usize) -> Self::Address;

    /// Returns a range of its bytes.
    ///
    /// # Panics
    /// When it has no such range.
    fn part(&self, range: Range<usize>) -> Part<'_, Self> {
        assert!(range.start <= range.end && range.end <= self.bytes(), "a part of memory");
        Part { memory: self, start: range.start, bytes: range.len() }
    }

    /// Returns all of it.
    fn all(&self) -> Part<'_, Self> {
        self.part(0..self.bytes())
    }
}

/// Memory of the host. Access waits for copies from and to it.
pub(crate) trait HostMemory: Send + Sync + 'static {
    /// Returns its length.
    fn bytes(&self) -> usize;

    /// Calls `look` with its bytes.
    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error>;

    /// Lends its bytes to be changed.
    fn write(&mut self) -> Result<&mut [u8], Error>;
}

/// A range of bytes in memory of a device.
#[derive(Debug)]
pub(crate) struct Part<'a, M> {
    /// What it is a part of.
    pub(crate) memory: &'a M,
    /// Its first byte there.
    pub(crate) start: usize,
    /// Its length.
    pub(crate) bytes: usize,
}

impl<M> Clone for Part<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Part<'_, M> {}

impl<M> Part<'_, M> {
    /// Returns its pieces of up to `bytes` bytes, in order; none of an empty part, whose memory may have no address.
    pub(crate) fn pieces(self, bytes: usize) -> impl Iterator<Item = Self> {
        (0..self.bytes).step_by(bytes).map(move |at| {
            let bytes = bytes.min(self.bytes - at);
            Part { start: self.start + at, bytes, ..self }
        })
    }
}

impl<M: Memory> Part<'_, M> {
    /// Returns it as values of `T`.
    ///
    /// # Panics
    /// When it holds no whole number of them, begins within one, or holds 2^32 or more.
    pub(crate) fn buffer<T>(self) -> Buffer<M::Address, T> {
        let whole = self.bytes.is_multiple_of(size_of::<T>());
        assert!(whole && self.start.is_multiple_of(align_of::<T>()), "a part holds whole values");
        let len = u32::try_from(self.bytes / size_of::<T>()).expect("no part has 2^32 values");
        Buffer { address: self.memory.address(self.start), len, of: PhantomData }
    }
}

/// Values of `T` in memory of a device, as a launch passes them.
#[repr(C)]
pub(crate) struct Buffer<A, T> {
    /// Where the first is.
    pub(crate) address: A,
    len: u32,
    of: PhantomData<fn() -> T>,
}

impl<A, T> Length for Buffer<A, T> {
    fn len(&self) -> usize {
        self.len as usize
    }
}

/// The place of a kernel that `G` launches.
pub(crate) struct On<G>(PhantomData<G>);

impl<G: Gpu> Place for On<G> {
    type Buffer<T: Element> = Buffer<<G::Memory as Memory>::Address, T>;
}
