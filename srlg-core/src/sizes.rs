//! [`Size`]: a named size, which snapshots contain and detectors compare.

/// A named size of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Name of the size, usually as in [`Config`](crate::Config). It is empty if the scheme does not have this size.
    pub name: &'static str,
    /// Value of the size.
    pub value: u32,
    /// Whether the size affects which recorders a pair touches or what their words mean. If this is false, the size
    /// only affects how recorders are read.
    pub shapes: bool,
}

impl Size {
    /// Creates a size that affects which recorders a pair touches, or what their words mean.
    pub(crate) const fn shaping(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: true }
    }

    /// Creates a size that only affects how recorders are read.
    pub(crate) const fn reading(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: false }
    }

    /// Creates a placeholder for a size that the scheme does not have.
    pub(crate) const fn none() -> Self {
        Self::reading("", 0)
    }
}

/// Name of the size that identifies the scheme. If two detectors use different schemes, their sizes at the same index
/// may have different names.
pub const SCHEME: &str = "scheme";

/// Number of sizes of a detector.
pub const SIZES: usize = 20;
