//! Pairs in, from wherever they are.

use srlg_core::Ages;

use super::SlidingDetector;
use crate::backend::Pairs;
use crate::error::Error;
#[cfg(any(feature = "cudarc", feature = "cust"))]
use crate::gpu::DevicePairs;
use crate::ingest::feed::Feed;
use crate::ingest::pairs::Pair;
use crate::ingest::pinned::PinnedPairs;

impl SlidingDetector {
    /// Records that each of `pairs` was in contact in the running slice: [`IpPair`](crate::IpPair)s, the fast way for
    /// IPv4, or [`Ip6Pair`](crate::ingest::Ip6Pair)s of any two addresses. One detector takes both.
    ///
    /// Any number of threads may ingest at once: touches are idempotent.
    ///
    /// # Errors
    /// [`Error::Ip6InPaper`], and what the device reports; the CPU reports nothing else.
    #[inline]
    pub fn ingest<P: Pair>(&self, pairs: &[P]) -> Result<(), Error> {
        self.backend.shared().scan(Pairs::Plain(P::slice(pairs)), Ages::default())
    }

    /// Records that each of `pairs` was in contact `slices_late` slices before the running one.
    ///
    /// From the next report on, the answer is as if the pairs had come in time. Pairs that are as many slices late as the
    /// window has, or more, change nothing, as no report to come would count them;
    /// [`Feed::ingest_at`](crate::ingest::Feed::ingest_at) says when that is so.
    ///
    /// # Errors
    /// As [`ingest`](Self::ingest).
    pub fn ingest_late<P: Pair>(&self, pairs: &[P], slices_late: u32) -> Result<(), Error> {
        let pairs = Pairs::Plain(P::slice(pairs));
        self.backend.shared().scan(pairs, self.params.ages(self.slice(), slices_late))
    }

    /// Returns a buffer for `len` pairs that the device reads fastest, to be filled and given to
    /// [`ingest_pinned`](Self::ingest_pinned).
    ///
    /// # Errors
    /// [`Error::PinnedMemory`].
    pub fn pinned_pairs<P: Pair>(&self, len: usize) -> Result<PinnedPairs<P>, Error> {
        PinnedPairs::new(len, |bytes| self.backend.shared().pin(bytes))
    }

    /// Ingests all `pairs` of a buffer, as [`ingest`](Self::ingest) does; a GPU copies them after the
    /// call has returned.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn ingest_pinned<P: Pair>(&self, pairs: &PinnedPairs<P>) -> Result<(), Error> {
        self.ingest_pinned_late(pairs, 0)
    }

    /// Ingests all `pairs` of a buffer as contacts of `slices_late` slices before the running one.
    pub(crate) fn ingest_pinned_late<P: Pair>(
        &self,
        pairs: &PinnedPairs<P>,
        slices_late: u32,
    ) -> Result<(), Error> {
        let ages = self.params.ages(self.slice(), slices_late);
        self.backend.shared().scan(Pairs::Pinned(pairs.memory()), ages)
    }

    /// Ingests `pairs` that are on the detector's GPU already, as [`ingest`](Self::ingest) does.
    ///
    /// # Errors
    /// [`Error::NotOnDevice`], [`Error::OtherDevice`], [`Error::UnalignedPairs`], and what the device reports.
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub fn ingest_device(&self, pairs: &impl DevicePairs) -> Result<(), Error> {
        self.backend.shared().scan(Pairs::Resident(pairs), Ages::default())
    }

    /// Returns a handle for one receiving thread. While another thread closes a slice, the handle
    /// buffers up to `capacity` pairs of each type; after that [`Feed::ingest`] blocks.
    ///
    /// A close waits for the call of a feed that is under way, though not for all of a large one:
    /// for at most 4096 pairs, and as many from the buffer. Later calls of the feed ingest what it
    /// buffered; where they have not by the next close, that close does
    /// ([`StageTimes::hand_in`](crate::report::StageTimes)).
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, IpPair, SlidingDetector};
    /// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    /// let mut feed = detector.feed(1 << 20)?;
    /// let receiver = std::thread::spawn(move || {
    ///     (0..5000).try_for_each(|opposite| feed.ingest(&[IpPair { inside: 7, opposite }]))
    /// });
    /// let early = detector.close_slice()?; // whatever has come so far
    /// receiver.join().unwrap()?;
    /// let late = detector.close_slice()?;
    /// assert_eq!(late.super_points[0].host.to_string(), "0.0.0.7");
    /// # assert!(early.super_points.len() <= 1);
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::FeedMemory`].
    pub fn feed(&self, capacity: usize) -> Result<Feed, Error> {
        self.backend.feed(capacity)
    }

    /// Waits until all that was ingested has reached the recorders: for measuring. No answer
    /// needs it.
    ///
    /// # Errors
    /// What the device reports; the CPU reports none.
    pub fn flush(&self) -> Result<(), Error> {
        self.backend.settled()?.flush()
    }
}
