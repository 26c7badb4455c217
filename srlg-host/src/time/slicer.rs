//! [`Slicer`]: assignment of pairs to slices by timestamp.
//!
//! A slicer consists of a [`SliceClock`] and a batch for each slice with waiting pairs. It passes pairs to a
//! [`SliceSink`]. Before the sink closes a slice, it receives all pairs that have been placed in that slice. Early
//! pairs are the first pairs that the sink receives after their slice has started.

use std::collections::BTreeMap;

use srlg_core::IpPair;

use super::clock::{Placement, SliceClock};
use super::sink::SliceSink;
use crate::ingest::batch::PairBatch;

/// A buffer that assigns pairs to slices by means of a [`SliceClock`] and passes them to a [`SliceSink`].
///
/// Late pairs are assigned to their own slice, but they are missing from earlier reports. Early pairs wait until their
/// slice is running. The [`clock`](Self::clock) counts late and rejected timestamps.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, Error, SlidingDetector};
/// use srlg::time::{DetectorSink, SliceClock, Slicer};
/// use std::net::IpAddr;
/// use std::time::Duration;
///
/// let mut detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut slices = Vec::new();
/// let mut sink = DetectorSink::new(&mut detector, |report| Ok::<_, Error>(slices.push(report.slice)));
/// let clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
/// // Records may be up to two seconds late and still count in the first report of their slice.
/// let mut slicer = Slicer::new(clock.with_grace(Duration::from_secs(2)));
/// let (host, second): (IpAddr, _) = ("10.0.0.1".parse()?, 1_000_000_000);
/// for (time, peer) in [(100, "192.0.2.1"), (101, "192.0.2.2"), (100, "192.0.2.3"), (103, "192.0.2.4")] {
///     slicer.place(time * second, [(host, peer.parse()?)], &mut sink)?; // closes slice 100 at the end
/// }
/// // Without records, the system clock closes slices. Silent slices have no report.
/// slicer.advance(105 * second, &mut sink)?;
/// slicer.flush(&mut sink)?;
/// assert_eq!(slices, [100, 101]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Slicer {
    clock: SliceClock,
    /// Number of the running slice, or 0 before the first timestamp.
    slice: u64,
    running: PairBatch,
    /// Waiting pairs that belong to slices before or after the running one.
    others: BTreeMap<u64, PairBatch>,
    /// Number of waiting pairs that belong to slices before the running one.
    late: usize,
}

impl Slicer {
    /// Number of waiting pairs, excluding early pairs, at which a slicer passes these pairs to the sink. When the
    /// running slice closes, the waiting pairs are passed even if there are fewer.
    pub const BATCH: usize = 1 << 14;

    /// Creates a slicer with a `clock` that has not placed any timestamps.
    #[must_use]
    pub fn new(clock: SliceClock) -> Self {
        Self::with_batch(clock, PairBatch::new())
    }

    /// Creates a slicer that collects pairs of the running slice in `batch`, which is cleared first.
    ///
    /// The `clock` must not have placed any timestamps. A batch from
    /// [`SlidingDetector::pair_batch`](crate::SlidingDetector::pair_batch) with room for [`BATCH`](Self::BATCH) pairs
    /// avoids a copy if the detector is on a GPU.
    #[must_use]
    pub fn with_batch(clock: SliceClock, mut batch: PairBatch) -> Self {
        batch.clear();
        Self { clock, slice: 0, running: batch, others: BTreeMap::new(), late: 0 }
    }

    /// Returns the clock, which counts the late and the rejected timestamps.
    #[must_use]
    pub const fn clock(&self) -> &SliceClock {
        &self.clock
    }

    /// Places `pairs` of a host and a peer, of any type or as tuples of addresses, that were in contact at `time_ns`,
    /// in nanoseconds since the Unix epoch.
    ///
    /// Returns the placement of the pairs. Pairs that are too late or too far in the future are dropped.
    ///
    /// # Errors
    /// Returns the error if `sink` fails.
    #[inline]
    pub fn place<S: SliceSink, P: Into<IpPair>>(
        &mut self,
        time_ns: u64,
        pairs: impl IntoIterator<Item = P>,
        sink: &mut S,
    ) -> Result<Placement, S::Error> {
        let placement = self.clock.place(time_ns);
        match placement {
            Placement::Running => self.running.extend(pairs),
            Placement::TooLate | Placement::Future => return Ok(placement),
            _ => self.place_other(placement, time_ns, pairs, sink)?,
        }
        if self.running.len() + self.late >= Self::BATCH {
            self.flush(sink)?;
        }
        Ok(placement)
    }

    /// Handles pairs that do not belong to the slice that was running before the call.
    fn place_other<S: SliceSink, P: Into<IpPair>>(
        &mut self,
        placement: Placement,
        time_ns: u64,
        pairs: impl IntoIterator<Item = P>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        match placement {
            Placement::Start { slice } => {
                self.slice = slice;
                sink.start(slice)?;
            }
            Placement::Ahead { slice } => self.advance_to(slice, sink)?,
            _ => {}
        }
        let slice = self.clock.slice_of(time_ns);
        if slice == self.slice {
            self.running.extend(pairs);
            return Ok(());
        }
        let batch = self.others.entry(slice).or_default();
        let before = batch.len();
        batch.extend(pairs);
        if slice < self.slice {
            self.late += batch.len() - before;
        }
        Ok(())
    }

    /// Starts the slice that contains `now_ns`, in nanoseconds since the Unix epoch, if no slice is running.
    ///
    /// Pairs with timestamps before this slice are then late, even if they are the first pairs to arrive.
    ///
    /// # Errors
    /// Returns the error if `sink` fails.
    pub fn start<S: SliceSink>(&mut self, now_ns: u64, sink: &mut S) -> Result<(), S::Error> {
        if self.clock.is_running() {
            return Ok(());
        }
        self.place::<_, IpPair>(now_ns, [], sink).map(drop)
    }

    /// Advances the clock to `now_ns`, in nanoseconds since the Unix epoch. Closes all slices whose grace period has
    /// ended by then.
    ///
    /// Before the first timestamp, the call has no effect.
    ///
    /// # Errors
    /// Returns the error if `sink` fails.
    pub fn advance<S: SliceSink>(&mut self, now_ns: u64, sink: &mut S) -> Result<(), S::Error> {
        match self.clock.advance(now_ns) {
            Some(slice) => self.advance_to(slice, sink),
            None => Ok(()),
        }
    }

    /// Passes all waiting pairs to `sink`, except pairs of slices that have not started.
    ///
    /// # Errors
    /// Returns the error if `sink` fails.
    pub fn flush<S: SliceSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if !self.running.is_empty() {
            sink.ingest(&self.running, 0)?;
            self.running.clear();
        }
        self.late = 0;
        while let Some(entry) = self.others.first_entry().filter(|entry| *entry.key() < self.slice)
        {
            // The clock limits lateness to a 32-bit number of slices.
            let late = (self.slice - entry.key()) as u32;
            sink.ingest(&entry.remove(), late)?;
        }
        Ok(())
    }

    /// Passes all waiting pairs to `sink`. If there are early pairs, closes all slices before the last slice that has
    /// early pairs. That slice stays running.
    ///
    /// # Errors
    /// Returns the error if `sink` fails.
    pub fn finish<S: SliceSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let last = self.others.last_key_value().map_or(self.slice, |(slice, _)| *slice);
        self.advance_to(last.max(self.slice), sink)
    }

    /// Closes all slices before `slice`. The waiting pairs of a slice are ingested before it closes.
    fn advance_to<S: SliceSink>(&mut self, slice: u64, sink: &mut S) -> Result<(), S::Error> {
        self.flush(sink)?;
        while let Some(entry) = self.others.first_entry().filter(|entry| *entry.key() <= slice) {
            self.slice = *entry.key();
            sink.advance_to(self.slice)?;
            sink.ingest(&entry.remove(), 0)?;
        }
        if self.slice < slice {
            self.slice = slice;
            sink.advance_to(slice)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
