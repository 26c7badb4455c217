//! What users have today: systems against which srlg is measured side by side.
//!
//! - [`ExactSets`]: for every host a hash map of its opposite hosts, of the standard library.
//! - [`ExactPairs`]: one hash map of pairs, with a fast hash.
//! - [`EstimatorMap`], [`HyperLogLogMap`]: for every host an estimator of a public crate.
//! - [`SketchRing`]: one invertible sketch per slice, all of them merged at every close.
//!
//! Shape: each is a [`System`](crate::system::System) over windows of `window` slices,
//! made for a threshold. Invariant: the exact ones and the ring report the window that
//! ends with the closed slice; the estimators cannot forget, and report windows that
//! start anew. [`memory_bytes`](crate::system::System::memory_bytes) of hash maps are
//! those of their tables with all unused places.

mod exact_pairs;
mod exact_sets;
mod multiresolution;
mod sketch_ring;
mod sliding;
mod spread_sketch;
mod table;
#[cfg(test)]
mod testing;
mod tumbling;

pub use exact_pairs::{ExactPairs, Pairs};
pub use exact_sets::{ExactSets, Sets};
pub use sketch_ring::SketchRing;
pub use sliding::{PairTable, SlidingMap};
pub use tumbling::{DistinctCounter, EstimatorMap, HyperLogLogMap, TumblingMap};
