//! [`PairBatch`]: pairs of any two addresses on their way to a detector.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use srlg_core::{Ip6Pair, IpPair};

use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use crate::ingest::feed::{Arrival, Feed};
use crate::ingest::pairs::Pair;
use crate::ingest::pinned::PinnedPairs;

/// Pairs of any two addresses that are ingested together, each as the type that is fastest for it.
///
/// One of [`SlidingDetector::pair_batch`] collects them where a GPU reads them by itself: [`ingest`](Self::ingest) then makes no
/// copy on the host.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::ingest::PairBatch;
///
/// let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut batch = PairBatch::new();
/// batch.push("10.0.0.1".parse()?, "192.0.2.7".parse()?);
/// batch.push("2001:db8::1".parse()?, "2001:db8:1::7".parse()?);
/// assert_eq!((batch.v4()?.len(), batch.v6()?.len()), (1, 1));
/// batch.ingest(&detector)?;
/// batch.clear();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PairBatch {
    v4: FamilyBatch<IpPair>,
    v6: FamilyBatch<Ip6Pair>,
    /// What the device reported during a push, until a call can return that.
    failure: Mutex<Option<Error>>,
}

impl Default for PairBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl PairBatch {
    /// Returns a batch without any pair, in ordinary memory.
    #[must_use]
    pub const fn new() -> Self {
        Self::of(FamilyBatch::new(), FamilyBatch::new())
    }

    const fn of(v4: FamilyBatch<IpPair>, v6: FamilyBatch<Ip6Pair>) -> Self {
        Self { v4, v6, failure: Mutex::new(None) }
    }

    /// Adds the pair of the inside host `inside` and its opposite host `opposite`.
    #[inline]
    pub fn push(&mut self, inside: IpAddr, opposite: IpAddr) {
        let pushed = match (inside.to_canonical(), opposite.to_canonical()) {
            (IpAddr::V4(inside), IpAddr::V4(opposite)) => {
                self.v4.push(IpPair::new(inside, opposite))
            }
            _ => self.v6.push(Ip6Pair::new(inside, opposite)),
        };
        if let Err(error) = pushed {
            let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }

    /// Returns what the device reported during a push, once.
    fn check(&self) -> Result<(), Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    /// Ingests all pairs as contacts of the slice that `detector` runs.
    ///
    /// # Errors
    /// As [`SlidingDetector::ingest`]. What the device reported during a [`push`](Self::push) is returned by the next call that
    /// ingests or reads the pairs, all of which the batch still has.
    pub fn ingest(&self, detector: &SlidingDetector) -> Result<(), Error> {
        self.ingest_late(detector, 0)
    }

    /// Ingests all pairs as contacts of `slices_late` slices before the one that `detector` runs.
    ///
    /// # Errors
    /// As [`SlidingDetector::ingest_late`].
    pub fn ingest_late(&self, detector: &SlidingDetector, slices_late: u32) -> Result<(), Error> {
        self.check()?;
        // Those that may be refused come first: then none are ingested.
        self.v6.ingest_late(detector, slices_late)?;
        self.v4.ingest_late(detector, slices_late)
    }

    /// Ingests all pairs by way of `feed`.
    ///
    /// # Errors
    /// As [`Feed::ingest`].
    pub fn feed(&self, feed: &mut Feed) -> Result<(), Error> {
        self.check()?;
        self.v6.runs(|pairs| feed.ingest(pairs))?;
        self.v4.runs(|pairs| feed.ingest(pairs))
    }

    /// Ingests all pairs by way of `feed` as contacts of the slice of number `slice`; tells where that is.
    ///
    /// # Errors
    /// As [`Feed::ingest_at`].
    #[expect(clippy::missing_panics_doc, reason = "either family has a run, if an empty one")]
    pub fn feed_at(&self, feed: &mut Feed, slice: u64) -> Result<Arrival, Error> {
        self.check()?;
        let mut arrival = None;
        self.v6.runs(|pairs| put(feed, slice, pairs, &mut arrival))?;
        self.v4.runs(|pairs| put(feed, slice, pairs, &mut arrival))?;
        Ok(arrival.expect("a run of either type"))
    }

    /// Returns the pairs of two IPv4 hosts: a copy where a device reads them by itself.
    ///
    /// # Errors
    /// What that device reports.
    pub fn v4(&self) -> Result<Cow<'_, [IpPair]>, Error> {
        self.check()?;
        self.v4.all()
    }

    /// Returns all other pairs: a copy where a device reads them by itself.
    ///
    /// # Errors
    /// What that device reports.
    pub fn v6(&self) -> Result<Cow<'_, [Ip6Pair]>, Error> {
        self.check()?;
        self.v6.all()
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Returns whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.v4.clear();
        self.v6.clear();
    }
}

impl SlidingDetector {
    /// Returns an empty batch that keeps up to `len` pairs of each type in page-locked memory, which the detector's GPU reads by
    /// itself, and more in ordinary memory. The page-locked memory is of 80 bytes for each of the `len` pairs. On the CPU all of
    /// the batch is in ordinary memory.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, SlidingDetector};
    /// let detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    /// let mut batch = detector.pair_batch(1 << 14)?;
    /// batch.push("10.0.0.1".parse()?, "192.0.2.7".parse()?);
    /// batch.ingest(&detector)?; // a GPU copies after the call has returned
    /// batch.clear(); // the next pairs go to another memory meanwhile
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PinnedMemory`].
    pub fn pair_batch(&self, len: usize) -> Result<PairBatch, Error> {
        match self.device() {
            Device::Cpu => Ok(PairBatch::new()),
            _ => {
                let v4 = FamilyBatch::pinned(|| self.pinned_pairs(len))?;
                Ok(PairBatch::of(v4, FamilyBatch::pinned(|| self.pinned_pairs(len))?))
            }
        }
    }
}

/// The pairs of one type in a batch, in the order in which they came: those in pinned memory, then those beyond.
#[derive(Debug)]
struct FamilyBatch<P: Pair> {
    pinned: Option<PinnedBuffers<P>>,
    rest: Vec<P>,
}

/// Two buffers that a device reads by itself: while it reads one, the other is filled.
#[derive(Debug)]
struct PinnedBuffers<P: Pair> {
    memories: [PinnedPairs<P>; 2],
    /// The index of the buffer that is filled.
    filling: usize,
}

impl<P: Pair> FamilyBatch<P> {
    /// No pairs, in ordinary memory.
    const fn new() -> Self {
        Self { pinned: None, rest: Vec::new() }
    }

    /// No pairs, in the memory that `pin` returns twice, and beyond that in ordinary memory.
    fn pinned(mut pin: impl FnMut() -> Result<PinnedPairs<P>, Error>) -> Result<Self, Error> {
        let mut memories = [pin()?, pin()?];
        memories.iter_mut().for_each(PinnedPairs::clear);
        Ok(Self { pinned: Some(PinnedBuffers { memories, filling: 0 }), rest: Vec::new() })
    }

    /// Adds `pair`, in any case; returns what the device reports that reads the memory.
    #[inline]
    fn push(&mut self, pair: P) -> Result<(), Error> {
        let mut pushed = Ok(());
        if let Some(PinnedBuffers { memories, filling }) = &mut self.pinned
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
    fn clear(&mut self) {
        if let Some(PinnedBuffers { memories, filling }) = &mut self.pinned {
            *filling = 1 - *filling;
            memories[*filling].clear();
        }
        self.rest.clear();
    }

    /// Those in the memory that a device reads.
    fn in_pinned(&self) -> Option<&PinnedPairs<P>> {
        self.pinned.as_ref().map(|PinnedBuffers { memories, filling }| &memories[*filling])
    }

    /// Ingests all pairs as contacts of `slices_late` slices before the one that `detector` runs.
    fn ingest_late(&self, detector: &SlidingDetector, slices_late: u32) -> Result<(), Error> {
        if let Some(pinned) = self.in_pinned().filter(|pinned| !pinned.is_empty()) {
            detector.ingest_pinned_late(pinned, slices_late)?;
        }
        detector.ingest_late(&self.rest, slices_late)
    }

    fn len(&self) -> usize {
        self.in_pinned().map_or(0, PinnedPairs::len) + self.rest.len()
    }

    /// Calls `each` with runs of the pairs, in their order.
    fn runs(&self, mut each: impl FnMut(&[P]) -> Result<(), Error>) -> Result<(), Error> {
        if let Some(pinned) = self.in_pinned() {
            pinned.read(&mut each)??;
        }
        each(&self.rest)
    }

    /// All of them.
    fn all(&self) -> Result<Cow<'_, [P]>, Error> {
        let Some(pinned) = self.in_pinned() else { return Ok(Cow::Borrowed(&self.rest)) };
        let mut all = pinned.read(<[P]>::to_vec)?;
        all.extend_from_slice(&self.rest);
        Ok(Cow::Owned(all))
    }
}

/// Ingests `pairs` by way of `feed`, as contacts of the slice of number `slice`, unless pairs before them were not ingested.
fn put<P: Pair>(
    feed: &mut Feed,
    slice: u64,
    pairs: &[P],
    arrival: &mut Option<Arrival>,
) -> Result<(), Error> {
    // The first run may be empty: then the slice is found by that. What pairs have found stays.
    if arrival.is_none_or(|earlier| earlier.is_ingested() && !pairs.is_empty()) {
        *arrival = Some(feed.ingest_at(slice, pairs)?);
    }
    Ok(())
}

impl<H: Into<IpAddr>> Extend<(H, H)> for PairBatch {
    #[inline]
    fn extend<T: IntoIterator<Item = (H, H)>>(&mut self, pairs: T) {
        pairs.into_iter().for_each(|(inside, opposite)| self.push(inside.into(), opposite.into()));
    }
}
