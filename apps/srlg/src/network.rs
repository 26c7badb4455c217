//! The network description, on which all probes and the collector must agree.
//!
//! The collector derives the description from its configuration. Probes read it from a bucket on the broker (`bucket`).
//! Among other settings, the description contains the views with their detector sizes, the secret seed, and the length
//! of a slice. Each change creates a new [`NetworkVersion`], and states of different versions are never merged.
//!
//! Invariant: every [`Network`] that a configuration defines, or that [`NetworkVersion::from_json`] returns, describes
//! valid detectors.

#[cfg(feature = "network")]
pub mod broker;
#[cfg(feature = "network")]
pub mod bucket;
#[cfg(feature = "network")]
pub mod connect;
pub mod options;
#[cfg(feature = "network")]
pub mod payload;
#[cfg(feature = "network")]
pub(crate) mod report;
#[cfg(feature = "network")]
pub mod setup;
pub mod subjects;

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use srlg_host::Config as Sizes;
use srlg_host::config::{ConfigError, Scheme, random_seed};
use srlg_input::ViewOptions;
use tracing::warn;

#[cfg(feature = "network")]
#[doc(hidden)]
pub use report::is_same_when_written;
use srlg_alerts::rules::Allow;

/// Valid sizes of one part of a slice, in bytes. The lower limit leaves room for the header of a state. The upper limit
/// is the maximum message size that NATS recommends.
const PART_BYTES: std::ops::RangeInclusive<usize> = 1024..=8 << 20;

/// The description of a network, which all of its nodes share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Length of a slice in milliseconds.
    pub slice_ms: u64,
    /// Time for which a slice stays open after its end for late contacts, in milliseconds.
    pub grace_ms: u64,
    /// Maximum size of one part of a slice, in bytes. Larger slices are sent in several parts.
    pub part_bytes: usize,
    /// Maximum number of distinct pairs of a slice that a probe sends as a list, for each view. A pair with an IPv6
    /// address counts as four. If a slice has more pairs, a probe needs a sketch and sends a delta.
    pub most_pairs: usize,
    /// Views. The number of a view in messages is its index in this list.
    pub views: Vec<NetworkView>,
}

/// The identity of a version of a network description. The tag keeps versions distinct even if both the database and
/// the broker have lost the previous description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionId {
    /// Number of the version, starting at 1. Each change of the description increments the number.
    pub number: u32,
    /// Random number that distinguishes versions with the same number.
    pub tag: u32,
}

/// A version of a network description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkVersion {
    /// Identity of the version.
    pub id: VersionId,
    /// First slice of this version on probes with live input.
    pub first_slice: u64,
    /// Network description of this version.
    pub network: Network,
}

/// A view of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkView {
    /// Name of the view.
    pub name: String,
    /// Definition of the hosts, the peers and the contacts that count.
    pub view: ViewOptions,
    /// Allow-list entries for contacts that do not count.
    pub allows: Vec<Allow>,
    /// Sizes, hash and seed of the view's detectors.
    #[serde(with = "srlg_host::config::with_seed")]
    pub sizes: Sizes,
}

/// The reason why a network description or the folder of a version cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum NetworkError {
    #[error("cannot write {path}: {cause}")]
    Write { path: PathBuf, cause: io::Error },
    #[error("cannot read the network description in {place}: {cause}")]
    Form { place: String, cause: serde_json::Error },
    #[error("view {name}: {cause}")]
    View { name: String, cause: ConfigError },
    #[error("views: must be 1 to {MOST_VIEWS}, got {count}")]
    Views { count: usize },
    #[error("first_slice: must not be later than the last valid timestamp, got {first_slice}")]
    FirstSlice { first_slice: u64 },
    #[error("slice_ms: must be 1 to 86400000 (one day), got {slice_ms}")]
    Slice { slice_ms: u64 },
    #[error("part_bytes: must be {} to {}, got {part_bytes}", PART_BYTES.start(), PART_BYTES.end())]
    PartBytes { part_bytes: usize },
    #[error("most_pairs: must be at most {MOST_PAIRS}, got {most_pairs}")]
    MostPairs { most_pairs: usize },
}

/// Maximum value of `most_pairs`. A collector accepts lists of this length, which occupy 128 MiB.
pub(crate) const MOST_PAIRS: usize = 1 << 22;

/// Latest time whose number of nanoseconds since the Unix epoch fits into 64 bits, in milliseconds since the epoch.
const LAST_MS: u64 = u64::MAX / 1_000_000;

/// Maximum number of views in a network. A message identifies each view by one byte.
pub(crate) const MOST_VIEWS: usize = 255;

pub(crate) const LONGEST_SLICE: Duration = Duration::from_secs(86_400);

impl Network {
    /// Returns the seed of all hashes.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.views.first().map_or(0, |view| view.sizes.seed)
    }

    /// Returns the length of a slice.
    #[must_use]
    pub fn slice(&self) -> Duration {
        Duration::from_millis(self.slice_ms)
    }

    /// Returns the length of the longest window, in slices.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.views.iter().map(|view| view.sizes.window).max().unwrap_or(1)
    }

    /// Checks that the values of this description are valid and that detectors can be created from it.
    pub fn check(&self) -> Result<(), NetworkError> {
        let Self { slice_ms, part_bytes, most_pairs, views, .. } = self;
        if *slice_ms == 0 || self.slice() > LONGEST_SLICE {
            return Err(NetworkError::Slice { slice_ms: *slice_ms });
        }
        if !PART_BYTES.contains(part_bytes) {
            return Err(NetworkError::PartBytes { part_bytes: *part_bytes });
        }
        if *most_pairs > MOST_PAIRS {
            return Err(NetworkError::MostPairs { most_pairs: *most_pairs });
        }
        if !(1..=MOST_VIEWS).contains(&views.len()) {
            return Err(NetworkError::Views { count: views.len() });
        }
        for NetworkView { name, sizes, .. } in views {
            let checked = sizes.validate();
            checked.map_err(|cause| NetworkError::View { name: name.clone(), cause })?;
        }
        Ok(())
    }
}

/// Returns the sizes of the sketch with which a probe counts the peers of watched hosts at its own site. `sizes` are
/// those of the view's sketch in the network. The sketch does not find hosts, and takes at most 4.3 MB. With a window of
/// 1.5 million pairs, the standard error at θ = 1024 is 3 %.
pub(crate) fn site_sizes(sizes: Sizes) -> Sizes {
    const CELL_BITS: u32 = 12;
    const LINES: u32 = 1 << 16;
    let scheme = match sizes.scheme {
        Scheme::Tagged { lines, tags, .. } => {
            Scheme::Tagged { cell_bits: CELL_BITS, lines: lines.min(LINES), tags }
        }
        paper => paper,
    };
    Sizes { scheme, ..sizes }
}

impl VersionId {
    /// Returns the identity of the version after `last`, with a random tag.
    pub fn after(last: Option<Self>) -> Result<Self, srlg_host::Error> {
        let number = last.map_or(0, |last| last.number).saturating_add(1);
        Ok(Self { number, tag: random_seed()? as u32 })
    }

    /// Creates the folder of this version in `root` and removes the folders of other versions, unless their number is
    /// higher. A folder with a higher number is kept, because it may belong to a version whose description could not be
    /// stored.
    pub fn make_only_folder(self, root: &Path) -> Result<PathBuf, NetworkError> {
        let folder = root.join(self.to_string());
        let make = || {
            for entry in fs::read_dir(root)? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str());
                let other = name.and_then(|name| name.parse::<Self>().ok());
                if other.is_some_and(|other| other != self && other.number <= self.number) {
                    let files = fs::read_dir(&path)?.count();
                    fs::remove_dir_all(&path)?;
                    warn!(
                        "removed {} with {files} files: the network now has version {self}",
                        path.display()
                    );
                }
            }
            fs::create_dir_all(&folder)?;
            File::open(root)?.sync_all()
        };
        make().map_err(|cause| NetworkError::Write { path: folder.clone(), cause })?;
        Ok(folder)
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.number, self.tag)
    }
}

impl FromStr for VersionId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, tag) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self { number: number.parse()?, tag: u32::from_str_radix(tag, 16)? })
    }
}

impl NetworkVersion {
    /// Parses and checks the output of [`to_json`](Self::to_json). If `json` cannot be parsed, the error names `place`
    /// as its origin.
    pub fn from_json(json: &[u8], place: &str) -> Result<Self, NetworkError> {
        let form = |cause| NetworkError::Form { place: place.to_owned(), cause };
        let version: Self = serde_json::from_slice(json).map_err(form)?;
        version.network.check()?;
        let NetworkVersion { first_slice, network, .. } = &version;
        if *first_slice > LAST_MS / network.slice_ms {
            return Err(NetworkError::FirstSlice { first_slice: *first_slice });
        }
        Ok(version)
    }

    /// Returns this version as JSON.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

#[cfg(test)]
mod tests;
