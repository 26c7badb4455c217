//! One view of the traffic: its pairs, its detector, its alerts.
//!
//! ```text
//! contact --allowed?--> pair --slice--> detector --report--> Book: a tracker per window, details, what is shown
//! ```
//!
//! Invariant: every slice is told to the trackers, in order, those of a long silence included as far as they matter.

mod book;
mod details;
mod shown;
mod top;

use std::time::Duration;

use anyhow::{Context as _, Result};
use srlg_host::config::Params;
use srlg_host::ingest::PairBatch;
use srlg_host::report::Estimate;
use srlg_host::state::Snapshot;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_host::{Config, Device, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, View, ViewOptions};

use crate::board::ViewBoard;
use crate::maxima::Maxima;
use crate::rules::Rules;
pub(crate) use book::BELOW_DOWN;
use book::Book;
pub use book::Told;

/// Slices of a silence that are told one by one. Alerts have ended long before.
const MOST_SILENT: u64 = 4_096;

/// Watches one view.
pub struct Watch {
    view: View,
    slicer: Slicer,
    slices: Slices,
    /// Contacts that the allow lists took out.
    allowed: u64,
    /// Contacts that came after their slice had ended, but within the window.
    late: u64,
}

/// What a watch is made of.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Name of the view, in alerts.
    pub name: String,
    /// Which contacts count, and for whom.
    pub view: ViewOptions,
    /// Sizes of the detector.
    pub config: Config,
    /// The rules.
    pub rules: Rules,
    /// Length of a slice.
    pub slice: Duration,
    /// How long after its end a slice waits for contacts.
    pub grace: Duration,
    /// Where the detector is.
    pub device: Device,
    /// Nanoseconds since the Unix epoch after which no contact can be.
    pub latest_ns: u64,
}

struct Slices {
    detector: SlidingDetector,
    book: Book,
}

impl Watch {
    /// Makes a watch of `options`, which has seen nothing.
    ///
    /// # Errors
    /// What is wrong with the view or the sizes.
    pub fn new(options: WatchOptions) -> Result<Self> {
        let WatchOptions { name, view, config, rules, slice, grace, device, latest_ns } = options;
        let clock = SliceClock::new(slice, config.window - 1, Duration::MAX)?
            .with_grace(grace)
            .with_latest(latest_ns);
        let book = Book::new(&name, config.window, rules, slice.as_millis() as u64);
        let detector = SlidingDetector::new(config, device)
            .with_context(|| format!("no detector for the view {name}"))?;
        let slicer = Slicer::with_batch(clock, detector.pair_batch(Slicer::BATCH)?);
        let slices = Slices { detector, book };
        let view = View::new(&view)?;
        Ok(Self { view, slicer, slices, allowed: 0, late: 0 })
    }

    /// Returns the name of the view.
    #[must_use]
    pub fn name(&self) -> &str {
        self.slices.book.name()
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        self.slices.book.rules()
    }

    /// Follows `rules` from the next slice on. Alerts whose rule is gone end then.
    pub fn set_rules(&mut self, rules: Rules) {
        self.slices.book.set_rules(rules);
    }

    /// Returns the bytes of recorders.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slices.detector.memory_bytes()
    }

    /// Returns the sizes of the detector.
    #[must_use]
    pub fn params(&self) -> &Params {
        self.slices.detector.params()
    }

    /// Returns how many slices have been closed.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.slices.book.closed()
    }

    /// Returns whether nothing has come for so long that alerts wait.
    #[must_use]
    pub fn is_input_lost(&self) -> bool {
        self.slices.book.is_input_lost()
    }

    /// Returns the end of the last slice that was told, milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.slices.book.now_ms()
    }

    /// Takes a contact.
    ///
    /// # Errors
    /// What the detector says.
    #[inline]
    pub fn take(&mut self, contact: &Contact) -> Result<()> {
        let Self { view, slicer, slices, .. } = self;
        let [sent, received] = view.sent_and_received(contact);
        let are_there = [sent.is_some(), received.is_some()];
        let counts = slices.book.rules().counts(contact, are_there);
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
    ///
    /// # Errors
    /// What the detector says.
    pub fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.slicer.start(now_ns, &mut self.slices)?;
        self.slicer.pass(now_ns, &mut self.slices)
    }

    /// Hands on what waits, at the end of an input.
    ///
    /// # Errors
    /// What the detector says.
    pub fn finish(&mut self) -> Result<()> {
        self.slicer.finish(&mut self.slices)?;
        if self.slicer.clock().is_running() {
            self.slices.close()?;
        }
        Ok(())
    }

    /// Returns what has been told since the last call.
    pub fn told(&mut self) -> Vec<Told> {
        self.slices.book.told()
    }

    /// Returns how many opposite hosts `host` had within the last `slices`, or within the longest window where that is
    /// shorter.
    ///
    /// # Errors
    /// What the detector says.
    pub fn cardinality_within(&self, host: std::net::IpAddr, slices: u64) -> Result<Estimate> {
        // The slice that runs is one more, and empty.
        let window = u64::from(self.params().window()).min(slices + 1) as u32;
        Ok(self.slices.detector.cardinality_within(host, window)?)
    }

    /// Returns the states of all alerts, as JSON.
    ///
    /// # Errors
    /// What cannot be written as JSON, which no state is.
    pub fn state(&self) -> Result<Vec<u8>> {
        self.slices.book.state()
    }

    /// Takes over what [`state`](Self::state) gave.
    ///
    /// # Errors
    /// A text that is no state.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<()> {
        self.slices.book.restore_state(state)
    }

    /// Returns the largest counts of hosts, by the length of the window in slices.
    pub fn maxima(&self) -> impl Iterator<Item = (u32, &Maxima)> {
        self.slices.book.maxima()
    }

    /// Takes over `maxima`, as JSON, of `window` slices.
    ///
    /// # Errors
    /// A text that is none.
    pub fn restore_maxima(&mut self, window: u32, maxima: &[u8]) -> Result<()> {
        self.slices.book.restore_maxima(window, maxima)
    }

    /// Hands pairs that wait to the detector, and returns all that it holds, with how contacts were sampled.
    ///
    /// # Errors
    /// What the detector says.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.slicer.flush(&mut self.slices)?;
        let sampling = serde_json::to_vec(&self.slices.book.sampling_slices())?;
        Ok(self.slices.detector.snapshot()?.with_attachment(sampling))
    }

    /// Goes on from `snapshot`. Counts are too low until a whole window has passed: until then no alert ends.
    ///
    /// # Errors
    /// A snapshot of other sizes, or one that is no [`snapshot`](Self::snapshot).
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
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
    pub fn board(&self) -> ViewBoard {
        let health = self.slices.detector.health();
        let mut board = self.slices.book.board();
        board.threshold = self.params().threshold();
        board.memory_bytes = self.memory_bytes() as u64;
        board.load = health.load;
        (board.late, board.allowed) = (self.late, self.allowed);
        let clock = self.slicer.clock();
        (board.too_late, board.future) = (clock.too_late(), clock.future());
        board
    }
}

impl Slices {
    /// Closes the running slice.
    fn close(&mut self) -> Result<bool> {
        let report = self.detector.close_slice()?;
        let is_silent = report.is_silent();
        self.book.close(&report, &self.detector)?;
        Ok(is_silent)
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

    /// As [`SlidingDetector::advance_to`], but shorter windows are asked for after each slice.
    fn advance_to(&mut self, slice: u64) -> Result<()> {
        while self.detector.slice() < slice {
            if self.close()? {
                break;
            }
        }
        self.detector.skip_to(slice)?;
        self.book.silence_until(slice);
        Ok(())
    }
}
