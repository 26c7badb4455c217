//! What detectors tell each other and keep: snapshots and deltas.

use std::array::from_fn;

use srlg_core::{ARRAYS, Ages, COUNTER, FINDER};

use super::closing::LastReport;
use super::{SlidingDetector, span};
use crate::backend::Backend;
use crate::error::Error;
use crate::state::{Coder, Delta, Snapshot, StateKind};

impl SlidingDetector {
    /// Copies everything that the detector has seen.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let backend = self.backend.settled()?;
        let words = [backend.export(FINDER)?, backend.export(COUNTER)?];
        Ok(Snapshot::new(&self.params, self.slice(), words, self.last.kept.clone()))
    }

    /// Replaces the state of this detector, including the running slice, by that of `snapshot`.
    /// [`health`](Self::health) is that of an untouched detector until the next close.
    ///
    /// # Errors
    /// [`Error::OtherSizes`], [`Error::OtherSeed`], and what the device reports.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(StateKind::Snapshot, Some(snapshot.sizes), &self.params)?;
        let mut backend = self.backend.exclusive_until(snapshot.slice())?;
        // After these ages no recorder remembers anything.
        backend.age(Ages::FOREVER)?;
        merge_words(&mut *backend, snapshot, [0; ARRAYS])?;
        backend.set_slice(snapshot.slice());
        drop(backend);
        let kept = snapshot.kept.clone().within_limit(&self.params);
        self.last = LastReport::untouched(&self.params, kept);
        Ok(())
    }

    /// Merges what another detector has seen, `snapshot`: recorders are, bit for bit, as if this detector had
    /// seen it too.
    ///
    /// A snapshot of an earlier slice is aged to the running one. The super points of its last report are
    /// candidates of the next one here, beside this detector's own.
    ///
    /// # Errors
    /// [`Error::OtherSizes`] and [`Error::OtherSeed`] when the snapshot belongs to a detector that
    /// touches other recorders; [`Error::FromFuture`] when it is ahead of this detector.
    pub fn merge_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(StateKind::Snapshot, Some(snapshot.sizes), &self.params)?;
        let steps = self.steps_since(StateKind::Snapshot, snapshot.slice())?;
        merge_words(&mut *self.backend.exclusive()?, snapshot, steps)?;
        self.last.kept.unite(&snapshot.kept, &self.params);
        Ok(())
    }

    /// Copies what the last `slices` touched, the running one included: a small part of a snapshot.
    ///
    /// With a delta of one slice per slice another detector can follow this one, see [`Delta`]. What
    /// was merged in these slices is in it, too: to send no more than this detector's own touches,
    /// take its delta before merging those of others, and before the close.
    ///
    /// Pairs that come late ([`ingest_late`](Self::ingest_late)) touch the past: where they may be
    /// n slices late take deltas of n + 1. So with threads and [feeds](Self::feed) that ingest
    /// between this call and the close: what they bring is in the next delta, if that has a slice
    /// more.
    ///
    /// # Errors
    /// [`Error::QueryWindow`], and what the device reports.
    pub fn delta(&mut self, slices: u32) -> Result<Delta, Error> {
        let ranges = self.params.recent_ranges(span(&self.params, self.slice(), slices)?);
        let shapes = self.params.arrays();
        let coder = |array: usize| Coder::for_range(shapes[array], ranges[array]);
        let mut touched: [Coder; ARRAYS] = from_fn(coder);
        let mut backend = self.backend.exclusive()?;
        for (array, (coder, range)) in touched.iter_mut().zip(ranges).enumerate() {
            backend.recent(array, range, coder)?;
        }
        drop(backend);
        Ok(Delta::new(&self.params, self.slice(), slices, touched))
    }

    /// Merges what the last slices of another detector touched, `delta`. A delta of an earlier slice is
    /// aged to the running one, as far as it is within the window.
    ///
    /// # Errors
    /// As [`merge_snapshot`](Self::merge_snapshot), and [`Error::OlderThanWindow`].
    pub fn merge_delta(&mut self, delta: &Delta) -> Result<(), Error> {
        delta.fingerprints.check(StateKind::Delta, None, &self.params)?;
        let steps = self.steps_since(StateKind::Delta, delta.slice())?;
        let (ours, window) = (self.slice(), self.params.window());
        if ours - delta.slice() >= u64::from(window) {
            return Err(Error::OlderThanWindow { ours, theirs: delta.slice(), window });
        }
        let mut backend = self.backend.exclusive()?;
        let mut sections = delta.sections().into_iter().zip(steps).enumerate();
        sections.try_for_each(|(array, (section, step))| backend.apply(array, &section, step))
    }

    /// By how much the words of what was `stored` in `slice` have grown since.
    fn steps_since(&self, stored: StateKind, slice: u64) -> Result<[u64; ARRAYS], Error> {
        if slice > self.slice() {
            return Err(Error::FromFuture { stored, ours: self.slice(), theirs: slice });
        }
        Ok(self.params.age_steps(self.params.ages_between(slice, self.slice())))
    }
}

/// Merges the words of all arrays of `snapshot`, aged by `steps`.
fn merge_words(
    backend: &mut dyn Backend,
    snapshot: &Snapshot,
    steps: [u64; ARRAYS],
) -> Result<(), Error> {
    let mut arrays = snapshot.words.iter().zip(steps).enumerate();
    arrays.try_for_each(|(array, (words, step))| backend.merge(array, words, step))
}
