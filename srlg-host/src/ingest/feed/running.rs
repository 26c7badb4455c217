//! [`RunningSlice`], which a detector shares with its feeds, and [`Arrival`], the position of a slice relative to the
//! running slice.
//!
//! The running slice changes only while one thread has exclusive use of the backend. A thread that has a share of the
//! backend therefore reads the number of the slice to which the recorders belong.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use srlg_core::{Ages, Params};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// The slice that is running when the pairs are ingested.
    Running,
    Slice(u64),
}

/// The position of a slice whose pairs were passed to a [`Feed`](crate::ingest::Feed).
///
/// The position is relative to the running slice or, while a slice is being closed, to the following slice.
/// [`Feed::try_ingest_at`](crate::ingest::Feed::try_ingest_at) also returns how many pairs were [taken](Taken).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "pairs that are `TooLate` or in the `Future` were not ingested"]
#[non_exhaustive]
pub enum Arrival {
    /// The running slice. The pairs were ingested.
    Running,
    /// A slice in the window, before the running slice. The pairs were ingested, and reports count them until the slice
    /// has left the window.
    Late {
        /// Number of slices by which the pairs are late, at least 1.
        slices: u32,
    },
    /// A slice that has left the window. The pairs were not ingested, because no later report would count them. The
    /// caller should drop and count them.
    TooLate,
    /// A slice after the running slice. The pairs were not ingested. The caller should keep them until their slice is
    /// running and then pass them again.
    Future,
}

/// Number of pairs that a call ingested without waiting: the first ones of those that were passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the pairs after these were not ingested; drop and count them, or pass them again"]
pub struct Taken(pub usize);

impl Arrival {
    /// Returns the position of `slice` relative to the slice `running`, for a window of `window` slices.
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

    // The locks of the slots make the value visible to threads that run after a close.
    pub(super) fn set(&self, slice: u64) {
        self.slice.store(slice, Relaxed);
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the position of `time` relative to the slice `running`.
    pub(super) fn arrival(&self, time: Time, running: u64) -> Arrival {
        match time {
            Time::Running => Arrival::Running,
            Time::Slice(slice) => Arrival::of(slice, running, self.params.window()),
        }
    }

    /// Returns the ages of contacts with this `time`. They are 0 for a slice that is not running yet.
    pub(super) fn ages(&self, time: Time) -> Ages {
        match time {
            Time::Running => Ages::default(),
            Time::Slice(slice) => self.params.ages_between(slice, self.slice()),
        }
    }
}
