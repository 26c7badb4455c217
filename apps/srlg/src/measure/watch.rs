//! One view of the traffic on this machine: its pairs, its detector, and the slices that it closes.
//!
//! ```text
//! contact --allowed?--> pair --slice--> detector --ClosedSlice--> Book
//!                        `--of hosts with an alert--> details
//! ```
//!
//! Invariant: the book gets every slice in order, those of a long silence included as far as they matter.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use srlg_host::ingest::PairBatch;
use srlg_host::report::Estimate;
use srlg_host::state::Snapshot;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_host::{Config, SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, SamplingWindow, View};

use crate::alerts::Condition;
use crate::alerts::book::{Book, ClosedSlice};
use crate::alerts::details::Details;
use crate::config::{General, ViewConfig};
use crate::measure::SKEW;
use crate::show::board::ViewBoard;

/// Without any contact for so long the input is lost: silence is no end of an attack.
const LOST_MS: u64 = 60_000;

/// A view that is watched.
pub(crate) struct Watch {
    view: View,
    slicer: Slicer,
    slices: Slices,
    /// How many pairs each allowance of the rules took out.
    hits: Vec<u64>,
    /// Contacts that allowances took out.
    allowed: u64,
    /// Contacts that came after their slice had ended, but within the window.
    late: u64,
}

/// What is known of the slices.
struct Slices {
    detector: SlidingDetector,
    slice_ms: u64,
    sampling: SamplingWindow,
    /// When the newest contact was read, whichever it was.
    newest_input_ms: u64,
    /// Before this slice counts are too low, as nothing was seen for a while.
    whole_from: u64,
    details: Details,
}

/// The slices of a view, and the book that takes them.
struct Entries<'a> {
    slices: &'a mut Slices,
    book: &'a mut Book,
}

impl Watch {
    /// Makes a watch of `view` that has seen nothing. Its detector hashes with `seed`.
    pub(crate) fn new(config: &ViewConfig, general: &General, seed: u64) -> Result<Self> {
        let ViewConfig { name, view, sizes, rules, .. } = config;
        let clock = SliceClock::new(general.slice, sizes.window - 1, Duration::MAX)?
            .with_grace(general.grace)
            .with_skew(SKEW);
        let detector = SlidingDetector::new(Config { seed, ..*sizes }, general.device)
            .with_context(|| format!("no detector for the view {name}"))?;
        let slicer = Slicer::with_batch(clock, detector.pair_batch(Slicer::BATCH)?);
        let slices = Slices {
            detector,
            slice_ms: general.slice.as_millis() as u64,
            sampling: SamplingWindow::new(sizes.window),
            newest_input_ms: 0,
            whole_from: 0,
            details: Details::default(),
        };
        let hits = vec![0; rules.allows().len()];
        Ok(Self { view: View::new(view)?, slicer, slices, hits, allowed: 0, late: 0 })
    }

    /// Returns the detector.
    pub(crate) fn detector(&self) -> &SlidingDetector {
        &self.slices.detector
    }

    /// Follows the rules of `next` in place of those of `book`.
    pub(crate) fn reload(&mut self, next: &ViewConfig, book: &mut Book) {
        self.hits = next.rules.hits_after(book.rules(), &self.hits);
        book.set_rules(next.rules.clone());
    }

    /// Takes a contact.
    #[inline]
    pub(crate) fn take(&mut self, contact: &Contact, book: &mut Book) -> Result<()> {
        let Self { view, slicer, slices, hits, .. } = self;
        let [sent, received] = view.sent_and_received(contact);
        let are_there = [sent.is_some(), received.is_some()];
        let counts = book.rules().counts(contact, are_there, hits);
        self.allowed += u64::from(counts != are_there);
        let pairs = [sent.filter(|_| counts[0]), received.filter(|_| counts[1])];
        let pairs = pairs.into_iter().flatten();
        if !slices.details.is_empty() {
            pairs.clone().for_each(|pair| slices.details.take(pair, contact));
        }
        // A contact without pairs tells the time all the same.
        let placement = slicer.take(contact.time_ns, pairs, &mut Entries { slices, book })?;
        self.late += u64::from(matches!(placement, Placement::Late { .. }));
        // Not before: to slices that the contact ends it was still silent.
        if !matches!(placement, Placement::TooLate | Placement::Future) {
            let slices = &mut self.slices;
            slices.newest_input_ms = slices.newest_input_ms.max(contact.time_ns / 1_000_000);
            slices.sampling.add(self.slicer.clock().slice_of(contact.time_ns), contact);
        }
        Ok(())
    }

    /// Lets time pass until `now_ns`, by which slices end.
    pub(crate) fn pass(&mut self, now_ns: u64, book: &mut Book) -> Result<()> {
        let mut entries = Entries { slices: &mut self.slices, book };
        self.slicer.start(now_ns, &mut entries)?;
        self.slicer.pass(now_ns, &mut entries)
    }

    /// Hands on what waits, at the end of an input.
    pub(crate) fn finish(&mut self, book: &mut Book) -> Result<()> {
        let mut entries = Entries { slices: &mut self.slices, book };
        self.slicer.finish(&mut entries)?;
        if self.slicer.clock().is_running() {
            entries.close()?;
        }
        Ok(())
    }

    /// Returns how many peers `host` had within the last `slices`, or within the longest window where that is shorter.
    pub(crate) fn cardinality_within(&self, host: IpAddr, slices: u32) -> Result<Estimate> {
        // Between two closes the slice that runs is one more.
        let window = self.detector().params().window().min(slices.saturating_add(1));
        Ok(self.detector().cardinality_within(host, window)?)
    }

    /// Hands pairs that wait to the detector, and returns all that it holds, with how contacts were sampled.
    pub(crate) fn snapshot(&mut self, book: &mut Book) -> Result<Snapshot> {
        self.slicer.flush(&mut Entries { slices: &mut self.slices, book })?;
        let sampling = self.slices.sampling.slices();
        let sampling: Vec<_> = sampling.map(|(slice, it)| (slice, it.to_string())).collect();
        let sampling = serde_json::to_vec(&sampling)?;
        Ok(self.detector().snapshot()?.with_attachment(sampling))
    }

    /// Continues from `snapshot`.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let sampling: Vec<(u64, String)> = serde_json::from_slice(snapshot.attachment())
            .context("the checkpoint is of another program")?;
        let sampling: Result<Vec<(u64, Sampling)>, _> = sampling
            .into_iter()
            .map(|(slice, text)| Ok::<_, srlg_input::contact::BadSampling>((slice, text.parse()?)))
            .collect();
        self.slices.detector.restore(snapshot)?;
        for (slice, sampling) in sampling? {
            self.slices.sampling.merge(slice, sampling);
        }
        Ok(())
    }

    /// Counts are too low from now on, until a whole window has passed: no alert ends before.
    pub(crate) fn miss_a_window(&mut self) {
        // How long nothing was seen is known when the first slice starts.
        self.slices.whole_from = u64::MAX;
    }

    /// Returns what is known of the view now.
    #[must_use]
    pub(crate) fn board(&self, book: &Book) -> ViewBoard {
        let (detector, clock) = (self.detector(), self.slicer.clock());
        ViewBoard {
            threshold: detector.params().threshold(),
            memory_bytes: detector.memory_bytes() as u64,
            load: detector.health().load,
            late: self.late,
            allowed: self.allowed,
            too_late: clock.too_late(),
            future: clock.future(),
            ..book.board(&self.hits)
        }
    }
}

impl Slices {
    fn condition(&self, slice: u64) -> Condition {
        let end_ms = slice.saturating_add(1).saturating_mul(self.slice_ms);
        Condition {
            is_input_lost: end_ms.saturating_sub(self.newest_input_ms) >= LOST_MS,
            is_overloaded: slice < self.whole_from,
        }
    }
}

impl Entries<'_> {
    /// Closes the running slice.
    fn close(&mut self) -> Result<SliceReport> {
        let Self { slices, book } = self;
        let closing = slices.detector.begin_close()?;
        let sightings = book.sightings(&closing)?;
        let report = closing.end()?;
        let slice = ClosedSlice {
            condition: slices.condition(report.slice),
            sampling: slices.sampling.at(report.slice),
            newest_input_ms: slices.newest_input_ms,
            report,
            sightings,
        };
        book.close(&slice, Some(&slices.details));
        slices.details.look_at(&book.hosts_with_alerts(&slice.report), book.now_ms());
        Ok(slice.report)
    }
}

impl SliceSink for Entries<'_> {
    type Error = anyhow::Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        let Self { slices, book } = self;
        let running = slices.detector.slice();
        slices.detector.skip_to(slice).with_context(|| {
            format!("the state is newer than the input, slice {running} after {slice}: give a replay a --state of its own")
        })?;
        book.skip_to(slice);
        let start_ms = slice.saturating_mul(slices.slice_ms);
        slices.newest_input_ms = slices.newest_input_ms.max(start_ms);
        if slices.whole_from == u64::MAX {
            slices.whole_from = slice.saturating_add(slices.detector.params().window().into());
        }
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.slices.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        while self.slices.detector.slice() < slice && !self.close()?.is_silent() {}
        let Self { slices, book } = self;
        slices.detector.skip_to(slice)?;
        book.be_silent_until(slice, slices.newest_input_ms, |slice| slices.condition(slice));
        Ok(())
    }
}
