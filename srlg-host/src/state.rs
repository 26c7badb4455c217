//! What a detector has seen, as plain integers: [`Snapshot`] has all of it, [`Delta`] what the last
//! slices touched.
//!
//! Both name the sizes and the seed that they belong to, and go by [`envelope`] to bytes and back;
//! docs/format.md has every one of them.

mod delta;
mod envelope;
mod error;
mod section;
mod snapshot;

use srlg_core::Params;

use crate::error::Error;
pub use delta::Delta;
pub(crate) use delta::{Touched, entry};
pub use error::FormatError;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{Sizes, Words};

/// Whose recorders they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprints {
    pub(crate) sizes: u64,
    pub(crate) seed: u64,
}

impl Fingerprints {
    pub(crate) fn of(params: &Params) -> Self {
        Self { sizes: params.sizes_fingerprint(), seed: params.seed_fingerprint() }
    }

    /// Refuses `theirs` unless they are these.
    pub(crate) fn check(self, theirs: Self) -> Result<(), Error> {
        if theirs.sizes != self.sizes {
            return Err(Error::OtherSizes { ours: self.sizes, theirs: theirs.sizes });
        }
        if theirs.seed != self.seed {
            return Err(Error::OtherSeed { ours: self.seed, theirs: theirs.seed });
        }
        Ok(())
    }
}

/// Recorders of the RSRA, bytes of each; recorders of the SLEA, which have two.
pub(crate) fn shapes(params: &Params) -> [Shape; 2] {
    let rough_bytes = if params.is_tagged() { 1 } else { 2 };
    [
        Shape { recorders: params.rough_recorders(), bytes: rough_bytes },
        Shape { recorders: params.linear_recorders(), bytes: 2 },
    ]
}

/// An array of recorders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) recorders: usize,
    /// Bytes of a recorder, 1 or 2.
    pub(crate) bytes: usize,
}
