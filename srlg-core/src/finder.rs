//! Finders: methods of recovering the addresses of likely super points from an array of recorders.
//!
//! A [`Finder`] is a type without data, whose functions update the recorders of an array. The search for hosts differs
//! between finders and between devices. The modules here contain the mathematics, and the code for each device contains
//! the loops.

pub mod cells;
pub mod detection;
mod overlap;
mod params;
pub mod regain;
mod rhfg;
mod rsra;

use crate::ids::Batch;
use crate::recorder::Recorder;
use crate::view::{ArrayParams, ArrayView};

pub use cells::{CellsFinder, CellsParams};
pub use overlap::{Overlap, fill_overlap, overlap_len, subsets};
pub use params::RsraParams;
pub use rsra::{Rsra, RsraFinder, touch_rsra};

/// Probability of a miss above which a host counts as not found: 1 %.
pub const NOT_FOUND: f64 = 0.01;

/// The params of a detector's finder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum FinderPart {
    /// Params of the cells.
    Cells(CellsParams),
    /// Params of the RSRA.
    Rsra(RsraParams),
}

/// A method of finding hosts: the types of its params and recorders, and functions that update the recorders.
pub trait Finder: Send + Sync + 'static {
    /// Sizes and keys of the finder.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// Recorder type of the array.
    type Recorder: Recorder;

    /// Returns this finder's params from `part`.
    ///
    /// # Panics
    /// Panics if `part` does not belong to this finder.
    fn params(part: &FinderPart) -> &Self::Params;

    /// The change that a pair makes, computed before any recorder is read.
    type Touch: Copy + Default + Send;

    /// Touches the recorders of `pairs` in `array`, for contacts `age` epochs ago.
    ///
    /// An implementation that touches the recorders immediately never calls `later`. Every other implementation passes
    /// at most one touch for each pair to `later`, and the caller applies these touches with [`apply`](Self::apply).
    /// Any number of threads may call `touch` and `apply` concurrently.
    fn touch(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        pairs: &impl Batch,
        age: u32,
        later: impl FnMut(Self::Touch),
    );

    /// Returns the index of the recorder that `touch` changes.
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches` to `array`.
    fn apply(array: ArrayView<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);
}
