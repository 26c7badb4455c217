//! `srlg detect`: reports the super points of an input, slice by slice.

mod args;
mod output;
mod summary;

use std::time::{Duration, Instant};

use anyhow::{Error, Result, ensure};
use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink};
use srlg_host::{Device, SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, PeerKey, Sampling, SamplingWindow};
use srlg_input::{Input, LogLine};

use super::print_line;
use crate::config::PORTS_OF_ANSWERS;
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::track::Track;
pub use args::Args;
use args::Preset;
use output::Output;
use srlg_alerts::rules::Rules;

/// Reads the input to its end, or until a signal arrives.
pub fn run(args: &Args) -> Result<()> {
    let mut input = Input::open(&args.source)?;
    input.stop_at_signals()?;
    let packings = [args.view.hosts(), args.view.peers()];
    ensure!(
        args.preset != Preset::Paper || packings.iter().all(|it| it.key() != PeerKey::AddressPort),
        "--preset paper: accepts only IPv4 addresses and does not support address+port; use --preset default"
    );
    if args.view.takes_ports_of_answers() {
        print_line(format_args!("warning: {PORTS_OF_ANSWERS}"));
    }
    let mut run = Run::new(args)?;
    drive(&mut input, &mut run)?;
    summary::print(&run.finish()?, &input.status());
    Ok(())
}

struct Run {
    track: Track,
    /// An empty set of rules, so that no host and no contact is ignored.
    rules: Rules,
    is_live: bool,
    slices: Slices,
    started: Instant,
}

struct Slices {
    detector: SlidingDetector,
    reports: Reports,
}

struct Reports {
    output: Output,
    sampling: SamplingWindow,
    /// Whether the preset is `paper`, whose estimates are unreliable if the background is too large.
    paper: bool,
    totals: Totals,
}

#[derive(Default)]
struct Totals {
    pairs: u64,
    unmeasured: u64,
    /// Number of contacts without a port, which a view of ports cannot count.
    without_port: u64,
    /// Number of contacts with an IPv6 address, which the paper's scheme does not support.
    refused: u64,
    too_late: u64,
    future: u64,
    slices: u64,
    overloaded: u64,
    /// Highest background of all slices.
    background: f64,
    /// Combined sampling of all slices.
    sampled: Sampling,
    recorder_bytes: usize,
    device: Device,
    wall: Duration,
}

impl Run {
    fn new(args: &Args) -> Result<Self> {
        let late = args.late.unwrap_or(args.window.saturating_sub(1));
        let clock = SliceClock::new(args.slice, late, args.max_gap.unwrap_or(Duration::MAX))?;
        let reports = Reports {
            output: Output::new(args),
            sampling: SamplingWindow::new(args.window),
            paper: args.preset == Preset::Paper,
            totals: Totals::default(),
        };
        let (detector, rules) = (args.detector()?, Rules::new(Vec::new(), Vec::new()));
        Ok(Self {
            track: Track::new(&args.view, clock.with_grace(args.grace()), &detector, &rules)?,
            rules,
            is_live: args.source.is_live(),
            slices: Slices { detector, reports },
            started: Instant::now(),
        })
    }

    fn count(&mut self, contact: &Contact) -> Result<()> {
        let Self { track, rules, slices, .. } = self;
        let Reports { paper, totals, .. } = &mut slices.reports;
        let is_v4 = contact.source.as_v4().is_some() && contact.destination.as_v4().is_some();
        let is_refused = *paper && !is_v4;
        let pairs = (!is_refused).then(|| track.pairs(contact, rules)).into_iter().flatten();
        let count = pairs.clone().count();
        totals.refused += u64::from(is_refused);
        totals.unmeasured += u64::from(!is_refused && count == 0);
        totals.pairs += count as u64;
        let placement = track.ingest(contact.time_ns, pairs, slices)?;
        if !matches!(placement, Placement::TooLate | Placement::Future) {
            slices.reports.sampling.add(track.clock().slice_of(contact.time_ns), contact);
        }
        Ok(())
    }

    /// Finishes the output and returns the totals. The last slice of a live input is incomplete and is not reported.
    fn finish(self) -> Result<Totals> {
        let Self { mut track, mut slices, is_live, started, .. } = self;
        if is_live {
            track.flush(&mut slices)?;
        } else {
            track.finish(&mut slices)?;
        }
        let Slices { mut detector, mut reports } = slices;
        if track.clock().is_running() && !is_live {
            reports.add(&detector.close_slice()?)?;
        }
        reports.output.finish()?;
        Ok(Totals {
            // This number also includes contacts without a port.
            unmeasured: reports.totals.unmeasured - track.filter.counts.without_port,
            without_port: track.filter.counts.without_port,
            too_late: track.clock().too_late(),
            future: track.clock().future(),
            recorder_bytes: detector.memory_bytes(),
            device: detector.device(),
            wall: started.elapsed(),
            ..reports.totals
        })
    }
}

impl EventConsumer for Run {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        contacts.iter().try_for_each(|contact| self.count(contact))
    }

    fn advance(&mut self, now_ns: u64, _: &Input) -> Result<()> {
        self.track.advance(now_ns, &mut self.slices)
    }

    fn log(&self, line: LogLine) {
        print_line(format_args!("{line}"));
    }
}

impl SliceSink for Slices {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<()> {
        Ok(self.detector.skip_to(slice)?)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<()> {
        Ok(pairs.ingest_late(&self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<()> {
        self.detector.advance_to(slice, |report| self.reports.add(&report))
    }
}

impl Reports {
    fn add(&mut self, report: &SliceReport) -> Result<()> {
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
            print_line(format_args!(
                "warning: slice {slice} is overloaded: {overload}; narrow --inside"
            ));
        }
        Ok(())
    }
}
