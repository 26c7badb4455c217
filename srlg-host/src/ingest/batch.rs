//! [`PairBatch`]: pairs of any two addresses on their way to a detector.

mod collected;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use srlg_core::{Ip6Pair, IpPair};

use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use crate::ingest::feed::{Arrival, Feed};
use crate::ingest::pairs::Pair;
use collected::Collected;

/// Collects pairs of any two addresses that are ingested together, each as the type that is fastest for it.
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
    v4: Collected<IpPair>,
    v6: Collected<Ip6Pair>,
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
        Self::of(Collected::new(), Collected::new())
    }

    const fn of(v4: Collected<IpPair>, v6: Collected<Ip6Pair>) -> Self {
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
                let v4 = Collected::staged(|| self.pinned_pairs(len))?;
                Ok(PairBatch::of(v4, Collected::staged(|| self.pinned_pairs(len))?))
            }
        }
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

impl Extend<(IpAddr, IpAddr)> for PairBatch {
    fn extend<T: IntoIterator<Item = (IpAddr, IpAddr)>>(&mut self, pairs: T) {
        pairs.into_iter().for_each(|(inside, opposite)| self.push(inside, opposite));
    }
}
