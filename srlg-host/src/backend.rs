//! [`Backend`]: what a device does for a detector. Integers only; no estimator maths.
//!
//! A slice goes through a device as `scan`* (any number of threads) and then, exclusively,
//! `candidates`, `tally` of what they found, `age`.

use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Ages, HostId, RecentRange, Span, Tally};

use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::device_pairs::DevicePairs;
use crate::error::Error;
use crate::finder::Quality;
#[cfg(any(feature = "cuda", test))]
use crate::pairs::Family;
use crate::pairs::PairSlice;
use crate::pinned::{PairMemory, PinnedMemory};
use crate::state::{Coder, Section, Words};

/// Pairs, wherever they are.
#[derive(Clone, Copy)]
pub(crate) enum Pairs<'a> {
    /// In ordinary memory.
    Plain(PairSlice<'a>),
    /// In memory that the device reads fastest.
    Pinned(&'a PinnedMemory),
    /// On the device.
    #[cfg(feature = "cuda")]
    #[cfg_attr(
        not(any(feature = "cudarc", feature = "cust")),
        allow(dead_code, reason = "made by `ingest_device` alone")
    )]
    Resident(&'a dyn DevicePairs),
}

#[cfg(any(feature = "cuda", test))]
impl Pairs<'_> {
    /// Which type the pairs are of.
    #[inline]
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Plain(pairs) => pairs.family(),
            Self::Pinned(pairs) => pairs.family(),
            #[cfg(feature = "cuda")]
            Self::Resident(pairs) => pairs.view().family(),
        }
    }
}

/// What a device found over a span.
pub(crate) struct Found {
    /// The span.
    pub(crate) span: Span,
    /// Candidates, each once.
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) quality: Quality,
    /// Per row of the counter, how many recorders are within the span. `None` where no estimate
    /// needs them and the device counts them while it ages them.
    pub(crate) row_weights: Option<Vec<u32>>,
}

/// A device that holds the recorders of one detector.
///
/// Arrays go by their numbers, [`srlg_core::FINDER`] and [`srlg_core::COUNTER`].
pub(crate) trait Backend: Send + Sync {
    /// Where it is.
    fn device(&self) -> Device;

    /// Updates the recorders of `pairs`, which were in contact `ages` ago; updates may still be
    /// under way when the call returns, but not for any later call.
    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error>;

    /// Returns room for at least `bytes` bytes of pairs, all 0, from where they get to the device fastest.
    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error>;

    /// Waits until all pairs have updated their recorders.
    fn flush(&self) -> Result<(), Error>;

    /// Sets the maximum number of CPU threads that a close uses, where the CPU does its work.
    fn set_threads(&mut self, threads: NonZeroUsize);

    /// Finds the candidates over `span` that the limits of the params accept.
    fn candidates(&mut self, span: Span) -> Result<Found, Error>;

    /// Calls `each` with the number and the tallies over the span of `found` of each host of `found` that no
    /// [glimpse](srlg_core::Params::may_reach) dismisses, in any order and from any threads: of the fine
    /// [region](srlg_core::Params::regions), and of the coarse ones where the host
    /// [needs](srlg_core::Params::needs_coarse) them.
    fn tally(
        &mut self,
        found: &Found,
        each: &(dyn Fn(usize, &[Tally]) + Sync),
    ) -> Result<(), Error>;

    /// Returns the tallies of one host, of the same regions, and, where estimates need it, per row of the counter
    /// how many recorders are within `span`; while others may ingest.
    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error>;

    /// Ages all recorders by `ages`. Returns how many recorders of the counter were within
    /// `count_within` before, 0 without it.
    fn age(&mut self, ages: Ages, count_within: Option<Span>) -> Result<u32, Error>;

    /// Returns the words of the recorders of `array` numbered `places`; while others may ingest.
    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error>;

    /// Returns the words of `array`.
    fn export(&self, array: usize) -> Result<Words, Error>;

    /// Keeps the smaller of each word of `array` and its one of `words`, aged by `step`.
    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error>;

    /// Writes to `coder` the recorders of `array` that `range` holds.
    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error>;

    /// Merges the recorders in `section`, which are of `array`, aged by `step`.
    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error>;
}
