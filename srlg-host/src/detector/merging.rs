//! What detectors tell each other and keep: snapshots and deltas.

use srlg_core::Ages;

use super::SlidingDetector;
use crate::close;
use crate::error::Error;
use crate::state::{Delta, Snapshot};

impl SlidingDetector {
    /// A copy of everything that the detector has seen.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(Snapshot::new(&self.params, self.slice, self.backend.settled()?.export()?))
    }

    /// Becomes the detector of the snapshot, in its slice, whatever this one had seen, and goes on
    /// as that one would. [`health`](Self::health) is that of an untouched detector until the next
    /// close.
    ///
    /// # Errors
    /// [`Error::OtherSizes`], [`Error::OtherSeed`], and what the device reports.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(Some(snapshot.sizes), &self.params)?;
        self.backend.exclusive()?.replace(&snapshot.words)?;
        self.slice = snapshot.slice();
        self.health = close::untouched_health(&self.params);
        Ok(())
    }

    /// Merges what another detector has seen: from the next report on, the answer is as
    /// if this detector had seen it too, bit for bit.
    ///
    /// A snapshot of an earlier slice is aged to the running one.
    ///
    /// # Errors
    /// [`Error::OtherSizes`] and [`Error::OtherSeed`] when the snapshot belongs to a detector that
    /// touches other recorders; [`Error::FromFuture`] when it is ahead of this detector.
    pub fn merge_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(Some(snapshot.sizes), &self.params)?;
        let ages = self.ages_since(snapshot.slice())?;
        self.backend.exclusive()?.merge(&snapshot.words, ages)
    }

    /// What the last `slices` touched, the running one included: a small part of a snapshot.
    ///
    /// With a delta of one slice per slice another detector can follow this one, see [`Delta`].
    /// Pairs that come late ([`ingest_late`](Self::ingest_late)) touch the past: where they may be
    /// n slices late take deltas of n + 1. So with threads and [feeds](Self::feed) that ingest
    /// between this call and the close: what they bring is in the next delta, if that has a slice
    /// more.
    ///
    /// # Errors
    /// [`Error::QueryWindow`], and what the device reports.
    pub fn take_delta(&mut self, slices: u32) -> Result<Delta, Error> {
        let span = self.span(slices)?;
        let touched = self.backend.exclusive()?.recent(span)?;
        Ok(Delta::new(&self.params, self.slice, slices, touched))
    }

    /// Merges what the last slices of another detector touched. A delta of an earlier slice is
    /// aged to the running one, as far as it is within the window.
    ///
    /// # Errors
    /// As [`merge_snapshot`](Self::merge_snapshot), and [`Error::OlderThanWindow`].
    pub fn merge(&mut self, delta: &Delta) -> Result<(), Error> {
        delta.fingerprints.check(None, &self.params)?;
        let ages = self.ages_since(delta.slice())?;
        let (ours, window) = (self.slice, self.params.window());
        if ours - delta.slice() >= u64::from(window) {
            return Err(Error::OlderThanWindow { ours, theirs: delta.slice(), window });
        }
        self.backend.exclusive()?.apply(&delta.sections(), ages)
    }

    /// How much older what was seen up to `slice` is now.
    fn ages_since(&self, slice: u64) -> Result<Ages, Error> {
        if slice > self.slice {
            return Err(Error::FromFuture { ours: self.slice, theirs: slice });
        }
        Ok(self.params.ages_between(slice, self.slice))
    }
}
