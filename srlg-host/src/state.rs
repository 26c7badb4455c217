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
mod stored;
#[cfg(test)]
mod tests;
mod words;

use srlg_core::Params;

use crate::error::Error;
pub(crate) use coder::Coder;
pub use delta::Delta;
pub use error::FormatError;
pub(crate) use pick::code;
pub(crate) use section::Section;
pub(crate) use sizes::Sizes;
pub use snapshot::Snapshot;
pub use stored::Stored;
pub(crate) use words::{StateWord, Words};

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

    /// Refuses what was `stored` with them for a detector with `params`, unless they are its own;
    /// `sizes`, where they are known, say what differs.
    pub(crate) fn check(
        self,
        stored: Stored,
        sizes: Option<Sizes>,
        params: &Params,
    ) -> Result<(), Error> {
        let ours = Self::of(params);
        if self.sizes != ours.sizes {
            let differences = sizes.map(|theirs| Sizes::differences(theirs, params));
            let differences = differences.unwrap_or_default();
            let (ours, theirs) = (ours.sizes, self.sizes);
            return Err(Error::OtherSizes { stored, ours, theirs, differences });
        }
        if self.seed != ours.seed {
            return Err(Error::OtherSeed { stored, ours: ours.seed, theirs: self.seed });
        }
        Ok(())
    }
}
