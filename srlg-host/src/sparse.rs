//! [`SparseBackend`]: a backend that lists its first pairs, and has recorders only if it needs them.
//!
//! ```text
//!  listing ------------ more pairs than `most`, or an operation that reads recorders --------> recorders only
//!     ^                 (the listed pairs update the new recorders)                                  |
//!     +----------------- `take_pairs` begins a new list; recorders stay for a window ---------------+
//! ```
//!
//! Invariants:
//! - If there are no recorders, there is a list, and it contains all pairs since it began.
//! - If there are recorders, all pairs have updated them, including those in the list.
//!
//! The order of touches does not matter. Therefore the recorders are the same, bit for bit, as those of a backend that
//! had them from the beginning.

mod list;

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use srlg_core::{Ages, HostId, Params, RecentRange, Span, Tally};

use crate::backend::{Backend, Candidates, HostAnswers, Pairs, PairsOfAges, TallyVisitor};
use crate::cpu;
use crate::device::Device;
use crate::error::Error;
use crate::ingest::pairs::PairSlice;
use crate::ingest::pinned::PairMemory;
use crate::state::{Coder, Section, Words};
use list::{PairList, V6_WEIGHT};

/// Maximum weight of the pairs that are added before the weight of the list is compared with its maximum.
const PIECE: usize = 1 << 10;

pub(crate) struct SparseBackend {
    params: Params,
    threads: NonZeroUsize,
    /// Maximum weight of the list.
    most: usize,
    list: Mutex<Option<PairList>>,
    /// Whether there may be a list.
    is_listing: AtomicBool,
    recorders: OnceLock<Box<dyn Backend>>,
    /// Number of calls to [`Backend::take_pairs`] since one without a list.
    quiet: u32,
}

impl SparseBackend {
    /// Creates a backend that lists up to `most` pairs. A pair with an IPv6 address counts as four.
    pub(crate) fn new(params: Params, most: usize) -> Self {
        Self {
            params,
            threads: NonZeroUsize::MIN,
            most,
            list: Mutex::new(Some(PairList::default())),
            is_listing: AtomicBool::new(true),
            recorders: OnceLock::new(),
            quiet: 0,
        }
    }

    /// Returns the maximum memory of a list of up to `most` pairs, in bytes.
    pub(crate) const fn list_bytes(most: usize) -> usize {
        PairList::most_bytes(most.saturating_add(PIECE))
    }

    fn list(&self) -> MutexGuard<'_, Option<PairList>> {
        // Each pair is added at once, so a panic leaves a list that is valid.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list_mut(&mut self) -> &mut Option<PairList> {
        self.list.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn scan_plain(&self, pairs: PairSlice<'_>, ages: Ages) -> Result<(), Error> {
        pairs.family().check(&self.params)?;
        if !self.is_listing.load(Ordering::Acquire) {
            return self.recorders()?.scan(Pairs::Plain(pairs), ages);
        }
        let mut piece = |pairs| self.scan_piece(pairs, ages);
        match pairs {
            PairSlice::V4(pairs) => pairs.chunks(PIECE).map(PairSlice::V4).try_for_each(&mut piece),
            PairSlice::V6(pairs) => {
                pairs.chunks(PIECE / V6_WEIGHT).map(PairSlice::V6).try_for_each(&mut piece)
            }
        }
    }

    /// Ingests up to [`PIECE`] pairs.
    fn scan_piece(&self, pairs: PairSlice<'_>, ages: Ages) -> Result<(), Error> {
        let mut list = self.list();
        let Some(listed) = &mut *list else {
            drop(list);
            return self.recorders()?.scan(Pairs::Plain(pairs), ages);
        };
        listed.add(pairs, ages);
        if let Some(recorders) = self.recorders.get() {
            recorders.scan(Pairs::Plain(pairs), ages)?;
        }
        if listed.weight() > self.most { self.end(&mut list) } else { Ok(()) }
    }

    /// Returns the recorders. If there are none, they replace the list.
    fn recorders(&self) -> Result<&dyn Backend, Error> {
        if self.recorders.get().is_none() {
            self.end(&mut self.list())?;
        }
        Ok(&**self.recorders.get().expect("a list ends when there are recorders"))
    }

    fn recorders_mut(&mut self) -> Result<&mut dyn Backend, Error> {
        self.recorders()?;
        Ok(&mut **self.recorders.get_mut().expect("a list ends when there are recorders"))
    }

    /// Ends the list, which does not contain the touches that are about to be merged, and returns the recorders.
    fn end_mut(&mut self) -> Result<&mut dyn Backend, Error> {
        self.end(&mut self.list())?;
        self.recorders_mut()
    }

    /// Ends the list. If there are no recorders, the listed pairs update new ones. If the result is an error, nothing
    /// changes.
    fn end(&self, list: &mut Option<PairList>) -> Result<(), Error> {
        if let Some(listed) = list
            && self.recorders.get().is_none()
        {
            let mut recorders = cpu::backend(self.params)?;
            recorders.set_threads(self.threads);
            for PairsOfAges { ages, v4, v6 } in listed.by_ages() {
                recorders.scan(Pairs::Plain(PairSlice::V4(&v4)), ages)?;
                recorders.scan(Pairs::Plain(PairSlice::V6(&v6)), ages)?;
            }
            // Only the thread that holds the lock of the list sets the recorders.
            let _were_none = self.recorders.set(recorders);
        }
        *list = None;
        self.is_listing.store(false, Ordering::Release);
        Ok(())
    }
}

impl Backend for SparseBackend {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn scan(&self, pairs: Pairs<'_>, ages: Ages) -> Result<(), Error> {
        match pairs {
            Pairs::Plain(pairs) => self.scan_plain(pairs, ages),
            Pairs::Pinned(pairs) => pairs.scan(|pairs| self.scan_plain(pairs, ages)),
            #[cfg(feature = "cuda")]
            Pairs::Resident(_) => Err(Error::NotOnDevice),
        }
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn PairMemory>, Error> {
        cpu::pin(bytes)
    }

    fn flush(&self) -> Result<(), Error> {
        self.recorders.get().map_or(Ok(()), |recorders| recorders.flush())
    }

    fn memory_bytes(&self) -> usize {
        let recorders = self.recorders.get().map_or(0, |recorders| recorders.memory_bytes());
        recorders + self.list().as_ref().map_or(0, PairList::memory_bytes)
    }

    fn has_recorders(&self) -> bool {
        self.recorders.get().is_some()
    }

    fn take_pairs(&mut self) -> Option<Vec<PairsOfAges>> {
        let taken = self.list_mut().replace(PairList::default());
        self.is_listing.store(true, Ordering::Release);
        self.quiet = if taken.is_some() { self.quiet.saturating_add(1) } else { 0 };
        if self.quiet >= self.params.window() {
            self.recorders.take();
        }
        taken.map(|taken| taken.by_ages())
    }

    fn pairs(&self) -> Option<Vec<PairsOfAges>> {
        self.list().as_ref().map(PairList::by_ages)
    }

    fn set_params(&mut self, params: Params) -> Result<(), Error> {
        // The listed pairs would be counted with the new shares.
        if self.list_mut().as_ref().is_some_and(|list| list.weight() > 0) {
            self.recorders()?;
        }
        self.params = params;
        self.recorders.get_mut().map_or(Ok(()), |recorders| recorders.set_params(params))
    }

    fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
        self.recorders.get_mut().into_iter().for_each(|recorders| recorders.set_threads(threads));
    }

    fn candidates(&mut self, span: Span, kept: &[IpAddr], limit: u32) -> Result<Candidates, Error> {
        self.recorders_mut()?.candidates(span, kept, limit)
    }

    fn tally(&mut self, candidates: &Candidates, visit: &TallyVisitor<'_>) -> Result<(), Error> {
        self.recorders_mut()?.tally(candidates, visit)
    }

    fn query(&self, host: HostId, span: Span) -> Result<(Vec<Tally>, Vec<u32>), Error> {
        self.recorders()?.query(host, span)
    }

    fn query_all(&mut self, hosts: &[HostId], span: Span) -> Result<HostAnswers, Error> {
        self.recorders_mut()?.query_all(hosts, span)
    }

    fn age(&mut self, ages: Ages) -> Result<(), Error> {
        let params = self.params;
        self.list_mut().iter_mut().for_each(|list| list.age(ages, &params));
        self.recorders.get_mut().map_or(Ok(()), |recorders| recorders.age(ages))
    }

    fn count_and_age(&mut self, span: Span, ages: Ages) -> Result<u32, Error> {
        let count = self.recorders_mut()?.count_and_age(span, ages)?;
        let params = self.params;
        self.list_mut().iter_mut().for_each(|list| list.age(ages, &params));
        Ok(count)
    }

    fn gather(&self, array: usize, places: &[u32]) -> Result<Words, Error> {
        self.recorders()?.gather(array, places)
    }

    fn export(&self, array: usize) -> Result<Words, Error> {
        self.recorders()?.export(array)
    }

    fn merge(&mut self, array: usize, words: &Words, step: u64) -> Result<(), Error> {
        self.end_mut()?.merge(array, words, step)
    }

    fn recent(&mut self, array: usize, range: RecentRange, coder: &mut Coder) -> Result<(), Error> {
        self.recorders_mut()?.recent(array, range, coder)
    }

    fn apply(&mut self, array: usize, section: &Section<'_>, step: u64) -> Result<(), Error> {
        self.end_mut()?.apply(array, section, step)
    }
}
