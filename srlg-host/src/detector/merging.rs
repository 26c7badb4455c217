//! Snapshots and deltas, which are used to merge detectors and to restore them after a restart.

use std::array::from_fn;

use srlg_core::{ARRAYS, Ages, COUNTER, FINDER};

use super::closing::LastReport;
use super::{SlidingDetector, span};
use crate::backend::Backend;
use crate::error::Error;
use crate::kept::KeptHosts;
use crate::state::{Coder, Delta, Snapshot, StateKind};

impl SlidingDetector {
    /// Copies the whole state of the detector.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let backend = self.backend.settled()?;
        let words = [backend.export(FINDER)?, backend.export(COUNTER)?];
        let kept = KeptHosts::new(self.last.kept.clone());
        Ok(Snapshot::new(&self.params, self.slice(), words, self.shares.clone(), kept))
    }

    /// Replaces the state of this detector, including the running slice, with the state in `snapshot`.
    ///
    /// To account for the time since the snapshot was taken, call [`skip_to`](Self::skip_to) with the current slice.
    /// Until the next close, [`health`](Self::health) returns the health of a new detector.
    ///
    /// # Errors
    /// Returns [`Error::OtherSizes`] or [`Error::OtherSeed`] if the detectors do not match, [`Error::Config`] if a
    /// share of the snapshot is not valid for θ, or an error if a GPU fails.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(StateKind::Snapshot, Some(snapshot.sizes), &self.params)?;
        snapshot.shares.check(&self.params)?;
        let mut detector = self.exclusive_until(snapshot.slice())?;
        // This makes all recorders untouched.
        detector.backend.age(Ages::FOREVER)?;
        merge_words(&mut *detector.backend, snapshot, [0; ARRAYS])?;
        detector.backend.set_slice(snapshot.slice());
        detector.change_shares(|shares, _| *shares = snapshot.shares.clone())?;
        drop(detector);
        let kept = snapshot.kept.first(&self.params);
        self.last = LastReport::untouched(&self.params, kept, self.shares.largest());
        Ok(())
    }

    /// Merges `snapshot`, the state of another detector.
    ///
    /// The recorders then equal, bit for bit, the recorders of a detector that ingested the pairs of both detectors. A
    /// snapshot from a slice before the running one is aged to the running slice. The super points of the snapshot's
    /// last report become candidates for the next report.
    ///
    /// # Errors
    /// Returns [`Error::OtherSizes`] or [`Error::OtherSeed`] if the detectors do not match. Returns
    /// [`Error::FromFuture`] if the snapshot is from a slice after the running one, [`Error::Config`] if a share of the
    /// snapshot is not valid for θ, or an error if a GPU fails.
    pub fn merge_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        snapshot.fingerprints.check(StateKind::Snapshot, Some(snapshot.sizes), &self.params)?;
        let steps = self.steps_since(StateKind::Snapshot, snapshot.slice())?;
        snapshot.shares.check(&self.params)?;
        let mut detector = self.exclusive_until(self.slice())?;
        merge_words(&mut *detector.backend, snapshot, steps)?;
        detector.merge_shares(&snapshot.shares, snapshot.slice())?;
        drop(detector);
        let kept = snapshot.kept.united(&self.last.kept);
        self.last.kept = kept.first(&self.params);
        Ok(())
    }

    /// Copies the recorders touched in the last `slices` slices, including the running slice. The delta is usually much
    /// smaller than a snapshot.
    ///
    /// To keep another detector up to date, take a delta of one slice in every slice (see [`Delta`]). Take it before
    /// the close, which opens a new, empty slice. A delta also includes touches that were merged from other detectors,
    /// if they belong to the same slices. To send only this detector's own touches, take its delta before any merge.
    ///
    /// Late pairs ([`ingest_late`](Self::ingest_late)) belong to slices before the running one. If pairs may be n
    /// slices late, take deltas of n + 1 slices. If threads or [feeds](Self::feed) ingest between this call and the
    /// close, make each delta one slice longer. The next delta then contains the pairs that were ingested in between.
    ///
    /// # Errors
    /// Returns [`Error::QueryWindow`] if `slices` is out of range, or an error if a GPU fails.
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
        Ok(Delta::new(&self.params, self.slice(), slices, touched, self.shares.clone()))
    }

    /// Merges `delta`, the recent touches of another detector.
    ///
    /// A delta from a slice before the running one is aged to the running slice. Touches that have left the window have
    /// no effect.
    ///
    /// # Errors
    /// Returns the errors of [`merge_snapshot`](Self::merge_snapshot). Also returns [`Error::OlderThanWindow`] if the
    /// whole delta has left the window.
    pub fn merge_delta(&mut self, delta: &Delta) -> Result<(), Error> {
        delta.fingerprints.check(StateKind::Delta, None, &self.params)?;
        let steps = self.steps_since(StateKind::Delta, delta.slice())?;
        let (ours, window) = (self.slice(), self.params.window());
        if ours - delta.slice() >= u64::from(window) {
            return Err(Error::OlderThanWindow { ours, theirs: delta.slice(), window });
        }
        delta.shares.check(&self.params)?;
        let mut detector = self.exclusive_until(ours)?;
        let mut sections = delta.sections().into_iter().zip(steps).enumerate();
        sections.try_for_each(|(array, (section, step))| {
            detector.backend.apply(array, &section, step)
        })?;
        detector.merge_shares(&delta.shares, delta.slice())
    }

    /// Returns the steps by which the words of a state taken in `slice` must be aged, one per array.
    fn steps_since(&self, stored: StateKind, slice: u64) -> Result<[u64; ARRAYS], Error> {
        if slice > self.slice() {
            return Err(Error::FromFuture { stored, ours: self.slice(), theirs: slice });
        }
        Ok(self.params.age_steps(self.params.ages_between(slice, self.slice())))
    }
}

fn merge_words(
    backend: &mut dyn Backend,
    snapshot: &Snapshot,
    steps: [u64; ARRAYS],
) -> Result<(), Error> {
    let mut arrays = snapshot.words.iter().zip(steps).enumerate();
    arrays.try_for_each(|(array, (words, step))| backend.merge(array, words, step))
}
