//! Contacts in, a delta per slice out.
//!
//! Shape: a [`Slicer`] sorts pairs into slices by their time, [`Slices`] measures them and sends the slices that end.
//! Invariants: every slice from the first one on goes out once, in order, empty ones too: they are the
//! heart beat. A slice goes out when it has ended, never in halves. Slices up to the mark of the spool have
//! gone out before and are passed over.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::alerts::Every;
use anyhow::{Error, Result};
use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_host::{Device, SlidingDetector};
use srlg_input::contact::{Contact, Sampling};
use tracing::{info, warn};

use super::outbox::Outbox;
use super::pace::{Pace, Pacer};
use crate::measure::SKEW;
use crate::network::Network;

/// Between two lines about contacts that are dropped.
const SILENCE: Duration = Duration::from_secs(60);

pub(super) struct Measurement {
    slicer: Slicer,
    slices: Slices,
    pairs: u64,
    log_dropped: Every,
}

/// When contacts may come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    /// Slices that a contact may be late and still count in its own.
    pub(super) late: u32,
    /// How long after its end a slice waits for contacts on their way.
    pub(super) grace: Duration,
}

/// Slice after slice.
struct Slices {
    detector: SlidingDetector,
    pacer: Pacer,
    outbox: Arc<Outbox>,
    part_bytes: usize,
    /// The running slice; none before the first contact.
    running: Option<u64>,
    /// How late pairs of the running slice came, in slices, at most.
    latest: u32,
    mark: Option<u64>,
    /// How contacts were sampled, by slice: of those that have not gone out.
    sampling: BTreeMap<u64, Sampling>,
    totals: Totals,
}

/// The totals of a run.
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
        lateness: Lateness,
        pace: Option<Pace>,
        device: Device,
        outbox: Arc<Outbox>,
    ) -> Result<Self> {
        // Later than the window no pair counts.
        let late = lateness.late.min(network.config.window - 1);
        let clock = SliceClock::new(network.slice(), late, Duration::MAX)?.with_skew(SKEW);
        let slices = Slices {
            detector: SlidingDetector::new(network.config, device)?,
            pacer: Pacer::new(pace, network.slice()),
            mark: outbox.mark(),
            outbox,
            part_bytes: network.part_bytes,
            running: None,
            latest: 0,
            sampling: BTreeMap::new(),
            totals: Totals::default(),
        };
        let batch = slices.detector.pair_batch(Slicer::BATCH)?;
        let slicer = Slicer::with_batch(clock.with_grace(lateness.grace), batch);
        Ok(Self { slicer, slices, pairs: 0, log_dropped: Every::new(SILENCE) })
    }

    /// Takes a contact, and its `pairs` of inside and opposite hosts.
    pub(super) fn take_contact(
        &mut self,
        contact: &Contact,
        pairs: impl Iterator<Item = (IpAddr, IpAddr)>,
    ) -> Result<()> {
        let is_taken = self.take(contact.time_ns, pairs)?;
        if is_taken && contact.exporter.is_some() {
            let slice = self.slicer.clock().slice_of(contact.time_ns);
            self.slices.sampling.entry(slice).or_default().add(contact);
        }
        Ok(())
    }

    /// Takes pairs, inside and opposite hosts, that were in contact at `time_ns`; whether they count.
    pub(super) fn take(
        &mut self,
        time_ns: u64,
        pairs: impl Iterator<Item = (IpAddr, IpAddr)>,
    ) -> Result<bool> {
        let count = &mut self.pairs;
        let counted = pairs.inspect(|_| *count += 1);
        let placement = self.slicer.take(time_ns, counted, &mut self.slices)?;
        match placement {
            Placement::TooLate => self.tell_dropped("too late"),
            Placement::Future => self.tell_dropped("from the future"),
            _ => return Ok(true),
        }
        Ok(false)
    }

    /// What goes on has no end at which to say it: after a clock was put back, all of it is dropped.
    fn tell_dropped(&mut self, why: &str) {
        if self.log_dropped.is_due() {
            let (late, future) = (self.slicer.clock().too_late(), self.slicer.clock().future());
            warn!(
                "contacts {why} are dropped, {late} too late and {future} from the future so far: was a clock changed?"
            );
        }
    }

    /// Lets time pass until `now_ns`, the time of day, by which slices end. The first one is that of the first call.
    pub(super) fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.slicer.start(now_ns, &mut self.slices)?;
        self.slicer.pass(now_ns, &mut self.slices)
    }

    /// Ends the last slice, if there was any.
    pub(super) fn finish(mut self) -> Result<Totals> {
        self.slicer.finish(&mut self.slices)?;
        self.slices.end()?;
        let (pairs, clock) = (self.pairs, self.slicer.clock());
        let (too_late, future) = (clock.too_late(), clock.future());
        Ok(Totals { pairs, too_late, future, ..self.slices.totals })
    }
}

impl SliceSink for Slices {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        self.begin(slice)?;
        if let Some(mark) = self.mark.filter(|mark| slice <= *mark) {
            info!("slices {slice} to {mark} are in the spool already and are passed over");
        }
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        if self.is_passed_over() {
            return Ok(());
        }
        self.latest = self.latest.max(slices_late);
        Ok(pairs.ingest_late(&self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        let Some(running) = self.running else { return Ok(()) };
        self.end()?;
        let window = u64::from(self.detector.params().window());
        let first = slice.saturating_sub(window).max(running + 1);
        if first > running + 1 {
            let silent = first - running - 1;
            warn!("{silent} slices of silence before slice {first} are left out");
            self.totals.silent += silent;
        }
        for silent in first..slice {
            self.begin(silent)?;
            self.end()?;
        }
        self.begin(slice)
    }
}

impl Slices {
    fn begin(&mut self, slice: u64) -> Result<()> {
        self.running = Some(slice);
        if !self.is_passed_over() {
            self.detector.skip_to(slice)?;
        }
        Ok(())
    }

    /// Ends the running slice, if any runs: sends what it touched.
    fn end(&mut self) -> Result<()> {
        let Some(slice) = self.running else { return Ok(()) };
        let sampling = self.sampling_up_to(slice);
        if self.is_passed_over() {
            self.totals.passed_over += 1;
            return Ok(());
        }
        // Pairs that were late have touched the past, and no further back than they were late.
        let delta = self.detector.delta(1 + std::mem::take(&mut self.latest))?;
        let parts = delta.into_parts(self.part_bytes)?;
        thread::sleep(self.pacer.wait(Instant::now()));
        self.totals.slices += 1;
        self.totals.bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.outbox.put(slice, &parts, sampling)?;
        Ok(())
    }

    /// How the contacts were sampled that go out with `slice`: its own, and late ones.
    fn sampling_up_to(&mut self, slice: u64) -> Sampling {
        let later = self.sampling.split_off(&(slice + 1));
        let mut sampling = Sampling::default();
        for (_, of) in std::mem::replace(&mut self.sampling, later) {
            sampling.merge(of);
        }
        sampling
    }

    /// Whether the running slice is in the spool already.
    fn is_passed_over(&self) -> bool {
        self.running <= self.mark
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pairs, slices, passed_over, silent, bytes, too_late, future } = self;
        write!(
            f,
            "{pairs} pairs, {slices} slices of {bytes} bytes in all; {passed_over} slices passed over, \
             {silent} left out; {too_late} contacts too late, {future} from the future"
        )
    }
}

#[cfg(test)]
mod tests;
