//! [`PairBatch`]: a batch of pairs of any two addresses.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use srlg_core::{IpPair, Ipv4Pair};

use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use crate::ingest::feed::{Arrival, Feed};
use crate::ingest::pairs::Pair;
use crate::ingest::pinned::PinnedPairs;

/// A batch of pairs of any two addresses. Pairs of two IPv4 addresses are stored as [`Ipv4Pair`]s, which are ingested
/// faster. All other pairs are stored as [`IpPair`]s.
///
/// If the detector runs on a GPU, a batch from [`SlidingDetector::pair_batch`] stores pairs in memory that the GPU
/// reads directly. [`ingest`](Self::ingest) then does not copy the pairs on the CPU.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::ingest::PairBatch;
/// use std::net::IpAddr;
///
/// let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut batch = PairBatch::new();
/// let address = str::parse::<IpAddr>;
/// batch.push((address("10.0.0.1")?, address("192.0.2.7")?));
/// batch.push((address("2001:db8::1")?, address("2001:db8:1::7")?));
/// assert_eq!((batch.v4()?.len(), batch.v6()?.len()), (1, 1));
/// batch.ingest(&detector)?;
/// batch.clear();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PairBatch {
    v4: FamilyBatch<Ipv4Pair>,
    v6: FamilyBatch<IpPair>,
    /// A device error that occurred during a push, kept until a call can return it.
    failure: Mutex<Option<Error>>,
}

impl Default for PairBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl PairBatch {
    /// Creates an empty batch in ordinary memory.
    #[must_use]
    pub const fn new() -> Self {
        Self::of(FamilyBatch::new(), FamilyBatch::new())
    }

    const fn of(v4: FamilyBatch<Ipv4Pair>, v6: FamilyBatch<IpPair>) -> Self {
        Self { v4, v6, failure: Mutex::new(None) }
    }

    /// Adds `pair`, which may also be a tuple of the inside host and its peer.
    #[inline]
    pub fn push(&mut self, pair: impl Into<IpPair>) {
        let pair = pair.into();
        let pushed = match pair.to_ipv4() {
            Some(pair) => self.v4.push(pair),
            None => self.v6.push(pair),
        };
        if let Err(error) = pushed {
            let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }

    /// Adds all pairs of `other`.
    pub(crate) fn append(&mut self, other: &Self) -> Result<(), Error> {
        other.v4()?.iter().try_for_each(|pair| self.v4.push(*pair))?;
        other.v6()?.iter().try_for_each(|pair| self.v6.push(*pair))
    }

    /// Returns the first device error that occurred during a push since the previous check, or `Ok` if none occurred.
    fn check(&self) -> Result<(), Error> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    /// Ingests all pairs as contacts in the running slice of `detector`.
    ///
    /// # Errors
    /// Returns the errors of [`SlidingDetector::ingest`]. If the device fails during a [`push`](Self::push), the next
    /// call that ingests or reads the pairs returns the error, and the batch still contains all pairs.
    pub fn ingest(&self, detector: &SlidingDetector) -> Result<(), Error> {
        self.ingest_late(detector, 0)
    }

    /// Ingests all pairs as contacts in the slice that is `slices_late` slices before the running slice of `detector`.
    ///
    /// # Errors
    /// Returns the errors of [`SlidingDetector::ingest_late`].
    pub fn ingest_late(&self, detector: &SlidingDetector, slices_late: u32) -> Result<(), Error> {
        self.check()?;
        // Pairs that may be rejected come first, so that an error means that no pair was ingested.
        self.v6.ingest_late(detector, slices_late)?;
        self.v4.ingest_late(detector, slices_late)
    }

    /// Ingests all pairs through `feed`.
    ///
    /// # Errors
    /// Returns the errors of [`Feed::ingest`].
    pub fn feed(&self, feed: &mut Feed) -> Result<(), Error> {
        self.check()?;
        self.v6.runs(|pairs| feed.ingest(pairs))?;
        self.v4.runs(|pairs| feed.ingest(pairs))
    }

    /// Ingests all pairs through `feed` as contacts in slice number `slice`. Returns the position of that slice.
    ///
    /// # Errors
    /// Returns the errors of [`Feed::ingest_at`].
    #[expect(clippy::missing_panics_doc, reason = "each family has at least one run")]
    pub fn feed_at(&self, feed: &mut Feed, slice: u64) -> Result<Arrival, Error> {
        self.check()?;
        let mut arrival = None;
        self.v6.runs(|pairs| put(feed, slice, pairs, &mut arrival))?;
        self.v4.runs(|pairs| put(feed, slice, pairs, &mut arrival))?;
        Ok(arrival.expect("there is at least one run"))
    }

    /// Returns all pairs that consist of two IPv4 addresses. They are copied if a device reads the batch directly.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn v4(&self) -> Result<Cow<'_, [Ipv4Pair]>, Error> {
        self.check()?;
        self.v4.all()
    }

    /// Returns all pairs that contain an IPv6 address. They are copied if a device reads the batch directly.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn v6(&self) -> Result<Cow<'_, [IpPair]>, Error> {
        self.check()?;
        self.v6.all()
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Returns whether the batch is empty.
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
    /// Creates an empty batch with room for `len` pairs of each type in memory that the detector's GPU reads directly.
    ///
    /// The batch takes `80 * len` bytes of page-locked memory. Further pairs are stored in ordinary memory. On the CPU,
    /// the whole batch is in ordinary memory.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    /// let detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    /// let mut batch = detector.pair_batch(1 << 14)?;
    /// batch.push(Ipv4Pair::new("10.0.0.1".parse()?, "192.0.2.7".parse()?));
    /// batch.ingest(&detector)?; // a GPU copies after the call has returned
    /// batch.clear(); // meanwhile, the next pairs go to a second buffer
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::PinnedMemory`] if the system cannot provide the page-locked memory.
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

/// The pairs of one type in a batch, in order of arrival. Pairs in pinned memory come first.
#[derive(Debug)]
struct FamilyBatch<P: Pair> {
    pinned: Option<PinnedBuffers<P>>,
    rest: Vec<P>,
}

/// Two buffers that a device reads directly. While the device reads one buffer, the other one is filled.
#[derive(Debug)]
struct PinnedBuffers<P: Pair> {
    memories: [PinnedPairs<P>; 2],
    filling: usize,
}

impl<P: Pair> FamilyBatch<P> {
    const fn new() -> Self {
        Self { pinned: None, rest: Vec::new() }
    }

    /// Creates an empty batch in two buffers that `pin` creates. Pairs that do not fit are stored in ordinary memory.
    fn pinned(mut pin: impl FnMut() -> Result<PinnedPairs<P>, Error>) -> Result<Self, Error> {
        let mut memories = [pin()?, pin()?];
        memories.iter_mut().for_each(PinnedPairs::clear);
        Ok(Self { pinned: Some(PinnedBuffers { memories, filling: 0 }), rest: Vec::new() })
    }

    /// Adds `pair`. If the device fails, the pair is added nevertheless, and the device's error is returned.
    ///
    /// The loop of a batch in ordinary memory is faster if it does not contain the code for pinned memory.
    #[inline]
    fn push(&mut self, pair: P) -> Result<(), Error> {
        if self.pinned.is_some() {
            return self.push_pinned(pair);
        }
        self.rest.push(pair);
        Ok(())
    }

    #[inline]
    fn push_pinned(&mut self, pair: P) -> Result<(), Error> {
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

    fn clear(&mut self) {
        if let Some(PinnedBuffers { memories, filling }) = &mut self.pinned {
            *filling = 1 - *filling;
            memories[*filling].clear();
        }
        self.rest.clear();
    }

    fn in_pinned(&self) -> Option<&PinnedPairs<P>> {
        self.pinned.as_ref().map(|PinnedBuffers { memories, filling }| &memories[*filling])
    }

    fn ingest_late(&self, detector: &SlidingDetector, slices_late: u32) -> Result<(), Error> {
        if let Some(pinned) = self.in_pinned().filter(|pinned| !pinned.is_empty()) {
            detector.ingest_pinned_late(pinned, slices_late)?;
        }
        detector.ingest_late(&self.rest, slices_late)
    }

    fn len(&self) -> usize {
        self.in_pinned().map_or(0, PinnedPairs::len) + self.rest.len()
    }

    /// Calls `each` with runs of pairs, in order of arrival.
    fn runs(&self, mut each: impl FnMut(&[P]) -> Result<(), Error>) -> Result<(), Error> {
        if let Some(pinned) = self.in_pinned() {
            pinned.read(&mut each)??;
        }
        each(&self.rest)
    }

    fn all(&self) -> Result<Cow<'_, [P]>, Error> {
        let Some(pinned) = self.in_pinned() else { return Ok(Cow::Borrowed(&self.rest)) };
        let mut all = pinned.read(<[P]>::to_vec)?;
        all.extend_from_slice(&self.rest);
        Ok(Cow::Owned(all))
    }
}

/// Ingests `pairs` through `feed` as contacts in slice number `slice`, unless an earlier run of pairs was not ingested.
fn put<P: Pair>(
    feed: &mut Feed,
    slice: u64,
    pairs: &[P],
    arrival: &mut Option<Arrival>,
) -> Result<(), Error> {
    // The first run may be empty, and then only determines the position of the slice. An empty run never replaces a
    // position.
    if arrival.is_none_or(|earlier| earlier.is_ingested() && !pairs.is_empty()) {
        *arrival = Some(feed.ingest_at(slice, pairs)?);
    }
    Ok(())
}

impl<P: Into<IpPair>> Extend<P> for PairBatch {
    #[inline]
    fn extend<T: IntoIterator<Item = P>>(&mut self, pairs: T) {
        pairs.into_iter().for_each(|pair| self.push(pair));
    }
}

impl<P: Into<IpPair>> FromIterator<P> for PairBatch {
    fn from_iter<T: IntoIterator<Item = P>>(pairs: T) -> Self {
        let mut batch = Self::new();
        batch.extend(pairs);
        batch
    }
}
