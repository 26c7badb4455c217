//! One run over one input: contacts in, reports out.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer};
use srlg_host::{Device, SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, SamplingWindow, View};

use crate::commands::detect::args::{Args, Preset};
use crate::commands::detect::output::Output;
use crate::commands::detect::progress::Progress;
use crate::measure::SKEW;

pub(super) struct Session {
    slicer: Slicer,
    view: View,
    is_live: bool,
    reporter: SliceReporter,
    started: Instant,
}

/// Slice after slice.
struct SliceReporter {
    detector: SlidingDetector,
    reports: Reports,
}

/// Where reports go, and what is remembered of them.
struct Reports {
    output: Output,
    progress: Progress,
    sampling: SamplingWindow,
    /// Whether estimates subtract a background, which can be too large.
    paper: bool,
    totals: Totals,
}

/// What a whole run amounts to.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) pairs: u64,
    pub(super) unmeasured: u64,
    /// Contacts of IPv6 hosts that the scheme does not take.
    pub(super) refused: u64,
    pub(super) too_late: u64,
    pub(super) future: u64,
    pub(super) slices: u64,
    pub(super) overloaded: u64,
    /// The largest of all slices.
    pub(super) background: f64,
    /// Of all slices.
    pub(super) sampled: Sampling,
    pub(super) recorder_bytes: usize,
    pub(super) device: Device,
    pub(super) wall: Duration,
}

impl Session {
    pub(super) fn new(args: &Args, progress: Progress) -> Result<Self> {
        let late = args.late.unwrap_or(args.window.saturating_sub(1));
        let clock = SliceClock::new(args.slice, late, args.max_gap.unwrap_or(Duration::MAX))?
            .with_grace(args.grace())
            .with_skew(SKEW);
        let reports = Reports {
            output: Output::new(args),
            progress,
            sampling: SamplingWindow::new(args.window),
            paper: args.preset == Preset::Paper,
            totals: Totals::default(),
        };
        let detector = args.detector()?;
        Ok(Self {
            slicer: Slicer::with_batch(clock, detector.pair_batch(Slicer::BATCH)?),
            view: View::new(&args.view)?,
            is_live: args.source.is_live(),
            reporter: SliceReporter { detector, reports },
            started: Instant::now(),
        })
    }

    /// Takes the next contact of the input.
    pub(super) fn take(&mut self, contact: Contact) -> Result<()> {
        let pairs = self.count(contact);
        let placement = self.slicer.take(contact.time_ns, pairs, &mut self.reporter)?;
        if !matches!(placement, Placement::TooLate | Placement::Future) {
            let slice = self.slicer.clock().slice_of(contact.time_ns);
            self.reporter.reports.sampling.add(slice, &contact);
        }
        Ok(())
    }

    /// Takes the time of day, by which slices of a live input end.
    pub(super) fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.slicer.start(now_ns, &mut self.reporter)?;
        self.slicer.pass(now_ns, &mut self.reporter)
    }

    /// Shows how much of the input has been read.
    pub(super) fn progress(&self) -> &Progress {
        &self.reporter.reports.progress
    }

    /// Closes the last slice, if any contact came at all. Of a live input it has not ended: its report would be one
    /// of a part of a slice.
    pub(super) fn finish(mut self) -> Result<Totals> {
        if self.is_live {
            self.slicer.flush(&mut self.reporter)?;
        } else {
            self.slicer.finish(&mut self.reporter)?;
        }
        let SliceReporter { detector, reports } = &mut self.reporter;
        if self.slicer.clock().is_running() && !self.is_live {
            let report = detector.close_slice()?;
            reports.take(&report)?;
        }
        reports.output.finish()?;
        reports.progress.finish();
        Ok(Totals {
            too_late: self.slicer.clock().too_late(),
            future: self.slicer.clock().future(),
            recorder_bytes: detector.memory_bytes(),
            device: detector.device(),
            wall: self.started.elapsed(),
            ..self.reporter.reports.totals
        })
    }

    /// The pairs of a contact, which are counted.
    fn count(&mut self, contact: Contact) -> impl Iterator<Item = (IpAddr, IpAddr)> + use<> {
        let Reports { paper, totals, .. } = &mut self.reporter.reports;
        let is_refused = *paper && !(contact.source.is_ipv4() && contact.destination.is_ipv4());
        totals.refused += u64::from(is_refused);
        let pairs = (!is_refused).then(|| self.view.pairs(&contact));
        let most = pairs.as_ref().map_or(0, |pairs| pairs.size_hint().1.unwrap_or(0));
        totals.unmeasured += u64::from(!is_refused && most == 0);
        totals.pairs += most as u64;
        pairs.into_iter().flatten()
    }
}

impl SliceSink for SliceReporter {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        Ok(self.detector.skip_to(slice)?)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        self.detector.advance_to(slice, |report| self.reports.take(&report))
    }
}

impl Reports {
    fn take(&mut self, report: &SliceReport) -> Result<()> {
        let totals = &mut self.totals;
        totals.slices += 1;
        if self.paper {
            totals.background = totals.background.max(report.health.background);
        }
        let sampling = self.sampling.at(report.slice);
        totals.sampled.merge(sampling);
        self.output.report(report, sampling)?;
        let Some(overload) = report.health.finder.overload else { return Ok(()) };
        totals.overloaded += 1;
        if totals.overloaded == 1 {
            let slice = report.slice;
            self.progress.tell(format_args!(
                "warning: overload in slice {slice}: {overload}; narrow --inside"
            ));
        }
        Ok(())
    }
}
