//! What detectors tell each other: states and deltas.

use srlg_core::Ages;

use super::SlidingDetector;
use crate::error::Error;
use crate::state::{Delta, State};

impl SlidingDetector {
    /// A copy of everything that the detector has seen.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn state(&self) -> Result<State, Error> {
        let words = self.backend.shared().export()?;
        Ok(State { fingerprint: self.params.fingerprint(), slice: self.slice, words })
    }

    /// Merges what another detector has seen: from the next report on, the answer is as
    /// if this detector had seen it too, bit for bit.
    ///
    /// A state of an earlier slice is aged to the running one.
    ///
    /// # Errors
    /// [`Error::Fingerprint`] when the state belongs to other sizes, keys or sampling;
    /// [`Error::StateFromFuture`] when it is ahead of this detector.
    pub fn merge(&mut self, state: &State) -> Result<(), Error> {
        let ages = self.ages_since(state.fingerprint, state.slice)?;
        self.backend.alone(|backend| backend.merge(&state.words, ages))
    }

    /// What the last `slices` touched, the running one included: a small part of a state.
    ///
    /// With a delta of one slice per slice another detector can follow this one, see [`Delta`].
    /// Pairs that come late ([`ingest_late`](Self::ingest_late)) touch the past: where they may be
    /// n slices late take deltas of n + 1.
    ///
    /// # Errors
    /// [`Error::QueryWindow`], and what the device reports.
    pub fn delta(&self, slices: u32) -> Result<Delta, Error> {
        let touched = self.backend.shared().recent(self.span(slices)?)?;
        Ok(Delta { fingerprint: self.params.fingerprint(), slice: self.slice, touched })
    }

    /// Merges what the last slices of another detector touched; a delta of an earlier slice is
    /// aged to the running one.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub fn merge_delta(&mut self, delta: &Delta) -> Result<(), Error> {
        let ages = self.ages_since(delta.fingerprint, delta.slice)?;
        self.backend.alone(|backend| backend.apply(&delta.touched, ages))
    }

    /// How much older what was seen up to `slice` is now.
    fn ages_since(&self, fingerprint: u64, slice: u64) -> Result<Ages, Error> {
        let ours = self.params.fingerprint();
        if fingerprint != ours {
            return Err(Error::Fingerprint { ours, theirs: fingerprint });
        }
        if slice > self.slice {
            return Err(Error::StateFromFuture { ours: self.slice, theirs: slice });
        }
        Ok(self.params.ages_between(slice, self.slice))
    }
}
