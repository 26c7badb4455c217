//! Saved and exchanged state of detectors: snapshots, deltas, and checkpoints on disk.
//!
//! A [`Snapshot`] holds all of a detector, a [`Delta`] what was touched in the last slices. Both merge late, repeated, and in
//! any order. [`Checkpoints`] are snapshots in a folder, the last complete one of which survives a kill. Detectors that merge
//! have equal sizes, hashes and seeds, and number slices alike. A detector that works alone and may start with an empty
//! window after a restart needs none of this.
//!
//! Both have a format in bytes (docs/format.md). A snapshot takes at most some 32 MB by default, a delta some 4 bytes for each
//! new pair. Damaged bytes are rejected with a [`FormatError`]; state that does not fit the detector with
//! [`Error::OtherSizes`], [`Error::OtherSeed`], [`Error::FromFuture`] or [`Error::OlderThanWindow`].
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::state::Snapshot;
//! use srlg::{Config, Device, IpPair, SlidingDetector};
//!
//! let config = Config { threshold: 64, ..Config::default() };
//! let mut sites = [0, 1].map(|_| SlidingDetector::new(config, Device::Cpu).unwrap());
//! for (site, peers) in sites.iter().zip([0..50, 50..100]) {
//!     site.ingest(&peers.map(|opposite| IpPair { inside: 7, opposite }).collect::<Vec<_>>())?;
//! }
//! let bytes = sites[1].snapshot()?.to_bytes()?;
//! let snapshot = Snapshot::from_bytes(&bytes, sites[0].params())?;
//! sites[0].merge_snapshot(&snapshot)?;
//! assert_eq!(sites[0].close_slice()?.super_points.len(), 1); // below the threshold at each
//! # Ok::<(), srlg::Error>(())
//! ```

mod checkpoint;
mod coder;
mod delta;
mod envelope;
mod leb128;
mod pick;
mod section;
mod sizes;
mod snapshot;
#[cfg(test)]
mod tests;
mod words;

use srlg_core::Params;

use crate::error::Error;
pub use crate::error::{FormatError, StateKind};
pub use checkpoint::{Checkpoints, DamagedCheckpoint, LatestCheckpoint};
pub(crate) use coder::Coder;
pub use delta::Delta;
pub(crate) use pick::code;
pub(crate) use section::Section;
pub(crate) use sizes::Sizes;
pub use snapshot::Snapshot;
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
        stored: StateKind,
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
