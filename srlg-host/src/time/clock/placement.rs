//! [`Placement`]: what a clock says of a timestamp.

/// Tells where a timestamp belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// The first timestamp: `slice` is now running.
    Start {
        /// Number of the slice.
        slice: u64,
    },
    /// In the running slice.
    Running,
    /// In an earlier slice, within the tolerance.
    Late {
        /// How many slices before the running one, at least 1.
        slices: u32,
    },
    /// Time has moved on to `slice`, which is now running: close slices up to it first. The timestamp
    /// is in it where the clock has no grace; with a grace, place it again.
    Ahead {
        /// Number of the slice that runs.
        slice: u64,
    },
    /// In a later slice, for which it is too early: the grace of the running one is not over. Keep the
    /// record, and place it again when another slice runs. A clock without a grace never says so.
    Early {
        /// Number of the slice that the timestamp is in.
        slice: u64,
    },
    /// Later than the tolerance allows: dropped and counted.
    TooLate,
    /// Too far in the future to be believed: rejected and counted.
    Future,
}
