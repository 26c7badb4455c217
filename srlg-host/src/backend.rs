//! [`Backend`]: what a device does for a detector. Integers only; no estimator maths.
//!
//! A slice goes through a device as `scan`* (any number of threads) and then, exclusively,
//! `candidates`, `tally` of these, `age` or `count_and_age`.

use std::collections::HashSet;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Ages, HostId, RecentRange, Span, Tally};

use crate::device::Device;
use crate::error::Error;
use crate::finder::FinderHealth;
#[cfg(feature = "cuda")]
use crate::gpu::cuda::pairs::DevicePairs;
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

/// The candidates over a span.
pub(crate) struct Candidates {
    pub(crate) span: Span,
    /// The number of all candidates.
    pub(crate) count: usize,
    /// The candidates that the device has not looked at yet, each once.
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) health: FinderHealth,
    /// For each row of the counter, the number of recorders within the span. `None` where no estimate needs it and
    /// [`Backend::count_and_age`] is the cheaper way.
    pub(crate) row_weights: Option<Vec<u32>>,
}

/// The tallies of one host.
pub(crate) struct HostTallies<'a> {
    pub(crate) host: IpAddr,
    /// The tally of the fine [region](srlg_core::Params::regions), and those of the coarse regions if the host
    /// [needs](srlg_core::Params::needs_coarse) them.
    pub(crate) tallies: &'a [Tally],
    /// The words of the finder's array at the [spots](srlg_core::Params::peer_spots) of an IPv4 host, if the device has
    /// brought them along; for an IPv6 host they mean nothing.
    pub(crate) words: Option<&'a [u64]>,
}

/// The tallies of some hosts, and for each row of the counter the number of recorders within the span, where estimates
/// need it.
#[derive(Debug, Default)]
pub(crate) struct HostAnswers {
    pub(crate) tallies: Vec<Vec<Tally>>,
    pub(crate) row_weights: Vec<u32>,
}

/// A function that takes the tallies of candidates, in any order and on any thread.
pub(crate) type TallyVisitor<'a> = dyn Fn(&HostTallies<'_>) + Sync + 'a;

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
    fn candidates(&mut self, span: Span, kept: &[IpAddr]) -> Result<Candidates, Error>;

    /// Calls `visit` for each of `candidates`, which the last call of [`candidates`](Self::candidates) returned, that may
    /// be a super point: none is left out but those that a [glimpse](srlg_core::counter::tagged::glimpse) dismisses, and
    /// those whose estimates the device knows to be below the threshold.
    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error>;

    /// Returns the tallies of one host, of the same regions, and, where estimates need it, per row of the counter
    /// how many recorders are within `span`; while others may ingest.
    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error>;

    /// Returns the same of many `hosts`, in their order; the counts of rows are the same for all.
    fn query_all(&mut self, hosts: &[HostId], span: Span) -> Result<HostAnswers, Error> {
        let mut answers = HostAnswers::default();
        for &host in hosts {
            let (tallies, row_weights) = self.query(host, span)?;
            answers.row_weights = row_weights;
            answers.tallies.push(tallies);
        }
        Ok(answers)
    }

    /// Makes all recorders `ages` older.
    fn age(&mut self, ages: Ages) -> Result<(), Error>;

    /// Counts the recorders of the counter within `span` and makes all recorders `ages` older, in one pass where the
    /// device can.
    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error>;

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
