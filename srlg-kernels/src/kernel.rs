//! [`Kernel`]: a row of the kernel table, generic over the place of its buffers.
//!
//! The arguments of a kernel are one structure, generic over a [`Place`], which defines the type of a buffer. For a
//! body, buffers are slices. For the launch and for the entry point, buffers are addresses and lengths.
//! [`Kernel::carry`] converts the arguments from one place to another with a [`Carry`], which does not depend on the
//! kernel.

use core::alloc::Layout;
use core::convert::identity;
use core::marker::PhantomData;

use srlg_core::{Packed, Recorder, Recorder8, Recorder16, Recorder32, Recorder64};
use zerocopy::{FromBytes, IntoBytes};

use crate::Grid;

/// A type that a buffer may contain.
pub trait Element: FromBytes + IntoBytes + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Send + Sync + 'static> Element for T {}

/// A recorder for which kernels exist.
pub trait KernelRecorder: Element + Recorder<Word: Element> {
    /// Width in bits, as the suffix in the names of entry points.
    const NAME: &'static str;

    /// Type of the atomic values that kernels access to change recorders. For recorders of fewer than 32 bits, it is
    /// [`Packed`].
    type Swapped: Element;

    /// Returns the number of [`Swapped`](Self::Swapped) values that contain `recorders` recorders.
    fn swapped(recorders: usize) -> usize;

    /// Sets recorder `at` of `all` to `word` if `word` is more recent than its current word.
    ///
    /// # Panics
    /// Panics if `all` does not contain recorder `at`.
    fn fetch_min_at(all: &[Self::Swapped], at: usize, word: Self::Word);
}

macro_rules! kernel_recorders {
    ($($recorder:ident: $name:literal, $swapped:ty, $count:expr, $fetch_min:expr;)*) => {
        $(impl KernelRecorder for $recorder {
            const NAME: &'static str = $name;
            type Swapped = $swapped;

            #[inline(always)]
            fn swapped(recorders: usize) -> usize {
                $count(recorders)
            }

            #[inline(always)]
            fn fetch_min_at(all: &[$swapped], at: usize, word: Self::Word) {
                $fetch_min(all, at, word);
            }
        })*
    };
}

kernel_recorders! {
    Recorder8: "8", Packed<Self>, Packed::<Self>::words, Packed::fetch_min;
    Recorder16: "16", Packed<Self>, Packed::<Self>::words, Packed::fetch_min;
    Recorder32: "32", Self, identity, |all: &[Self], at: usize, word| all[at].fetch_min(word);
    Recorder64: "64", Self, identity, |all: &[Self], at: usize, word| all[at].fetch_min(word);
}

/// A kind of memory access, which defines the type of a kernel's buffers.
pub trait Place {
    /// Type of a buffer whose elements have the type `T`.
    type Buffer<T: Element>: Length + Send + Sync;
}

/// A buffer that has a length.
#[allow(clippy::len_without_is_empty, reason = "rows of the table use only lengths")]
pub trait Length {
    /// Returns the number of elements in the buffer.
    fn len(&self) -> usize;
}

/// The place whose buffers are slices. Bodies run in this place.
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

/// A conversion of buffers from one place to another.
pub trait Carry<'a, From: Place, To: Place> {
    /// Converts `buffer`, which the kernel reads.
    fn reads<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;

    /// Converts `buffer`, which the kernel writes.
    fn writes<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;
}

/// A kernel and its arguments. Only the macro `kernels!` implements this trait, once for each row of the kernel table.
pub trait Kernel: Send + Sync {
    /// Place of the buffers.
    type Place: Place;

    /// This kernel with its buffers in the place `To`.
    type In<To: Place>: Kernel<Place = To>;

    /// Name of the entry point, without the width.
    const NAME: &'static str;

    /// Width of the recorders, as the suffix of the entry point's name. It is empty if the kernel has no recorder type.
    const WIDTH: &'static str;

    /// Checks all conditions on lengths and arguments that the kernel's row states.
    ///
    /// # Panics
    /// Panics if a condition is not met, which is a bug in the caller.
    fn check(&self);

    /// Returns the number of blocks of [`THREADS`](crate::THREADS) threads that the work can occupy.
    fn blocks(&self) -> usize;

    /// Returns the arguments in the place `To`, after `by` has converted all buffers.
    fn carry<'a, To: Place>(&'a mut self, by: &mut impl Carry<'a, Self::Place, To>)
    -> Self::In<To>;

    /// Runs the kernel's body for the thread at `grid`.
    fn run(arguments: &Self::In<Slices<'_>>, grid: Grid);
}

/// The work of one thread of a kernel.
pub trait Body {
    /// Does the work of the thread at `grid`.
    fn run(&self, grid: Grid);
}

/// An entry point of the compiled kernels.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// Name of the kernel: [`Kernel::NAME`].
    pub name: &'static str,
    /// Width of the recorders: [`Kernel::WIDTH`].
    pub width: &'static str,
    /// Size and alignment of the arguments.
    pub arguments: Layout,
}

impl EntryPoint {
    /// Returns the entry point of `K`.
    #[must_use]
    pub fn of<K: Kernel>() -> Self {
        Self { name: K::NAME, width: K::WIDTH, arguments: Layout::new::<K>() }
    }
}
