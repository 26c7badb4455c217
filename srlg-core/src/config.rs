//! [`Config`]: the sizes of a detector, as public fields.
//!
//! A `Config` may hold any values. [`Config::validate`] checks them against the rules of the paper and returns
//! [`Params`](crate::Params). The rules of a finder or a counter are next to its params.

#[cfg(feature = "serde")]
mod seed;

use core::fmt;

use crate::hash::HashFamily;

/// A finder and a counter, with their sizes.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// The paper's scheme: RSRA and SLEA, ages in slices, and recorders of 16 bits. An estimate subtracts the average
    /// background that other hosts leave.
    Paper {
        /// Sizes of the RSRA, which finds hosts.
        finder: RsraSizes,
        /// r': number of rows of the SLEA.
        rows: u32,
        /// Number of linear estimators in a row. The paper uses `2^q'`.
        columns: u32,
        /// δ': distance between the starts of two neighbouring linear estimators, in recorders.
        stride: u32,
    },
    /// The default scheme: cells, which hold the hosts, and a counter whose recorders hold an age and a tag of the
    /// host. An estimate counts only the touches of the host itself. The scheme is explained in
    /// docs/tagged-recorders.md.
    Tagged {
        /// There are `2^cell_bits` cells of 8 bytes. With 14 cells for every θ distinct pairs of a window, the finder
        /// misses about one in 10,000 hosts with θ peers.
        cell_bits: u32,
        /// Number of lines in the SLEA, each of 32 recorders. A host uses `linear_width / 32` of them.
        lines: u32,
        /// Least number of distinct tags, at least 64. The age takes the rest of the 16 bits. In long windows, an age
        /// counts epochs of several slices.
        tags: u32,
    },
}

/// The sizes of an RSRA, with the symbols of the paper.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RsraSizes {
    /// r: number of rows.
    pub rows: u32,
    /// q: a row has `2^q` rough estimators.
    pub column_bits: u32,
    /// η: recorders of a rough estimator: 2, 4 or 8, so that a mask fits into a byte.
    pub width: u32,
    /// δ: bits by which the address shifts between rows of the RHFG.
    pub bit_stride: u32,
    /// Largest number of hot columns per row that a search accepts. A slice with more is an overload.
    ///
    /// This limits the time of a close: with a limit of N, a search visits at most N² pairs of columns and N²
    /// addresses. A close makes at most one search per weight from the hot weight to η. With the paper's sizes, these
    /// are six searches of 2^28 pairs, each of which takes 3 to 5 s on one core.
    pub hot_limit: u32,
}

impl RsraSizes {
    /// The sizes of section 5 of the paper.
    pub const PAPER: Self =
        Self { rows: 5, column_bits: 17, width: 8, bit_stride: 5, hot_limit: 1 << 14 };
}

/// The sizes of a detector, with the symbols of the paper. The `Debug` output omits the seed, which may be a secret.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The finder and the counter.
    pub scheme: Scheme,
    /// θ: a host with at least this many distinct peers is a super point. The valid range is 8 to twice `linear_width`,
    /// which is 65,536 by default. In the paper's scheme, the least value is the width of a rough estimator.
    pub threshold: u32,
    /// k: length of the window, in slices, from 1 to 65,534. In the tagged scheme, a window of more than 511 slices is
    /// exact only to an epoch of several slices. The same holds for queries of shorter windows.
    pub window: u32,
    /// η': recorders of a linear estimator. With about a hundred or fewer, estimates are a few percent too high.
    pub linear_width: u32,
    /// Largest number of candidates per slice that a search accepts. A slice with more is an overload. A close reads
    /// the linear estimators of these and of the super points of the previous report. It keeps at most this number of
    /// super points.
    pub candidate_limit: u32,
    /// Family of all hashes. If the traffic may be crafted to mislead the detector, use [`HashFamily::HalfSip13`] and a
    /// secret seed.
    pub hash: HashFamily,
    /// Seed of all hashes. Nodes whose states are merged need the same seed.
    #[cfg_attr(feature = "serde", serde(with = "seed"))]
    pub seed: u64,
}

impl Config {
    /// Returns the sizes of section 5 of the paper: 31.6 MB of recorders, θ = 1024, 300 slices.
    #[must_use]
    pub const fn paper() -> Self {
        Self::paper_with(RsraSizes::PAPER)
    }

    /// Returns the sizes of [`paper`](Self::paper) with the RSRA sizes `finder`.
    #[must_use]
    pub const fn paper_with(finder: RsraSizes) -> Self {
        Self {
            scheme: Scheme::Paper { finder, rows: 5, columns: 1 << 17, stride: 16 },
            threshold: 1024,
            window: 300,
            linear_width: 1 << 14,
            candidate_limit: 1 << 16,
            hash: HashFamily::Murmur,
            seed: 0,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, threshold, window, linear_width, candidate_limit, hash, seed: _ } = self;
        f.debug_struct("Config")
            .field("scheme", scheme)
            .field("threshold", threshold)
            .field("window", window)
            .field("linear_width", linear_width)
            .field("candidate_limit", candidate_limit)
            .field("hash", hash)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    /// Returns the default configuration: 31.6 MB of cells and tagged recorders, for up to about 20 million distinct
    /// pairs per window.
    ///
    /// Up to that load, the finder misses about one in 10,000 hosts with θ peers. The window of 300 slices is exact to
    /// the slice. Each number is derived in docs/tagged-recorders.md.
    fn default() -> Self {
        Self {
            scheme: Scheme::Tagged { cell_bits: 18, lines: 461_600, tags: 64 },
            linear_width: 1 << 15,
            candidate_limit: 1 << 14,
            ..Self::paper()
        }
    }
}
