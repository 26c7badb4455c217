//! What a detector has seen, as plain integers: [`Snapshot`] has all of it, [`Delta`] what the last
//! slices touched.
//!
//! Both name the sizes and the seed that they belong to, and go by [`envelope`] to bytes and back;
//! docs/format.md has every one of them.

mod coder;
mod delta;
mod envelope;
mod error;
mod leb128;
mod parts;
mod pick;
mod section;
mod sizes;
mod snapshot;

use srlg_core::Params;

use crate::error::Error;
pub(crate) use coder::Coder;
pub use delta::Delta;
pub use error::FormatError;
#[cfg(any(feature = "cuda", test))]
pub(crate) use pick::{Near, code_words};
pub(crate) use pick::{code, coders};
pub(crate) use section::Section;
pub(crate) use sizes::Sizes;
pub use snapshot::Snapshot;
pub(crate) use snapshot::Words;

/// Whose recorders they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprints {
    sizes: u64,
    seed: u64,
}

impl Fingerprints {
    fn of(params: &Params) -> Self {
        Self { sizes: params.sizes_fingerprint(), seed: params.seed_fingerprint() }
    }

    /// Refuses them for a detector with `params`, unless they are its own; `sizes`, where they are
    /// known, say what differs.
    pub(crate) fn check(self, sizes: Option<Sizes>, params: &Params) -> Result<(), Error> {
        let ours = Self::of(params);
        if self.sizes != ours.sizes {
            let differences = sizes.map(|theirs| Sizes::of(params).differences(theirs));
            let differences = differences.unwrap_or_default();
            return Err(Error::OtherSizes { ours: ours.sizes, theirs: self.sizes, differences });
        }
        if self.seed != ours.seed {
            return Err(Error::OtherSeed { ours: ours.seed, theirs: self.seed });
        }
        Ok(())
    }
}

/// An array of recorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    recorders: usize,
    /// Bytes of a recorder, 1 or 2.
    bytes: usize,
}

impl Shape {
    /// The word of a recorder that was never touched.
    fn untouched(self) -> u16 {
        if self.bytes == 1 { u8::MAX.into() } else { u16::MAX }
    }
}

/// The RSRA and the SLEA.
fn shapes(params: &Params) -> [Shape; 2] {
    let rough_bytes = if params.is_tagged() { 1 } else { 2 };
    [
        Shape { recorders: params.rough_recorders(), bytes: rough_bytes },
        Shape { recorders: params.linear_recorders(), bytes: 2 },
    ]
}
