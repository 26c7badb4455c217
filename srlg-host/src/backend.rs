//! [`Backend`]: the device operations that a detector needs. A device counts with integers and does not compute
//! estimates.
//!
//! During a slice, a detector calls `scan` any number of times, from any number of threads. When the slice closes, the
//! detector calls `candidates`, `tally` and either `age` or `count_and_age`, which need exclusive access.

use std::collections::HashSet;
use std::net::IpAddr;
use std::num::NonZeroUsize;

use srlg_core::{Ages, HostId, IpPair, Ipv4Pair, Params, RecentRange, Span, Tally};

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

#[derive(Clone, Copy)]
pub(crate) enum Pairs<'a> {
    /// Pairs in ordinary memory.
    Plain(PairSlice<'a>),
    /// Pairs in pinned memory, which the device reads fastest.
    Pinned(&'a PinnedMemory),
    /// Pairs on the device.
    #[cfg(feature = "cuda")]
    #[cfg_attr(
        not(any(feature = "cudarc", feature = "cust")),
        allow(dead_code, reason = "only `ingest_device` creates this")
    )]
    Resident(&'a dyn DevicePairs),
}

#[cfg(any(feature = "cuda", test))]
impl Pairs<'_> {
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

/// Distinct pairs whose newest contacts have the same age.
pub(crate) struct PairsOfAges {
    pub(crate) ages: Ages,
    pub(crate) v4: Vec<Ipv4Pair>,
    pub(crate) v6: Vec<IpPair>,
}

pub(crate) struct Candidates {
    pub(crate) span: Span,
    /// Number of candidates, including those that are not in `hosts`.
    pub(crate) count: usize,
    /// The candidates that the device has not yet examined, without duplicates.
    pub(crate) hosts: Vec<IpAddr>,
    pub(crate) health: FinderHealth,
    /// Number of recorders within the span, for each row of the counter.
    ///
    /// `None` if no estimate needs these numbers and [`Backend::count_and_age`] is cheaper.
    pub(crate) row_weights: Option<Vec<u32>>,
}

pub(crate) struct HostTallies<'a> {
    pub(crate) host: IpAddr,
    /// The tally of the fine [region](srlg_core::Params::regions), followed by the tallies of the coarse regions if the
    /// host [needs](srlg_core::Params::needs_coarse) them.
    pub(crate) tallies: &'a [Tally],
    /// The words of the finder's array at the [spots](srlg_core::Params::peer_spots) of an IPv4 host, if the device
    /// returned them. For an IPv6 host, the words are meaningless.
    pub(crate) words: Option<&'a [u64]>,
}

#[derive(Debug, Default)]
pub(crate) struct HostAnswers {
    pub(crate) tallies: Vec<Vec<Tally>>,
    /// Number of recorders within the span, for each row of the counter. Empty if estimates do not need these numbers.
    pub(crate) row_weights: Vec<u32>,
}

/// A function that receives the tallies of candidates, in any order and on any thread.
pub(crate) type TallyVisitor<'a> = dyn Fn(&HostTallies<'_>) + Sync + 'a;

/// Returns `hosts`, followed by the hosts of `kept` that are not in `hosts`. Neither list may contain a host twice.
pub(crate) fn united(mut hosts: Vec<IpAddr>, kept: &[IpAddr]) -> Vec<IpAddr> {
    let known: HashSet<IpAddr> = hosts.iter().copied().collect();
    hosts.extend(kept.iter().filter(|host| !known.contains(host)));
    hosts
}

/// A device that stores the recorders of one detector.
///
/// Arrays are identified by number: [`srlg_core::FINDER`] and [`srlg_core::COUNTER`].
pub(crate) trait Backend: Send + Sync {
    fn device(&self) -> Device;

    /// Updates the recorders of `pairs`, whose contacts have these `ages`.
    ///
    /// Updates may continue after the call returns, but any later call sees all of them.
    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error>;

    /// Allocates at least `bytes` bytes of zeroed memory for pairs, of the kind that the device reads fastest.
    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error>;

    /// Waits until all pairs have updated their recorders.
    fn flush(&self) -> Result<(), Error>;

    /// Returns the memory that is in use now, in bytes.
    fn memory_bytes(&self) -> usize;

    fn has_recorders(&self) -> bool {
        true
    }

    /// Returns the pairs since the last call to [`take_pairs`](Self::take_pairs), or `None` if the backend does not
    /// list them.
    fn pairs(&self) -> Option<Vec<PairsOfAges>> {
        None
    }

    /// Returns the listed pairs like [`pairs`](Self::pairs), and begins a new list if the backend can list pairs.
    fn take_pairs(&mut self) -> Option<Vec<PairsOfAges>> {
        None
    }

    /// Replaces the params by `params`, which may differ only in the [shares](Params::with_shares). Pairs that were
    /// already ingested keep the former shares.
    fn set_params(&mut self, params: Params) -> Result<(), Error>;

    /// Sets the maximum number of CPU threads that closing a slice uses, if the CPU does the work.
    fn set_threads(&mut self, threads: NonZeroUsize);

    /// Finds the candidates over `span`: all of `kept`, and up to `limit` other hosts. `limit` must not exceed the
    /// candidate limit of the params.
    fn candidates(&mut self, span: Span, kept: &[IpAddr], limit: u32) -> Result<Candidates, Error>;

    /// Calls `visit` for each of `candidates` that may be a super point.
    ///
    /// `candidates` must be the result of the last call to [`candidates`](Self::candidates). A candidate is skipped
    /// only if a [glimpse](srlg_core::counter::tagged::glimpse) dismisses it, or if its estimate is known to be below
    /// the threshold.
    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error>;

    /// Returns the tallies of one host, for the same regions as [`HostTallies`].
    ///
    /// Also returns the number of recorders within `span` for each row of the counter, if estimates need these numbers.
    /// Other threads may ingest at the same time.
    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error>;

    /// Returns the tallies of each host, in the order of `hosts`, and the row weights, which do not depend on the host.
    fn query_all(&mut self, hosts: &[HostId], span: Span) -> Result<HostAnswers, Error> {
        let mut answers = HostAnswers::default();
        for &host in hosts {
            let (tallies, row_weights) = self.query(host, span)?;
            answers.row_weights = row_weights;
            answers.tallies.push(tallies);
        }
        Ok(answers)
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error>;

    /// Counts the recorders of the counter within `span`, and ages all recorders by `ages`.
    ///
    /// If the device supports it, a single pass counts and ages the recorders of the counter.
    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error>;

    /// Returns the words of the recorders of `array` at the indices `places`. Other threads may ingest at the same
    /// time.
    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error>;

    fn export(&self, array: usize) -> Result<Words, Error>;

    /// Replaces each word of `array` with the corresponding word of `words`, aged by `step`, if the aged word is
    /// smaller.
    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error>;

    /// Writes the recorders of `array` that are recent according to `range` to `coder`.
    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error>;

    /// Merges the recorders in `section`, aged by `step`, into `array`.
    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error>;
}
