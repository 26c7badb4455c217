//! One view of the traffic: its pairs, its detector, its alerts.
//!
//! Invariant: every slice is told to the tracker, in order, those of a long silence included as far as they matter.

use std::time::Duration;

use anyhow::{Error, Result};
use srlg_alert::{Alert, Condition, Rule, Sighting, Subject, Tracker};
use srlg_contact::{Contact, Sampling, SamplingWindow, View, ViewOptions};
use srlg_host::{
    Config, Device, Estimate, EstimateRange, PairBatch, SamplePeer, SliceClock, SliceReport,
    SliceSink, Slicer, SlidingDetector,
};

/// Without any contact for so long the input is lost: silence is no end of an attack.
const LOST_MS: u64 = 60_000;

/// Slices of a silence that are told one by one. Alerts have ended long before.
const MOST_SILENT: u64 = 4_096;

/// An alert, and what the detector knows besides.
#[derive(Clone, Debug)]
pub struct Told {
    /// The alert.
    pub alert: Alert,
    /// Opposite hosts of a host, those seen last first.
    pub peers: Vec<SamplePeer>,
    /// How the contacts were sampled that count.
    pub sampling: Sampling,
}

/// Watches one view.
pub struct Watch {
    view: View,
    slicer: Slicer,
    slices: Slices,
}

/// What a watch is made of.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Name of the view, in alerts.
    pub name: &'static str,
    /// Which contacts count, and for whom.
    pub view: ViewOptions,
    /// Sizes of the detector.
    pub config: Config,
    /// The rule of all hosts.
    pub rule: Rule,
    /// Length of a slice.
    pub slice: Duration,
    /// How long after its end a slice waits for contacts.
    pub grace: Duration,
}

struct Slices {
    detector: SlidingDetector,
    book: Book,
}

/// What is written of closed slices.
struct Book {
    tracker: Tracker,
    rule: Rule,
    slice_ms: u64,
    /// The next slice that the tracker is told of.
    next: u64,
    sampling: SamplingWindow,
    /// When the newest contact was read, whichever it was.
    newest_input_ms: u64,
    told: Vec<Told>,
    overloads: u64,
}

impl Watch {
    /// Makes a watch of `options`, which has seen nothing.
    ///
    /// # Errors
    /// What is wrong with the view or the sizes.
    pub fn new(options: WatchOptions) -> Result<Self> {
        let WatchOptions { name, view, config, rule, slice, grace } = options;
        let clock = SliceClock::new(slice, config.window - 1, Duration::MAX)?.with_grace(grace);
        let book = Book {
            tracker: Tracker::new(name),
            rule,
            slice_ms: slice.as_millis() as u64,
            next: 0,
            sampling: SamplingWindow::new(config.window),
            newest_input_ms: 0,
            told: Vec::new(),
            overloads: 0,
        };
        let detector = SlidingDetector::new(config, Device::Cpu)?;
        let slices = Slices { detector, book };
        Ok(Self { view: View::new(&view)?, slicer: Slicer::new(clock), slices })
    }

    /// Returns the name of the view.
    #[must_use]
    pub fn name(&self) -> &str {
        self.slices.book.tracker.view()
    }

    /// Returns the bytes of recorders.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.slices.detector.memory_bytes()
    }

    /// Returns how many slices were closed in overload.
    #[must_use]
    pub fn overloads(&self) -> u64 {
        self.slices.book.overloads
    }

    /// Takes a contact.
    ///
    /// # Errors
    /// What the detector says.
    pub fn take(&mut self, contact: &Contact) -> Result<()> {
        let book = &mut self.slices.book;
        book.newest_input_ms = book.newest_input_ms.max(contact.time_ns / 1_000_000);
        book.sampling.add(self.slicer.clock().slice_of(contact.time_ns), contact);
        let pairs = self.view.pairs(contact);
        self.slicer.take(contact.time_ns, pairs, &mut self.slices).map(drop)
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
            let report = self.slices.detector.close_slice()?;
            self.slices.book.close(&report);
        }
        Ok(())
    }

    /// Returns what has been told since the last call.
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.slices.book.told)
    }

    /// Returns how many opposite hosts `host` has now.
    ///
    /// # Errors
    /// What the detector says.
    pub fn cardinality(&self, host: std::net::IpAddr) -> Result<Estimate> {
        Ok(self.slices.detector.cardinality(host)?)
    }
}

impl SliceSink for Slices {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        self.book.next = slice;
        Ok(self.detector.skip_to(slice)?)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        let Self { detector, book } = self;
        detector.advance_to(slice, |report| {
            book.close(&report);
            Ok::<(), Error>(())
        })?;
        book.silence_until(slice);
        Ok(())
    }
}

impl Book {
    fn close(&mut self, report: &SliceReport) {
        self.silence_until(report.slice);
        let is_overloaded = report.health.overload.is_some();
        self.overloads += u64::from(is_overloaded);
        let points: Vec<Sighting> = report
            .super_points
            .iter()
            .map(|point| {
                let mut sighting = Sighting::new(point.host, point.cardinality, point.std_error);
                sighting.is_lower_bound = point.range == EstimateRange::Beyond;
                sighting
            })
            .collect();
        let alerts = self.step(report.slice, &points, is_overloaded);
        let sampling = self.sampling.at(report.slice);
        self.told.extend(alerts.into_iter().map(|alert| {
            let of = |host| report.super_points.iter().find(|point| point.host == host);
            let peers = match alert.subject {
                Subject::Host(host) => of(host).map(|point| point.peers.clone()),
                Subject::Network { .. } => None,
            };
            Told { alert, peers: peers.unwrap_or_default(), sampling }
        }));
    }

    /// Slices before `slice` that nobody has reported, as nothing was in their window.
    fn silence_until(&mut self, slice: u64) {
        self.next = self.next.max(slice.saturating_sub(MOST_SILENT));
        while self.next < slice {
            let alerts = self.step(self.next, &[], false);
            let sampling = Sampling::default();
            self.told.extend(alerts.into_iter().map(|alert| Told {
                alert,
                peers: Vec::new(),
                sampling,
            }));
        }
    }

    fn step(&mut self, slice: u64, points: &[Sighting], is_overloaded: bool) -> Vec<Alert> {
        self.next = slice + 1;
        let now_ms = (slice + 1).saturating_mul(self.slice_ms);
        let is_input_lost = now_ms.saturating_sub(self.newest_input_ms) >= LOST_MS;
        let condition = Condition { is_input_lost, is_overloaded };
        self.tracker.close(now_ms, points, |_| Some(&self.rule), condition)
    }
}
