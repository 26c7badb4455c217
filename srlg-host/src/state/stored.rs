//! [`Stored`]: a snapshot or a delta.

use std::fmt::{self, Display, Formatter};

/// Names what a detector writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stored {
    /// A [`Snapshot`](super::Snapshot).
    Snapshot = 1,
    /// A [`Delta`](super::Delta).
    Delta = 2,
}

impl Display for Stored {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Snapshot => "snapshot",
            Self::Delta => "delta",
        })
    }
}
