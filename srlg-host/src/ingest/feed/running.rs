//! [`Running`]: the slice that runs, which a detector shares with its feeds.
//!
//! Invariant: it changes only while a close has the backend, so whoever holds a share of the backend
//! reads the slice that its recorders are in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use srlg_core::{Ages, Params};

use super::arrival::Arrival;

/// When pairs were in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// In the slice that runs when they are ingested.
    Running,
    /// In the slice of that number.
    Slice(u64),
}

/// The running slice of a detector with `params`.
pub(crate) struct Running {
    slice: AtomicU64,
    params: Params,
}

impl Running {
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
