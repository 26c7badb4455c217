//! [`Config`]: the configuration of a detector.
//!
//! The fields of a `Config` are public and can have any value. [`Config::validate`] checks them and returns
//! [`Params`](crate::Params). Each finder and counter has its own rules, which are checked where its params are
//! created.

#[cfg(feature = "serde")]
mod seed;
#[cfg(feature = "serde")]
pub mod with_seed;

use core::fmt;

use crate::hash::HashFamily;

/// A finder and a counter, with their sizes.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// The paper's scheme: an RSRA and a SLEA with 16-bit recorders and ages in slices. An estimate subtracts the
    /// average background of other hosts.
    Paper {
        /// Sizes of the RSRA, which finds hosts.
        finder: RsraSizes,
        /// r': number of rows in the SLEA.
        rows: u32,
        /// Number of linear estimators in a row. The paper uses `2^q'`.
        columns: u32,
        /// δ': distance between the starts of two neighbouring linear estimators, in recorders.
        stride: u32,
    },
    /// The default scheme: cells, which contain the hosts, and a counter whose recorders contain an age and a tag of
    /// the host. An estimate counts only the touches of the host itself. See docs/tagged-recorders.md.
    Tagged {
        /// Binary logarithm of the number of cells, from 12 to 24. A cell has 8 bytes. With 13 cells per θ distinct pairs in a window,
        /// the finder misses about one in 10,000 hosts with θ peers.
        cell_bits: u32,
        /// Number of lines in the SLEA. A line has 32 recorders. The fine region of a host uses `linear_width / 32`
        /// lines.
        lines: u32,
        /// Minimum number of distinct tags, from 64 to 16,383. A 16-bit word contains an age and a tag, so more tags
        /// leave fewer ages. In long windows, ages therefore count epochs of several slices.
        tags: u32,
    },
}

/// The sizes of an RSRA. The symbols r, q, η and δ are those of the paper.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RsraSizes {
    /// r: number of rows.
    pub rows: u32,
    /// q: binary logarithm of the number of rough estimators in a row.
    pub column_bits: u32,
    /// η: number of recorders in a rough estimator. It is 2, 4 or 8, so that a mask fits into a byte.
    pub width: u32,
    /// δ: number of bits by which the address shifts between rows of the RHFG.
    pub bit_stride: u32,
    /// Maximum number of hot columns per row that a search accepts. If a row has more hot columns, the finder is
    /// overloaded.
    ///
    /// The limit bounds the time to close a slice. With a limit of N, a search visits at most N² pairs of columns and
    /// N² addresses. Closing a slice needs at most one search for each weight from the hot weight to η. With the
    /// paper's sizes, a close needs up to six searches of 2^28 pairs. Each search takes 3 to 5 s on one core.
    pub hot_limit: u32,
}

impl RsraSizes {
    /// The sizes of section 5 of the paper.
    pub const PAPER: Self =
        Self { rows: 5, column_bits: 17, width: 8, bit_stride: 5, hot_limit: 1 << 14 };
}

/// The configuration of a detector. The symbols θ, k and η' are those of the paper. The `Debug` output omits the seed,
/// which may be a secret.
///
/// With the feature `serde`, a configuration is written in self-describing formats such as JSON, without the seed. When
/// it is read, missing fields have their default values, but a scheme needs all its fields. The module `srlg::config::with_seed` writes and needs all
/// fields, in any format.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Config {
    /// The finder and the counter.
    pub scheme: Scheme,
    /// θ: minimum number of distinct peers of a super point. The valid range is from 8 to twice `linear_width`, which
    /// is 65,536 by default. In the paper's scheme, the range starts at the width of a rough estimator instead of 8.
    /// In the tagged scheme, a `linear_width` of 64 or 96 limits θ further, to 65 or 165.
    pub threshold: u32,
    /// k: length of the window, in slices, from 1 to 65,534. In the tagged scheme with 64 tags, a window of more than
    /// 511 slices is accurate only to an epoch of several slices. Queries for shorter windows are then equally coarse.
    pub window: u32,
    /// η': number of recorders in a linear estimator, at least 8. In the tagged scheme, it is a multiple of 32, from 64
    /// to 57,344. With about 100 recorders or fewer, estimates are a few percent too high.
    pub linear_width: u32,
    /// Number of pairs of which the counter counts one: a power of two, at most θ/32, or 1 in the paper's scheme. The
    /// hash of a pair decides whether it is counted. If the share is k, the standard error of an estimate of n peers is
    /// `sqrt(k² σ² + n (k - 1))`. Here, σ is the standard error of counting n/k peers in a k-th of the positions, at a
    /// k-th of the load. Under heavy load, a larger share reduces the error. The finder uses every pair.
    pub share: u32,
    /// Maximum number of candidates per slice that the finder returns. If there are more candidates, the requirement
    /// for candidates is raised, so small super points may be missed. When a slice is closed, the detector reads the
    /// linear estimators of the candidates. It also reads those of up to `candidate_limit` super points from the
    /// previous report and merged snapshots.
    pub candidate_limit: u32,
    /// Family of all hashes. If an attacker may craft traffic to mislead the detector, use [`HashFamily::HalfSip13`]
    /// and a secret seed.
    pub hash: HashFamily,
    /// Seed of all hashes. Nodes whose states are merged need the same seed.
    #[cfg_attr(feature = "serde", serde(skip_serializing, deserialize_with = "seed::deserialize"))]
    pub seed: u64,
}

impl Config {
    /// Returns the configuration of section 5 of the paper: 31.6 MB of recorders, θ = 1024 and a window of 300 slices.
    #[must_use]
    pub const fn paper() -> Self {
        Self::paper_with(RsraSizes::PAPER)
    }

    /// Returns the configuration [`paper`](Self::paper), but with the RSRA sizes in `finder`.
    #[must_use]
    pub const fn paper_with(finder: RsraSizes) -> Self {
        Self {
            scheme: Scheme::Paper { finder, rows: 5, columns: 1 << 17, stride: 16 },
            threshold: 1024,
            window: 300,
            linear_width: 1 << 14,
            share: 1,
            candidate_limit: 1 << 16,
            hash: HashFamily::Murmur,
            seed: 0,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed: _ } =
            self;
        f.debug_struct("Config")
            .field("scheme", scheme)
            .field("threshold", threshold)
            .field("window", window)
            .field("linear_width", linear_width)
            .field("share", share)
            .field("candidate_limit", candidate_limit)
            .field("hash", hash)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    /// Returns the default configuration: 31.6 MB of cells and tagged recorders, for up to about 20 million distinct
    /// pairs per window.
    ///
    /// Up to that load, the finder misses about one in 10,000 hosts with θ peers. The window of 300 slices is accurate
    /// to one slice. The numbers are derived in docs/tagged-recorders.md.
    fn default() -> Self {
        Self {
            scheme: Scheme::Tagged { cell_bits: 18, lines: 461_600, tags: 64 },
            linear_width: 1 << 15,
            candidate_limit: 1 << 14,
            ..Self::paper()
        }
    }
}
