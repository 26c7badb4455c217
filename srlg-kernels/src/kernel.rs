//! [`Kernel`]: what a row of the table becomes, wherever its buffers are.
//!
//! Shape: the arguments of a kernel are one structure, generic over a [`Place`], which says what a
//! buffer is: slices where a body runs, addresses and lengths where a host launches and where an
//! entry point begins. [`Kernel::carry`] makes the arguments of one place of those of another, by
//! a [`Carry`] that knows nothing of the kernel.

use core::alloc::Layout;
use core::convert::identity;
use core::marker::PhantomData;

use srlg_core::{Packed, Recorder, Recorder8, Recorder16, Recorder32, Recorder64};
use zerocopy::{FromBytes, IntoBytes};

use crate::Grid;

/// Marks what a buffer may hold.
pub trait Element: FromBytes + IntoBytes + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Send + Sync + 'static> Element for T {}

/// Describes a recorder that kernels exist for.
pub trait KernelRecorder: Element + Recorder<Word: Element> {
    /// Its bits, as the names of entry points end.
    const NAME: &'static str;

    /// What kernels compare and swap to change recorders: [`Packed`] ones below 32 bits.
    type Swapped: Element;

    /// Returns how many [`Swapped`](Self::Swapped) hold `recorders` recorders.
    fn swapped(recorders: usize) -> usize;

    /// Keeps the more recent of `word` and the word of recorder number `at` of `all`.
    ///
    /// # Panics
    /// When `all` do not hold that recorder.
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

/// Says where the buffers of a kernel are.
pub trait Place {
    /// A buffer.
    type Buffer<T: Element>: Length + Send + Sync;
}

/// Tells the length of a buffer.
#[allow(clippy::len_without_is_empty, reason = "rows of the table speak of lengths alone")]
pub trait Length {
    /// Returns the number of elements of the buffer.
    fn len(&self) -> usize;
}

/// Names the place where bodies run: buffers are slices there.
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
    /// Carries `buffer`, which the kernel reads.
    fn reads<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;

    /// Carries `buffer`, which the kernel writes.
    fn writes<T: Element>(&mut self, buffer: &'a mut From::Buffer<T>) -> To::Buffer<T>;
}

/// Describes a kernel with its arguments; only rows of the table are kernels.
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

    /// Runs the thread at `grid` with `arguments`.
    fn run(arguments: &Self::In<Slices<'_>>, grid: Grid);
}

/// Does what one thread of a kernel has to do.
pub trait Body {
    /// Does the work of the thread at `grid`.
    fn run(&self, grid: Grid);
}

/// Describes an entry point of the compiled kernels.
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
