//! [`Slicer`]: contacts by their time, into the slices that they are of.
//!
//! Shape: a [`SliceClock`], a batch per slice that has pairs which wait, and a [`SliceSink`] that takes them.
//! Invariant: a slice has all pairs that were placed in it before the clock moved on, when the sink hears that
//! it ends; and pairs that came too early are the first ones of their slice.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::clock::{Placement, SliceClock};
use crate::ingest::batch::PairBatch;

/// A receiver of pairs, slice by slice, from a [`Slicer`].
pub trait SliceSink {
    /// What may fail.
    type Error;

    /// Begins with `slice`, the first one.
    ///
    /// # Errors
    /// Whatever it likes; the slicer hands it on.
    fn start(&mut self, slice: u64) -> Result<(), Self::Error>;

    /// Takes `pairs` of the slice that is `slices_late` before the running one.
    ///
    /// # Errors
    /// Whatever it likes; the slicer hands it on.
    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Self::Error>;

    /// Ends the running slice, and all up to `slice`, which runs then.
    ///
    /// # Errors
    /// Whatever it likes; the slicer hands it on.
    fn advance_to(&mut self, slice: u64) -> Result<(), Self::Error>;
}

/// A sorter of pairs into slices by their time, as a [`SliceClock`] places them: late ones into their own slice, early
/// ones when theirs runs.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, Error, SlidingDetector};
/// use srlg::ingest::PairBatch;
/// use srlg::time::{SliceClock, SliceSink, Slicer};
/// use std::net::IpAddr;
/// use std::time::Duration;
///
/// struct Reports {
///     detector: SlidingDetector,
///     slices: Vec<u64>,
/// }
///
/// impl SliceSink for Reports {
///     type Error = Error;
///
///     fn start(&mut self, slice: u64) -> Result<(), Error> {
///         self.detector.skip_to(slice)
///     }
///
///     fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Error> {
///         pairs.ingest_late(&self.detector, slices_late)
///     }
///
///     fn advance_to(&mut self, slice: u64) -> Result<(), Error> {
///         let slices = &mut self.slices;
///         self.detector.advance_to(slice, |report| Ok(slices.push(report.slice)))
///     }
/// }
///
/// let detector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut reports = Reports { detector, slices: Vec::new() };
/// let clock = SliceClock::new(Duration::from_secs(1), 5, Duration::from_secs(3600))?;
/// // Records come up to two seconds late, and the first report of their slice shall count them.
/// let mut slicer = Slicer::new(clock.with_grace(Duration::from_secs(2)));
/// let (host, second): (IpAddr, _) = ("10.0.0.1".parse()?, 1_000_000_000);
/// for (time, peer) in [(100, "192.0.2.1"), (101, "192.0.2.2"), (100, "192.0.2.3"), (103, "192.0.2.4")] {
///     slicer.take(time * second, [(host, peer.parse()?)], &mut reports)?;
/// }
/// assert_eq!(reports.slices, [100]);
/// // Where no record comes the time of day ends slices; those of silence have no report.
/// slicer.pass(105 * second, &mut reports)?;
/// slicer.flush(&mut reports)?;
/// assert_eq!(reports.slices, [100, 101]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Slicer {
    clock: SliceClock,
    /// The running slice; 0 before the first.
    slice: u64,
    running: PairBatch,
    /// Pairs of other slices, earlier and later ones.
    others: BTreeMap<u64, PairBatch>,
    /// Of those the pairs of earlier slices.
    late: usize,
}

impl Slicer {
    /// Pairs wait until there are this many of them, or until their slice ends.
    pub const BATCH: usize = 1 << 14;

    /// Makes a slicer that places pairs by `clock`, which has placed nothing yet.
    #[must_use]
    pub fn new(clock: SliceClock) -> Self {
        Self::with_batch(clock, PairBatch::new())
    }

    /// Makes a slicer that places pairs by `clock`, which has placed nothing yet, and collects those of the running slice in
    /// `batch`, which is cleared first. One of [`SlidingDetector::pair_batch`](crate::SlidingDetector::pair_batch) with room for
    /// [`BATCH`](Self::BATCH) pairs spares a copy where the detector is on a GPU.
    #[must_use]
    pub fn with_batch(clock: SliceClock, mut batch: PairBatch) -> Self {
        batch.clear();
        Self { clock, slice: 0, running: batch, others: BTreeMap::new(), late: 0 }
    }

    /// Returns the clock, which counts the timestamps that it has refused.
    #[must_use]
    pub const fn clock(&self) -> &SliceClock {
        &self.clock
    }

    /// Takes `pairs` of inside and opposite hosts that were in contact at `time_ns`, nanoseconds since the epoch,
    /// and returns their placement. Pairs that are too late, or from the future, are dropped.
    ///
    /// # Errors
    /// What `sink` reports.
    #[inline]
    pub fn take<S: SliceSink, H: Into<IpAddr>>(
        &mut self,
        time_ns: u64,
        pairs: impl IntoIterator<Item = (H, H)>,
        sink: &mut S,
    ) -> Result<Placement, S::Error> {
        let placement = self.clock.place(time_ns);
        match placement {
            Placement::Running => self.running.extend(pairs),
            Placement::TooLate | Placement::Future => return Ok(placement),
            _ => self.take_other(placement, time_ns, pairs, sink)?,
        }
        if self.running.len() + self.late >= Self::BATCH {
            self.flush(sink)?;
        }
        Ok(placement)
    }

    /// Takes pairs that are not simply of the running slice.
    fn take_other<S: SliceSink, H: Into<IpAddr>>(
        &mut self,
        placement: Placement,
        time_ns: u64,
        pairs: impl IntoIterator<Item = (H, H)>,
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

    /// Starts the slice that runs at `now_ns`, the time of day in nanoseconds since the epoch, if none runs yet: pairs
    /// of an earlier time are late then, even the first ones.
    ///
    /// # Errors
    /// What `sink` reports.
    pub fn start<S: SliceSink>(&mut self, now_ns: u64, sink: &mut S) -> Result<(), S::Error> {
        if self.clock.is_running() {
            return Ok(());
        }
        self.take::<_, IpAddr>(now_ns, [], sink).map(drop)
    }

    /// Lets time pass until `now_ns`, the time of day in nanoseconds since the epoch: slices end that have ended by
    /// then. Before the first timestamp nothing runs, and nothing passes.
    ///
    /// # Errors
    /// What `sink` reports.
    pub fn pass<S: SliceSink>(&mut self, now_ns: u64, sink: &mut S) -> Result<(), S::Error> {
        match self.clock.pass(now_ns) {
            Some(slice) => self.advance_to(slice, sink),
            None => Ok(()),
        }
    }

    /// Hands on all pairs that wait, but for those of slices that do not run yet.
    ///
    /// # Errors
    /// What `sink` reports.
    pub fn flush<S: SliceSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if !self.running.is_empty() {
            sink.ingest(&self.running, 0)?;
            self.running.clear();
        }
        self.late = 0;
        while let Some(entry) = self.others.first_entry().filter(|entry| *entry.key() < self.slice)
        {
            // No more than the clock lets pairs be late, which is a number of 32 bits.
            let late = (self.slice - entry.key()) as u32;
            sink.ingest(&entry.remove(), late)?;
        }
        Ok(())
    }

    /// Hands on all pairs that wait; slices end up to the last one of them, which runs then.
    ///
    /// # Errors
    /// What `sink` reports.
    pub fn finish<S: SliceSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        let last = self.others.last_key_value().map_or(self.slice, |(slice, _)| *slice);
        self.advance_to(last.max(self.slice), sink)
    }

    /// Ends slices up to `slice`, each with the pairs that waited for it.
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
