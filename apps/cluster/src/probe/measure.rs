//! Contacts in, a delta per slice out.
//!
//! Shape: [`Measurement::take`] places pairs by their time, [`Measurement::pass`] lets time pass without
//! any. Invariants: every slice from the first one on goes out once, in order, empty ones too: they are the
//! heart beat. A slice goes out when it has ended, never in halves. Slices up to the mark of the spool have
//! gone out before and are passed over.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use srlg_host::{Device, PairBatch, Placement, SliceClock, SlidingDetector};
use tracing::{info, warn};

use super::outbox::Outbox;
use super::pace::{Pace, Pacer};
use crate::network::Network;

/// Pairs are handed to the detector in batches of at most this many.
const BATCH: usize = 1 << 14;

/// A time stamp further ahead of this machine's clock is broken: it would move the window on, and everything
/// that comes after it would be late.
const SKEW: Duration = Duration::from_secs(86_400);

/// The same where the packets come from this machine, now.
const LIVE_SKEW: Duration = Duration::from_secs(2);

/// Between two lines about packets that are dropped.
const SILENCE: Duration = Duration::from_secs(60);

pub(super) struct Measurement {
    detector: SlidingDetector,
    clock: SliceClock,
    pacer: Pacer,
    outbox: Arc<Outbox>,
    part_bytes: usize,
    batch: PairBatch,
    late: PairBatch,
    /// The running slice; none before the first contact.
    slice: Option<u64>,
    skew: Duration,
    /// Time stamps up to this one, nanoseconds since the Unix epoch, are known to be believable.
    believed: u64,
    /// How late pairs of the running slice came, in slices, at most.
    latest: u32,
    mark: Option<u64>,
    totals: Totals,
    /// When it was told last that packets are dropped.
    told: Option<Instant>,
}

/// What a whole run amounts to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) pairs: u64,
    pub(super) slices: u64,
    /// Slices that the spool had already.
    pub(super) passed_over: u64,
    /// Slices of a long silence, which nobody needs.
    pub(super) silent: u64,
    pub(super) bytes: u64,
    pub(super) too_late: u64,
    pub(super) future: u64,
}

impl Measurement {
    pub(super) fn new(
        network: &Network,
        late: u32,
        pace: Option<Pace>,
        device: Device,
        live: bool,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        // Later than the window no pair counts.
        let late = late.min(network.config.window - 1);
        let clock = SliceClock::new(network.slice(), late, Duration::MAX)?;
        Ok(Self {
            detector: SlidingDetector::new(network.config, device)?,
            clock,
            skew: if live { LIVE_SKEW } else { SKEW },
            believed: 0,
            pacer: Pacer::new(pace, network.slice()),
            mark: outbox.mark(),
            outbox,
            part_bytes: network.part_bytes,
            batch: PairBatch::new(),
            late: PairBatch::new(),
            slice: None,
            latest: 0,
            totals: Totals::default(),
            told: None,
        })
    }

    /// Takes pairs, inside and opposite hosts, that were in contact at `time_ns`.
    pub(super) fn take(
        &mut self,
        time_ns: u64,
        pairs: impl Iterator<Item = (IpAddr, IpAddr)>,
    ) -> Result<()> {
        if !self.believes(time_ns)? {
            self.totals.future += 1;
            self.tell_dropped("from the future");
            return Ok(());
        }
        let Some(late) = self.place(time_ns)? else {
            self.tell_dropped("too late");
            return Ok(());
        };
        for (aip, bip) in pairs {
            self.totals.pairs += 1;
            if self.is_passed_over() {
                continue;
            }
            if late > 0 {
                self.latest = self.latest.max(late);
                self.late.clear();
                self.late.push(aip, bip);
                self.late.ingest_late(&self.detector, late)?;
                continue;
            }
            self.batch.push(aip, bip);
            if self.batch.len() == BATCH {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// A capture that goes on has no end at which to say it: after a clock was put back, all of it is dropped.
    fn tell_dropped(&mut self, why: &str) {
        if self.told.is_none_or(|told| told.elapsed() >= SILENCE) {
            let (late, future) = (self.clock.too_late(), self.totals.future);
            warn!(
                "packets {why} are dropped, {late} too late and {future} from the future so far: was a clock changed?"
            );
            self.told = Some(Instant::now());
        }
    }

    /// Lets time pass until `time_ns`, in which there was no contact.
    pub(super) fn pass(&mut self, time_ns: u64) -> Result<()> {
        self.clock.pass(time_ns).map_or(Ok(()), |slice| self.advance_to(slice))
    }

    /// Ends the last slice, if there was any.
    pub(super) fn finish(mut self) -> Result<Totals> {
        if let Some(slice) = self.slice {
            self.end(slice)?;
        }
        self.totals.too_late = self.clock.too_late();
        Ok(self.totals)
    }

    /// Whether a packet may be from then. It asks this machine's clock only about what is later than all before.
    fn believes(&mut self, time_ns: u64) -> Result<bool> {
        if time_ns > self.believed {
            let latest = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)? + self.skew;
            self.believed = u64::try_from(latest.as_nanos())?;
        }
        Ok(time_ns <= self.believed)
    }

    /// Moves on to the slice of `time_ns`; by how many slices it is late, if it counts at all.
    fn place(&mut self, time_ns: u64) -> Result<Option<u32>> {
        match self.clock.place(time_ns) {
            Placement::Running => Ok(Some(0)),
            Placement::Late { slices } => Ok(Some(slices)),
            Placement::TooLate | Placement::Future => Ok(None),
            Placement::Early { .. } => unreachable!("the clock has no grace"),
            Placement::Start { slice } => {
                self.begin(slice)?;
                if let Some(mark) = self.mark.filter(|mark| slice <= *mark) {
                    info!("slices {slice} to {mark} are in the spool already and are passed over");
                }
                Ok(Some(0))
            }
            Placement::Ahead { slice } => {
                self.advance_to(slice)?;
                Ok(Some(0))
            }
        }
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        let Some(running) = self.slice else { return Ok(()) };
        self.end(running)?;
        let window = u64::from(self.detector.params().window());
        let first = slice.saturating_sub(window).max(running + 1);
        if first > running + 1 {
            let silent = first - running - 1;
            warn!("{silent} slices of silence before slice {first} are left out");
            self.totals.silent += silent;
        }
        for silent in first..slice {
            self.begin(silent)?;
            self.end(silent)?;
        }
        self.begin(slice)
    }

    fn begin(&mut self, slice: u64) -> Result<()> {
        self.slice = Some(slice);
        if !self.is_passed_over() {
            self.detector.skip_to(slice)?;
        }
        Ok(())
    }

    /// Ends the slice: sends what it touched, and goes on to the next one.
    fn end(&mut self, slice: u64) -> Result<()> {
        if self.is_passed_over() {
            self.totals.passed_over += 1;
            return Ok(());
        }
        self.flush()?;
        // Pairs that were late have touched the past, and no further back than they were late.
        let delta = self.detector.take_delta(1 + std::mem::take(&mut self.latest))?;
        let parts = delta.into_parts(self.part_bytes)?;
        thread::sleep(self.pacer.wait(Instant::now()));
        self.totals.slices += 1;
        self.totals.bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.outbox.put(slice, &parts)?;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.batch.ingest(&self.detector)?;
        self.batch.clear();
        Ok(())
    }

    /// Whether the running slice is in the spool already.
    fn is_passed_over(&self) -> bool {
        self.slice <= self.mark
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, slices, passed_over, silent, bytes, too_late, future } = self;
        write!(
            f,
            "{pairs} pairs, {slices} slices of {bytes} bytes in all; {passed_over} slices passed over, \
             {silent} left out; {too_late} packets too late, {future} from the future"
        )
    }
}

#[cfg(test)]
mod tests;
