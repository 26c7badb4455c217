//! [`Collected`]: the pairs of one type in a batch.
//!
//! Shape: memory that the device of a detector reads by itself, if there is any, and ordinary memory for what is beyond.
//! Invariant: pairs are in the order in which they came, those in the first memory before those in the other.

use std::borrow::Cow;

use crate::detector::SlidingDetector;
use crate::error::Error;
use crate::ingest::pairs::Pair;
use crate::ingest::pinned::PinnedPairs;

/// Pairs of one type.
#[derive(Debug)]
pub(super) struct Collected<P: Pair> {
    staged: Option<Staged<P>>,
    rest: Vec<P>,
}

/// Memory that a device reads: while it reads one the other is filled.
#[derive(Debug)]
struct Staged<P: Pair> {
    memories: [PinnedPairs<P>; 2],
    /// The one that is filled.
    filling: usize,
}

impl<P: Pair> Collected<P> {
    /// No pairs, in ordinary memory.
    pub(super) const fn new() -> Self {
        Self { staged: None, rest: Vec::new() }
    }

    /// No pairs, in the memory that `pin` returns twice, and beyond that in ordinary memory.
    pub(super) fn staged(
        mut pin: impl FnMut() -> Result<PinnedPairs<P>, Error>,
    ) -> Result<Self, Error> {
        let mut memories = [pin()?, pin()?];
        memories.iter_mut().for_each(PinnedPairs::clear);
        Ok(Self { staged: Some(Staged { memories, filling: 0 }), rest: Vec::new() })
    }

    /// Adds `pair`, in any case; returns what the device reports that reads the memory.
    #[inline]
    pub(super) fn push(&mut self, pair: P) -> Result<(), Error> {
        let mut pushed = Ok(());
        if let Some(Staged { memories, filling }) = &mut self.staged
            && self.rest.is_empty()
        {
            match memories[*filling].push(pair) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => pushed = Err(error),
            }
        }
        self.rest.push(pair);
        pushed
    }

    /// Removes all pairs.
    pub(super) fn clear(&mut self) {
        if let Some(Staged { memories, filling }) = &mut self.staged {
            *filling = 1 - *filling;
            memories[*filling].clear();
        }
        self.rest.clear();
    }

    /// Those in the memory that a device reads.
    fn in_staged(&self) -> Option<&PinnedPairs<P>> {
        self.staged.as_ref().map(|Staged { memories, filling }| &memories[*filling])
    }

    /// Ingests all pairs as contacts of `slices_late` slices before the one that `detector` runs.
    pub(super) fn ingest_late(
        &self,
        detector: &SlidingDetector,
        slices_late: u32,
    ) -> Result<(), Error> {
        if let Some(staged) = self.in_staged().filter(|staged| !staged.is_empty()) {
            detector.ingest_pinned_late(staged, slices_late)?;
        }
        detector.ingest_late(&self.rest, slices_late)
    }

    pub(super) fn len(&self) -> usize {
        self.in_staged().map_or(0, PinnedPairs::len) + self.rest.len()
    }

    /// Calls `each` with runs of the pairs, in their order.
    pub(super) fn runs(
        &self,
        mut each: impl FnMut(&[P]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(staged) = self.in_staged() {
            staged.read(&mut each)??;
        }
        each(&self.rest)
    }

    /// All of them.
    pub(super) fn all(&self) -> Result<Cow<'_, [P]>, Error> {
        let Some(staged) = self.in_staged() else { return Ok(Cow::Borrowed(&self.rest)) };
        let mut all = staged.read(<[P]>::to_vec)?;
        all.extend_from_slice(&self.rest);
        Ok(Cow::Owned(all))
    }
}
