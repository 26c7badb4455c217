//! [`Arrival`]: what becomes of pairs that come with the number of their slice.

/// Tells where pairs belong that were given to a [`Feed`](crate::ingest::Feed) with the number of their slice.
///
/// The slice that counts is the running one; while a slice is being closed, the one that runs
/// afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "pairs that are `TooLate` or of the `Future` were not ingested"]
#[non_exhaustive]
pub enum Arrival {
    /// In the running slice: ingested.
    Running,
    /// In an earlier slice that is in the window still: ingested there. All reports to come count them.
    Late {
        /// How many slices before the running one, at least 1.
        slices: u32,
    },
    /// In a slice that has left the window: not ingested, since no report to come would count them.
    /// Drop and count them.
    TooLate,
    /// In a slice after the running one: not ingested. Keep them until their slice runs, and give them
    /// again.
    Future,
}

impl Arrival {
    /// Places `slice` while `running` is running and the last `window` slices are remembered.
    pub(super) fn of(slice: u64, running: u64, window: u32) -> Self {
        match running.checked_sub(slice) {
            None => Self::Future,
            Some(0) => Self::Running,
            Some(late) => match u32::try_from(late) {
                Ok(slices) if slices < window => Self::Late { slices },
                _ => Self::TooLate,
            },
        }
    }

    /// Returns whether the pairs were ingested.
    #[must_use]
    pub const fn is_ingested(self) -> bool {
        matches!(self, Self::Running | Self::Late { .. })
    }
}
