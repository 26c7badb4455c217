//! One run over one capture: contacts in, reports out.

use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use indicatif::ProgressBar;
use srlg::{Device, Overload, PairBatch, Placement, SliceClock, SliceReport, SlidingDetector};
use srlg_contact::{Contact, View};

use crate::args::{Args, Preset};
use crate::output::Output;
use crate::tell;

/// Pairs are handed to the detector in batches of at most this many.
const BATCH: usize = 1 << 14;

/// No capture is from later than a day ahead of this machine's clock.
const CLOCK_SKEW: Duration = Duration::from_secs(86_400);

pub struct Session {
    detector: SlidingDetector,
    clock: SliceClock,
    view: View,
    batch: PairBatch,
    late: PairBatch,
    reports: Reports,
    started: Instant,
    pairs: u64,
    unmeasured: u64,
    /// Contacts of IPv6 hosts that the scheme does not take.
    refused: u64,
}

/// Where reports go, and what is remembered of them.
struct Reports {
    output: Output,
    progress: ProgressBar,
    slices: u64,
    overloaded: u64,
    /// Whether estimates subtract a background, which can be too large.
    paper: bool,
    background: f64,
}

/// What a whole run amounts to.
pub struct Totals {
    pub pairs: u64,
    pub unmeasured: u64,
    pub refused: u64,
    pub too_late: u64,
    pub future: u64,
    pub slices: u64,
    pub overloaded: u64,
    /// The largest of all slices.
    pub background: f64,
    pub recorder_bytes: usize,
    pub device: Device,
    pub wall: Duration,
}

impl Session {
    pub fn new(args: &Args, progress: ProgressBar) -> Result<Self> {
        let latest = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)? + CLOCK_SKEW;
        let late = args.late.unwrap_or(args.window.saturating_sub(1));
        let clock = SliceClock::new(args.slice, late, args.max_gap.unwrap_or(Duration::MAX))?
            .with_latest(u64::try_from(latest.as_nanos())?);
        Ok(Self {
            detector: args.detector()?,
            clock,
            view: View::new(&args.view)?,
            batch: PairBatch::new(),
            late: PairBatch::new(),
            reports: Reports {
                output: Output::new(args),
                progress,
                slices: 0,
                overloaded: 0,
                paper: args.preset == Preset::Paper,
                background: 0.0,
            },
            started: Instant::now(),
            pairs: 0,
            unmeasured: 0,
            refused: 0,
        })
    }

    /// Takes the next contact of the capture.
    pub fn take(&mut self, contact: Contact) -> Result<()> {
        match self.clock.place(contact.time_ns) {
            Placement::Running => self.push(contact),
            Placement::Start { slice } => {
                self.detector.skip_to(slice)?;
                self.push(contact)
            }
            Placement::Ahead { slice } => {
                self.flush()?;
                self.detector.advance_to(slice, |report| self.reports.take(&report))?;
                self.push(contact)
            }
            Placement::Late { slices } => {
                let pairs = self.count(contact);
                self.late.clear();
                self.late.extend(pairs);
                Ok(self.late.ingest_late(&self.detector, slices)?)
            }
            // The clock counts them.
            Placement::TooLate | Placement::Future => Ok(()),
            Placement::Early { .. } => unreachable!("the clock has no grace"),
        }
    }

    /// Closes the last slice, if any packet came at all.
    pub fn finish(mut self) -> Result<Totals> {
        self.flush()?;
        if self.clock.is_running() {
            let report = self.detector.close_slice()?;
            self.reports.take(&report)?;
        }
        self.reports.output.finish()?;
        self.reports.progress.finish_and_clear();
        Ok(Totals {
            pairs: self.pairs,
            unmeasured: self.unmeasured,
            refused: self.refused,
            too_late: self.clock.too_late(),
            future: self.clock.future(),
            slices: self.reports.slices,
            overloaded: self.reports.overloaded,
            background: self.reports.background,
            recorder_bytes: self.detector.memory_bytes(),
            device: self.detector.device(),
            wall: self.started.elapsed(),
        })
    }

    fn push(&mut self, contact: Contact) -> Result<()> {
        let pairs = self.count(contact);
        self.batch.extend(pairs);
        if self.batch.len() + 2 > BATCH { self.flush() } else { Ok(()) }
    }

    /// The pairs of a contact that are measured, counted.
    fn count(&mut self, contact: Contact) -> impl Iterator<Item = (IpAddr, IpAddr)> + use<> {
        let is_refused =
            self.reports.paper && !(contact.source.is_ipv4() && contact.destination.is_ipv4());
        self.refused += u64::from(is_refused);
        let pairs = (!is_refused).then(|| self.view.pairs(&contact));
        let most = pairs.as_ref().map_or(0, |pairs| pairs.size_hint().1.unwrap_or(0));
        self.unmeasured += u64::from(!is_refused && most == 0);
        self.pairs += most as u64;
        pairs.into_iter().flatten()
    }

    fn flush(&mut self) -> Result<()> {
        self.batch.ingest(&self.detector)?;
        self.batch.clear();
        Ok(())
    }
}

impl Reports {
    fn take(&mut self, report: &SliceReport) -> Result<()> {
        self.slices += 1;
        if self.paper {
            self.background = self.background.max(report.health.background);
        }
        self.output.report(report)?;
        let Some(overload) = report.health.overload else { return Ok(()) };
        self.overloaded += 1;
        if self.overloaded == 1 {
            let slice = report.slice;
            let what = match overload {
                Overload::Crowded => {
                    "more pairs than the cells can hold, small super points may be missing"
                }
                Overload::Raised => "too many candidates, small super points may be missing",
                Overload::Saturated => "no super point could be found",
                _ => "super points may be missing",
            };
            self.progress.suspend(|| {
                tell(format_args!("warning: overload in slice {slice}: {what}; narrow --inside"));
            });
        }
        Ok(())
    }
}
