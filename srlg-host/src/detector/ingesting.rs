//! Ingestion of pairs into a detector from any kind of memory.

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
    /// Records a contact in the running slice for each of `pairs`.
    ///
    /// The pairs are [`Ipv4Pair`](crate::Ipv4Pair)s, which are faster for IPv4, or [`IpPair`](crate::IpPair)s of
    /// any two addresses. One detector accepts both types. Any number of threads may ingest at the same time, because
    /// touches are idempotent and their order does not matter.
    ///
    /// # Errors
    /// Returns [`Error::Ipv6InPaper`] if the pairs are `IpPair`s and the detector uses the paper's scheme. Returns
    /// another error if a GPU fails.
    #[inline]
    pub fn ingest<P: Pair>(&self, pairs: &[P]) -> Result<(), Error> {
        self.backend.shared().scan(Pairs::Plain(P::slice(pairs)), Ages::default())
    }

    /// Records a contact for each of `pairs`, `slices_late` slices before the running one.
    ///
    /// The next report is the same as if the pairs had arrived in time. Pairs that are late by at least the length of
    /// the window need not be ingested, because no later report counts them. For a slice that has left the window,
    /// [`Feed::ingest_at`](crate::ingest::Feed::ingest_at) returns [`TooLate`](crate::ingest::Arrival::TooLate).
    ///
    /// # Errors
    /// Returns the errors of [`ingest`](Self::ingest).
    pub fn ingest_late<P: Pair>(&self, pairs: &[P], slices_late: u32) -> Result<(), Error> {
        let pairs = Pairs::Plain(P::slice(pairs));
        self.backend.shared().scan(pairs, self.params.ages(self.slice(), slices_late))
    }

    /// Returns a buffer for `len` pairs, in the kind of memory that the device reads fastest.
    ///
    /// Fill the buffer and pass it to [`ingest_pinned`](Self::ingest_pinned).
    ///
    /// # Errors
    /// Returns [`Error::PinnedMemory`] if the system cannot provide the memory.
    pub fn pinned_pairs<P: Pair>(&self, len: usize) -> Result<PinnedPairs<P>, Error> {
        PinnedPairs::new(len, |bytes| self.backend.shared().pin(bytes))
    }

    /// Ingests all pairs in a buffer, like [`ingest`](Self::ingest). A GPU may still copy the buffer after the call has
    /// returned.
    ///
    /// # Errors
    /// Returns the errors of [`ingest`](Self::ingest). Also returns [`Error::PinnedLost`] if the buffer belongs to a
    /// GPU that failed during a copy.
    pub fn ingest_pinned<P: Pair>(&self, pairs: &PinnedPairs<P>) -> Result<(), Error> {
        self.ingest_pinned_late(pairs, 0)
    }

    /// Ingests all pairs in a buffer as contacts that occurred `slices_late` slices before the running one.
    pub(crate) fn ingest_pinned_late<P: Pair>(
        &self,
        pairs: &PinnedPairs<P>,
        slices_late: u32,
    ) -> Result<(), Error> {
        let ages = self.params.ages(self.slice(), slices_late);
        self.backend.shared().scan(Pairs::Pinned(pairs.memory()), ages)
    }

    /// Ingests `pairs` that are already on the detector's GPU, like [`ingest`](Self::ingest).
    ///
    /// # Errors
    /// Returns the errors of [`ingest`](Self::ingest). Returns [`Error::NotOnDevice`] if the detector runs on the CPU,
    /// or [`Error::OtherDevice`] if the pairs are on a different GPU or in a different CUDA context. Returns
    /// [`Error::UnalignedPairs`] if the address of the pairs is not aligned, or [`Error::PairsContext`] if the CUDA
    /// context of the pairs reports an earlier error.
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub fn ingest_device(&self, pairs: &impl DevicePairs) -> Result<(), Error> {
        self.backend.shared().scan(Pairs::Resident(pairs), Ages::default())
    }

    /// Returns a feed, the handle through which one receiving thread ingests pairs.
    ///
    /// While another thread closes a slice, the feed buffers up to `capacity` pairs of each type. When the buffer is
    /// full, [`Feed::ingest`] blocks.
    ///
    /// A close waits for a feed to ingest at most 4096 new pairs, and at most 4096 buffered pairs of each type. It does
    /// not wait for the end of a call that passes more pairs. Later calls to the feed ingest its buffered pairs. The
    /// next close ingests any pairs that remain (see [`StageTimes::hand_in`](crate::report::StageTimes)).
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// # use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    /// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
    /// let mut feed = detector.feed(1 << 20)?;
    /// let receiver = std::thread::spawn(move || {
    ///     (0..5000).try_for_each(|peer| feed.ingest(&[Ipv4Pair { inside: 7, peer }]))
    /// });
    /// let early = detector.close_slice()?; // the pairs received so far
    /// receiver.join().unwrap()?;
    /// let late = detector.close_slice()?;
    /// assert_eq!(late.super_points[0].host.to_string(), "0.0.0.7");
    /// # assert!(early.super_points.len() <= 1);
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::FeedMemory`] if the system cannot provide the memory of the buffer.
    pub fn feed(&self, capacity: usize) -> Result<Feed, Error> {
        self.backend.feed(capacity)
    }

    /// Waits until all ingested pairs have reached the recorders.
    ///
    /// Only time measurements need this call. Results never depend on it.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn flush(&self) -> Result<(), Error> {
        self.backend.settled()?.flush()
    }
}
