//! The memory of the device.
//!
//! The addresses of allocations are made up. They are never given out twice, and are far from each other, so that every
//! access outside of an allocation or to a freed allocation is found.

mod shadow;
mod space;
mod words;

pub(crate) use shadow::{Access, Thread};
pub(crate) use space::Alloc;
pub(crate) use words::Words;

pub use shadow::Checks;
pub use space::{OutOfBounds, Snapshot, Space};
