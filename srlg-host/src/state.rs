//! Saved and exchanged states of detectors: snapshots, deltas, and checkpoints on disk.
//!
//! Detectors that merge must have equal sizes, windows, hashes and seeds, and must number slices in the same way. Their
//! thresholds must be equal or, in the default scheme, lie between the same powers of two, such as 1024 to 2047. The
//! same conditions apply to a restored snapshot.
//!
//! Snapshots and deltas may be merged late, repeatedly and in any order. This module is not needed for a single
//! detector that may start with an empty window after a restart.
//!
//! # Core types
//!
//! | Type | Contents |
//! |---|---|
//! | [`Snapshot`] | The whole state of a detector, at most about 32 MB by default |
//! | [`Delta`] | The recorders touched in the last slices, about 4 to 6 bytes per new pair |
//! | [`SlicePairs`] | The distinct pairs of one slice, about 4 bytes per IPv4 pair, for a detector of any sizes |
//! | [`StateHeader`] | The kind, the slice and the size of a state |
//! | [`Checkpoints`] | A folder of snapshots, the last of which survives a crash |
//!
//! The format of the first three is documented in docs/format.md.
//!
//! # Example
//!
//! ```
//! # use srlg_host as srlg;
//! use srlg::state::Snapshot;
//! use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
//!
//! let config = Config { threshold: 64, ..Config::default() };
//! let mut sites = [0, 1].map(|_| SlidingDetector::new(config, Device::Cpu).unwrap());
//! for (site, peers) in sites.iter().zip([0..50, 50..100]) {
//!     site.ingest(&peers.map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>())?;
//! }
//! let bytes = sites[1].snapshot()?.to_bytes()?;
//! let snapshot = Snapshot::from_bytes(&bytes, sites[0].params())?;
//! sites[0].merge_snapshot(&snapshot)?;
//! assert_eq!(sites[0].close_slice()?.super_points.len(), 1); // each site alone is below the threshold
//! # Ok::<(), srlg::Error>(())
//! ```
//!
//! # Errors
//!
//! Damaged bytes are rejected with a [`FormatError`]. A state that does not match the detector is rejected with
//! [`Error::OtherSizes`], [`Error::OtherSeed`], [`Error::FromFuture`] or [`Error::OlderThanWindow`].

#[cfg(feature = "state")]
mod checkpoint;
mod coder;
mod column;
mod delta;
#[cfg(feature = "state")]
mod envelope;
mod leb128;
mod pairs;
mod pick;
mod section;
mod sizes;
mod snapshot;
#[cfg(all(test, feature = "state"))]
mod tests;
mod words;

use srlg_core::Params;

use crate::error::Error;
pub use crate::error::{FormatError, StateKind};
#[cfg(feature = "state")]
#[cfg_attr(docsrs, doc(cfg(feature = "state")))]
pub use checkpoint::{Checkpoints, DamagedCheckpoint, LatestCheckpoint};
pub(crate) use coder::Coder;
pub use delta::Delta;
#[cfg(feature = "state")]
#[cfg_attr(docsrs, doc(cfg(feature = "state")))]
pub use envelope::StateHeader;
pub use pairs::SlicePairs;
pub(crate) use pick::code;
pub(crate) use section::Section;
pub(crate) use sizes::Sizes;
pub use snapshot::Snapshot;
pub(crate) use words::{StateWord, Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprints {
    sizes: u64,
    seed: u64,
}

impl Fingerprints {
    /// The fingerprints of a state that any detector may merge.
    const NONE: Self = Self { sizes: 0, seed: 0 };

    fn of(params: &Params) -> Self {
        Self { sizes: params.sizes_fingerprint(), seed: params.seed_fingerprint() }
    }

    /// Returns an error unless the fingerprints match a detector with `params`.
    ///
    /// If the `sizes` in the state are known, the error lists the sizes that differ.
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
