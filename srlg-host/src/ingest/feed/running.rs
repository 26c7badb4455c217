//! [`RunningSlice`]: the slice that runs, which a detector shares with its feeds, and [`Arrival`], where pairs are seen from it.
//!
//! Invariant: it changes only while a close has the backend, so whoever holds a share of the backend
//! reads the slice that its recorders are in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use srlg_core::{Ages, Params};

/// When pairs were in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// In the slice that runs when they are ingested.
    Running,
    /// In the slice of that number.
    Slice(u64),
}

/// The place of pairs that were given to a [`Feed`](crate::ingest::Feed) with the number of their slice.
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
    fn of(slice: u64, running: u64, window: u32) -> Self {
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

/// The running slice of a detector with `params`.
pub(crate) struct RunningSlice {
    slice: AtomicU64,
    params: Params,
}

impl RunningSlice {
    pub(super) fn new(params: Params) -> Self {
        Self { slice: AtomicU64::new(0), params }
    }

    #[inline]
    pub(super) fn slice(&self) -> u64 {
        self.slice.load(Relaxed)
    }

    // What follows a close sees it by way of the locks of the slots.
    pub(super) fn set(&self, slice: u64) {
        self.slice.store(slice, Relaxed);
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Where pairs of `time` belong while `running` runs.
    pub(super) fn arrival(&self, time: Time, running: u64) -> Arrival {
        match time {
            Time::Running => Arrival::Running,
            Time::Slice(slice) => Arrival::of(slice, running, self.params.window()),
        }
    }

    /// How long ago pairs of `time` were in contact; of a slice that does not run yet, not at all.
    pub(super) fn ages(&self, time: Time) -> Ages {
        match time {
            Time::Running => Ages::default(),
            Time::Slice(slice) => self.params.ages_between(slice, self.slice()),
        }
    }
}
