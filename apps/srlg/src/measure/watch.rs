//! One view of the traffic: its pairs, its detector, its alerts.
//!
//! ```text
//! contact --allowed?--> pair --slice--> detector --report--> Book: a tracker, details, what is shown
//! ```
//!
//! Invariant: the tracker gets every slice in order, those of a long silence included as far as they matter.

mod book;
mod details;
mod shown;
mod top;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use srlg_host::ingest::PairBatch;
use srlg_host::report::Estimate;
use srlg_host::state::Snapshot;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_host::{Config, SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, View, ViewOptions};

use crate::config::{General, ViewConfig};
use crate::measure::SKEW;
use crate::show::board::ViewBoard;
pub(crate) use book::{BELOW_DOWN, Book};

/// A view that is watched.
pub(crate) struct Watch {
    /// Contacts that count, and the hosts that they count for.
    pub(crate) options: ViewOptions,
    view: View,
    slicer: Slicer,
    slices: Slices,
    /// Contacts that the allow lists took out.
    allowed: u64,
    /// Contacts that came after their slice had ended, but within the window.
    late: u64,
}

struct Slices {
    detector: SlidingDetector,
    book: Book,
}

impl Watch {
    /// Makes a watch of `view` that has seen nothing. Its detector hashes with `seed`.
    pub(crate) fn new(view: &ViewConfig, general: &General, seed: u64) -> Result<Self> {
        let ViewConfig { name, view: options, sizes, rules, .. } = view;
        let clock = SliceClock::new(general.slice, sizes.window - 1, Duration::MAX)?
            .with_grace(general.grace)
            .with_skew(SKEW);
        let slice_ms = general.slice.as_millis() as u64;
        let book = Book::new(name, sizes.window, rules.clone(), slice_ms);
        let detector = SlidingDetector::new(Config { seed, ..*sizes }, general.device)
            .with_context(|| format!("no detector for the view {name}"))?;
        let slicer = Slicer::with_batch(clock, detector.pair_batch(Slicer::BATCH)?);
        let slices = Slices { detector, book };
        let (options, view) = (options.clone(), View::new(options)?);
        Ok(Self { options, view, slicer, slices, allowed: 0, late: 0 })
    }

    /// Returns the rules, the alerts and the counts of the view.
    pub(crate) fn book(&self) -> &Book {
        &self.slices.book
    }

    /// Returns the rules, the alerts and the counts of the view, to be changed.
    pub(crate) fn book_mut(&mut self) -> &mut Book {
        &mut self.slices.book
    }

    /// Returns the detector.
    pub(crate) fn detector(&self) -> &SlidingDetector {
        &self.slices.detector
    }

    /// Takes a contact.
    #[inline]
    pub(crate) fn take(&mut self, contact: &Contact) -> Result<()> {
        let Self { view, slicer, slices, .. } = self;
        let [sent, received] = view.sent_and_received(contact);
        let are_there = [sent.is_some(), received.is_some()];
        let counts = slices.book.counts(contact, are_there);
        self.allowed += u64::from(counts != are_there);
        let pairs = [sent.filter(|_| counts[0]), received.filter(|_| counts[1])];
        let pairs = pairs.into_iter().flatten();
        if slices.book.has_details() {
            pairs.clone().for_each(|pair| slices.book.detail(pair, contact));
        }
        // A contact without pairs tells the time all the same.
        let placement = slicer.take(contact.time_ns, pairs, slices)?;
        self.late += u64::from(matches!(placement, Placement::Late { .. }));
        // Not before: to slices that the contact ends it was still silent.
        if !matches!(placement, Placement::TooLate | Placement::Future) {
            slices.book.see(slicer.clock().slice_of(contact.time_ns), contact);
        }
        Ok(())
    }

    /// Lets time pass until `now_ns`, by which slices end.
    pub(crate) fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.slicer.start(now_ns, &mut self.slices)?;
        self.slicer.pass(now_ns, &mut self.slices)
    }

    /// Hands on what waits, at the end of an input.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.slicer.finish(&mut self.slices)?;
        if self.slicer.clock().is_running() {
            self.slices.close()?;
        }
        Ok(())
    }

    /// Returns how many peers `host` had within the last `slices`, or within the longest window where that is shorter.
    pub(crate) fn cardinality_within(&self, host: IpAddr, slices: u64) -> Result<Estimate> {
        // Between two closes the slice that runs is one more.
        let longest = self.detector().params().window();
        let window = u64::from(longest).min(slices + 1) as u32;
        Ok(self.detector().cardinality_within(host, window)?)
    }

    /// Hands pairs that wait to the detector, and returns all that it holds, with how contacts were sampled.
    pub(crate) fn snapshot(&mut self) -> Result<Snapshot> {
        self.slicer.flush(&mut self.slices)?;
        let sampling = serde_json::to_vec(&self.book().sampling_slices())?;
        Ok(self.detector().snapshot()?.with_attachment(sampling))
    }

    /// Continues from `snapshot`. Counts are too low until a whole window has passed: until then no alert ends.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let sampling: Vec<(u64, String)> = serde_json::from_slice(snapshot.attachment())
            .context("the checkpoint is of another program")?;
        let sampling: Result<Vec<(u64, Sampling)>, _> = sampling
            .into_iter()
            .map(|(slice, text)| Ok::<_, srlg_input::contact::BadSampling>((slice, text.parse()?)))
            .collect();
        self.slices.detector.restore(snapshot)?;
        self.slices.book.resume(snapshot.slice(), sampling?);
        Ok(())
    }

    /// Returns what is known of the view now.
    #[must_use]
    pub(crate) fn board(&self) -> ViewBoard {
        let (detector, clock) = (self.detector(), self.slicer.clock());
        ViewBoard {
            threshold: detector.params().threshold(),
            memory_bytes: detector.memory_bytes() as u64,
            load: detector.health().load,
            late: self.late,
            allowed: self.allowed,
            too_late: clock.too_late(),
            future: clock.future(),
            ..self.book().board()
        }
    }
}

impl Slices {
    /// Closes the running slice.
    fn close(&mut self) -> Result<SliceReport> {
        let closing = self.detector.begin_close()?;
        let sightings = self.book.sightings(&closing)?;
        let report = closing.end()?;
        self.book.close(&report, &sightings);
        Ok(report)
    }
}

impl SliceSink for Slices {
    type Error = anyhow::Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        let running = self.detector.slice();
        self.detector.skip_to(slice).with_context(|| {
            format!("the state is newer than the input, slice {running} after {slice}: give a replay a --state of its own")
        })?;
        self.book.start(slice);
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        while self.detector.slice() < slice && !self.close()?.is_silent() {}
        self.detector.skip_to(slice)?;
        self.book.silence_until(slice);
        Ok(())
    }
}
