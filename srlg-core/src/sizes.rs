//! [`Size`]: a size, which snapshots contain and detectors compare.

/// A named size of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Name of the size, mostly as in [`Config`](crate::Config). It is empty if the scheme does not have this size.
    pub name: &'static str,
    /// Value of the size.
    pub value: u32,
    /// Whether the size decides which recorder a pair touches or what its word means. Other sizes only decide how
    /// recorders are read.
    pub shapes: bool,
}

impl Size {
    /// Returns a size that decides which recorder a pair touches, or what its word means.
    pub(crate) const fn shaping(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: true }
    }

    /// Returns a size that decides how recorders are read.
    pub(crate) const fn reading(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: false }
    }

    /// Returns a placeholder for a size that the scheme does not have.
    pub(crate) const fn none() -> Self {
        Self::reading("", 0)
    }
}

/// Name of the size that identifies the scheme. Sizes of different schemes have different names.
pub const SCHEME: &str = "scheme";

/// Number of sizes of a detector.
pub const SIZES: usize = 19;
