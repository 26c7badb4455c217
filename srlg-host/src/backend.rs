//! [`Backend`]: what a device does for a detector. Integers only; no estimator maths.
//!
//! A slice goes through a device as `scan`* (any number of threads) and then, exclusively,
//! `candidates`, `tally` of what they found, `age`.

use std::collections::HashSet;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Ages, HostId, RecentRange, Span, Tally};

use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::device_pairs::DevicePairs;
use crate::error::Error;
use crate::finder::Quality;
#[cfg(any(feature = "cuda", test))]
use crate::ingest::pairs::Family;
use crate::ingest::pairs::PairSlice;
use crate::ingest::pinned::{PairMemory, PinnedMemory};
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
    /// How many candidates there are.
    pub(crate) candidates: usize,
    /// Those of them that the device has not looked at yet, each once.
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) quality: Quality,
    /// Per row of the counter, how many recorders are within the span. `None` where no estimate
    /// needs them and the device counts them while it ages them.
    pub(crate) row_weights: Option<Vec<u32>>,
}

/// What a device saw of a candidate.
pub(crate) struct Looked<'a> {
    pub(crate) host: IpAddr,
    /// Of the fine [region](srlg_core::Params::regions), and of the coarse ones where the host
    /// [needs](srlg_core::Params::needs_coarse) them.
    pub(crate) tallies: &'a [Tally],
    /// The words of the finder's array at the [spots](srlg_core::Params::peer_spots) of an IPv4 host, where the device
    /// has brought them along; of an IPv6 host, anything.
    pub(crate) words: Option<&'a [u64]>,
}

/// Takes what was seen of candidates, in any order and from any threads.
pub(crate) type Each<'a> = dyn Fn(&Looked<'_>) + Sync + 'a;

/// Returns `hosts`, each of which is there once, and behind them those of `kept` that are not among them.
pub(crate) fn united(mut hosts: Vec<IpAddr>, kept: &[IpAddr]) -> Vec<IpAddr> {
    let known: HashSet<IpAddr> = hosts.iter().copied().collect();
    hosts.extend(kept.iter().filter(|host| !known.contains(host)));
    hosts
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

    /// Finds the candidates over `span`: those that the limits of the params accept, and all of `kept`.
    fn candidates(&mut self, span: Span, kept: &[IpAddr]) -> Result<Found, Error>;

    /// Calls `each` for every candidate of `found`, what `candidates` returned last, that may be a super point: none is left
    /// out but those that a [glimpse](srlg_core::counter::tagged::glimpse) dismisses, and those of which the device knows
    /// that their estimates are below the threshold.
    fn tally(&mut self, found: &Found, each: &Each<'_>) -> Result<(), Error>;

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
