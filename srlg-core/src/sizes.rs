//! [`Size`]: the sizes by which two detectors are compared, and which snapshots name.

/// Names a size of a detector and tells its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How it is called in [`Config`](crate::Config), or here; empty where a scheme has no such size.
    pub name: &'static str,
    /// How large it is.
    pub value: u32,
    /// Whether it decides which recorder a pair touches and what its word means; others only decide
    /// how recorders are read.
    pub shapes: bool,
}

impl Size {
    /// A size that decides which recorder a pair touches, or what its word means.
    pub(crate) const fn shaping(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: true }
    }

    /// A size that decides how recorders are read.
    pub(crate) const fn reading(name: &'static str, value: u32) -> Self {
        Self { name, value, shapes: false }
    }

    /// The place of a size that a scheme has not.
    pub(crate) const fn none() -> Self {
        Self::reading("", 0)
    }
}

/// The name of the size that says which scheme it is: sizes of different schemes have different names.
pub const SCHEME: &str = "scheme";

/// How many sizes a detector has.
pub const SIZES: usize = 19;
