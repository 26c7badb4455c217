//! Finders: arrays from which the addresses of likely super points are computed.
//!
//! A finder is a type without values that names its [`Params`](Finder::Params) and its recorders,
//! and updates them. How hosts are found differs from finder to finder, and from device to
//! device: the modules here have the maths, the devices the loops.

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

/// The probability from which on hosts count as not found: 1 % of them are missed.
pub const NOT_FOUND: f64 = 0.01;

/// Holds the part of a detector's params that belongs to its finder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum FinderPart {
    /// The cells'.
    Cells(CellsParams),
    /// The RSRA's.
    Rsra(RsraParams),
}

/// Describes a way of finding hosts: its params and recorders, and how pairs change them.
pub trait Finder: Send + Sync + 'static {
    /// Its sizes and keys.
    type Params: ArrayParams + Copy + core::fmt::Debug + Send + Sync;

    /// What its array consists of.
    type Recorder: Recorder;

    /// Returns the params of this finder, which `part` holds.
    ///
    /// # Panics
    /// When `part` belongs to another finder.
    fn params(part: &FinderPart) -> &Self::Params;

    /// A change by a pair, found before any recorder is looked at.
    type Touch: Copy + Default + Send;

    /// Touches the recorders in `array` of `pairs`, which were in contact `age` epochs ago. Each finder either touches
    /// them at once or calls `later` with each touch, at most one for each pair, which [`apply`](Self::apply) then applies.
    /// Any number of threads may do either.
    fn touch(
        array: ArrayView<'_, Self::Params, Self::Recorder>,
        pairs: &impl Batch,
        age: u32,
        later: impl FnMut(Self::Touch),
    );

    /// Returns the number of the recorder that `touch` changes.
    fn place(touch: Self::Touch) -> u32;

    /// Applies `touches` to `array`.
    fn apply(array: ArrayView<'_, Self::Params, Self::Recorder>, touches: &[Self::Touch]);
}
