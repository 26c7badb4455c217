//! [`PairBatch`]: pairs of any two addresses on their way to a detector.

use std::net::IpAddr;

use srlg_core::{Ip6Pair, IpPair};

use crate::detector::SlidingDetector;
use crate::error::Error;
use crate::feed::{Arrival, Feed};

/// Collects pairs of any two addresses that are ingested together, each as the type that is fastest for it.
///
/// ```
/// use srlg::{Config, Device, SlidingDetector};
/// use srlg::ingest::PairBatch;
///
/// let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut batch = PairBatch::new();
/// batch.push("10.0.0.1".parse()?, "192.0.2.7".parse()?);
/// batch.push("2001:db8::1".parse()?, "2001:db8:1::7".parse()?);
/// assert_eq!((batch.v4().len(), batch.v6().len()), (1, 1));
/// batch.ingest(&detector)?;
/// batch.clear();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairBatch {
    v4: Vec<IpPair>,
    v6: Vec<Ip6Pair>,
}

impl PairBatch {
    /// Returns a batch without any pair.
    #[must_use]
    pub const fn new() -> Self {
        Self { v4: Vec::new(), v6: Vec::new() }
    }

    /// Adds the pair of the inside host `inside` and its opposite host `opposite`.
    #[inline]
    pub fn push(&mut self, inside: IpAddr, opposite: IpAddr) {
        match (inside.to_canonical(), opposite.to_canonical()) {
            (IpAddr::V4(inside), IpAddr::V4(opposite)) => {
                self.v4.push(IpPair::new(inside, opposite));
            }
            _ => self.v6.push(Ip6Pair::new(inside, opposite)),
        }
    }

    /// Ingests all pairs as contacts of the slice that `detector` runs.
    ///
    /// # Errors
    /// As [`SlidingDetector::ingest`].
    pub fn ingest(&self, detector: &SlidingDetector) -> Result<(), Error> {
        self.ingest_late(detector, 0)
    }

    /// Ingests all pairs as contacts of `slices_late` slices before the one that `detector` runs.
    ///
    /// # Errors
    /// As [`SlidingDetector::ingest_late`].
    pub fn ingest_late(&self, detector: &SlidingDetector, slices_late: u32) -> Result<(), Error> {
        // Those that may be refused come first: then none are ingested.
        detector.ingest_late(&self.v6, slices_late)?;
        detector.ingest_late(&self.v4, slices_late)
    }

    /// Ingests all pairs by way of `feed`.
    ///
    /// # Errors
    /// As [`Feed::ingest`].
    pub fn feed(&self, feed: &mut Feed) -> Result<(), Error> {
        feed.ingest(&self.v6)?;
        feed.ingest(&self.v4)
    }

    /// Ingests all pairs by way of `feed` as contacts of the slice of number `slice`; tells where that is.
    ///
    /// # Errors
    /// As [`Feed::ingest_at`].
    pub fn feed_at(&self, feed: &mut Feed, slice: u64) -> Result<Arrival, Error> {
        let arrival = feed.ingest_at(slice, &self.v6)?;
        if self.v4.is_empty() || !arrival.is_ingested() {
            return Ok(arrival);
        }
        feed.ingest_at(slice, &self.v4)
    }

    /// Returns the pairs of two IPv4 hosts.
    #[must_use]
    pub fn v4(&self) -> &[IpPair] {
        &self.v4
    }

    /// Returns all other pairs.
    #[must_use]
    pub fn v6(&self) -> &[Ip6Pair] {
        &self.v6
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

impl Extend<(IpAddr, IpAddr)> for PairBatch {
    fn extend<T: IntoIterator<Item = (IpAddr, IpAddr)>>(&mut self, pairs: T) {
        pairs.into_iter().for_each(|(inside, opposite)| self.push(inside, opposite));
    }
}
