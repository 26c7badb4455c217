//! [`Kernel`]: what a row of the table becomes, wherever its buffers are.
//!
//! Shape: the arguments of a kernel are one structure, generic over a [`Place`], which says what a
//! buffer is: slices where a body runs, addresses and lengths where a host launches and where an
//! entry point begins. [`Kernel::carry`] makes the arguments of one place of those of another, by
//! a [`Carry`] that knows nothing of the kernel.

use core::alloc::Layout;
use core::marker::PhantomData;

use srlg_core::{Recorder, Recorder8, Recorder16};
use zerocopy::{FromBytes, IntoBytes};

use crate::Grid;

/// What a buffer holds.
pub trait Element: FromBytes + IntoBytes + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Send + Sync + 'static> Element for T {}

/// A recorder that kernels exist for.
pub trait Width: Element + Recorder<Word: Element> {
    /// Its bits, as the names of entry points end.
    const NAME: &'static str;
}

impl Width for Recorder8 {
    const NAME: &'static str = "8";
}

impl Width for Recorder16 {
    const NAME: &'static str = "16";
}

/// Where the buffers of a kernel are.
pub trait Place {
    /// A buffer.
    type Buffer<T: Element>: Length + Send + Sync;
}

/// A buffer of known length.
#[allow(clippy::len_without_is_empty, reason = "rows of the table speak of lengths alone")]
pub trait Length {
    /// The number of its elements.
    fn len(&self) -> usize;
}

/// The place where bodies run.
#[derive(Debug)]
pub struct Slices<'a>(PhantomData<&'a ()>);

impl<'a> Place for Slices<'a> {
    type Buffer<T: Element> = &'a [T];
}

impl<T> Length for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
}

/// Makes buffers of one place of those of another.
pub trait Carry<'a, From: Place, To: Place> {
    /// Carries a buffer that the kernel reads.
    fn reads<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;

    /// Carries a buffer that the kernel writes.
    fn writes<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;
}

/// A kernel with its arguments; only rows of the table are kernels.
pub trait Kernel: Send + Sync {
    /// Where its buffers are.
    type Place: Place;

    /// The same kernel in another place.
    type In<To: Place>: Kernel<Place = To>;

    /// The name of its entry point, without the width.
    const NAME: &'static str;

    /// The width of its recorders, with which the name of the entry point ends, if there are any.
    const WIDTH: &'static str;

    /// Checks all that its row says of lengths and arguments.
    ///
    /// # Panics
    /// When something does not hold: a bug of the caller.
    fn check(&self);

    /// Returns the blocks of [`THREADS`](crate::THREADS) threads that there is work for.
    fn blocks(&self) -> usize;

    /// Returns the same arguments in another place, all buffers carried `by`.
    fn carry<'a, To: Place>(&'a mut self, by: &mut impl Carry<'a, Self::Place, To>)
    -> Self::In<To>;

    /// Runs one thread.
    fn run(arguments: &Self::In<Slices<'_>>, grid: Grid);
}

/// What one thread of a kernel does.
pub trait Body {
    /// Does the work of the thread at `grid`.
    fn run(&self, grid: Grid);
}

/// An entry point of the compiled kernels.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// [`Kernel::NAME`].
    pub name: &'static str,
    /// [`Kernel::WIDTH`].
    pub width: &'static str,
    /// Size and alignment of its arguments.
    pub arguments: Layout,
}

impl EntryPoint {
    /// Returns the entry point of `K`.
    #[must_use]
    pub fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, width: K::WIDTH, arguments: Layout::new::<K>() }
    }
}
