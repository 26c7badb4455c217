//! `srlg detect`: reports the super points of an input, slice by slice.

mod args;
mod output;
mod summary;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use srlg_host::time::SliceClock;
use srlg_host::{Device, SliceReport};
use srlg_input::contact::{Contact, PeerKey, Sampling, SamplingWindow};
use srlg_input::{Input, LogLine};

use super::{exit_code, print_line};
use crate::config::PORTS_OF_ANSWERS;
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::filter::FilterCounts;
use crate::measure::pipeline::Pushed;
use crate::measure::site::{RunningView, Site, SiteView, SliceConsumer, SliceTimes};
pub use args::Args;
use args::Preset;
use output::Output;
use srlg_alerts::rules::Rules;
use srlg_alerts::witnesses::WitnessTable;

/// Reads the input to its end, or until a signal arrives.
pub fn run(args: &Args) -> Result<ExitCode> {
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
    let status = input.status();
    summary::print(&run.finish()?, &status);
    Ok(exit_code(&args.source, &status))
}

struct Run {
    site: Site<Printing>,
    is_live: bool,
    started: Instant,
}

/// A consumer of slices that prints the super points of its only view.
struct Printing {
    /// An empty set of rules, so that no host and no contact is ignored.
    rules: Rules,
    reports: Reports,
    /// Whether the window was empty at the last close.
    is_silent: bool,
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
        let (times, rules) =
            (SliceTimes { slice: args.slice, grace: args.grace() }, Rules::new(vec![], vec![]));
        let clock = clock.with_grace(times.grace);
        let view = SiteView::of(&args.view, clock, args.detector()?, 0, &rules)?;
        let exporters = WitnessTable::new(&[], None, args.slice.as_millis() as u64, 0);
        let reports = Reports {
            output: Output::new(args),
            sampling: SamplingWindow::new(args.window),
            paper: args.preset == Preset::Paper,
            totals: Totals::default(),
        };
        let printing = Printing { rules, reports, is_silent: false };
        let mut site = Site::new(vec![view], times, exporters, printing);
        let is_live = args.source.is_live();
        if !is_live {
            site.defer_pairs();
        }
        Ok(Self { site, is_live, started: Instant::now() })
    }

    /// Finishes the output and returns the totals. The last slice of a live input is incomplete and is not reported.
    fn finish(mut self) -> Result<Totals> {
        if self.is_live {
            self.site.flush(0)?;
        } else {
            self.site.finish()?;
        }
        let Site { views, consumer: Printing { mut reports, .. }, .. } = self.site;
        let SiteView { track, detector, .. } = &views[0];
        reports.output.finish()?;
        let FilterCounts { unmatched, without_port, .. } = track.filter.counts;
        Ok(Totals {
            // This number also includes contacts without a port.
            unmeasured: unmatched - without_port,
            without_port,
            too_late: track.clock().too_late(),
            future: track.clock().future(),
            recorder_bytes: detector.memory_bytes(),
            device: detector.device(),
            wall: self.started.elapsed(),
            ..reports.totals
        })
    }
}

impl EventConsumer for Run {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        let is_v4 = |contact: &Contact| {
            contact.source.as_v4().is_some() && contact.destination.as_v4().is_some()
        };
        for contact in contacts {
            if self.site.consumer.reports.paper && !is_v4(contact) {
                self.site.consumer.reports.totals.refused += 1;
            } else {
                self.site.ingest(contact)?;
            }
        }
        Ok(())
    }

    fn advance(&mut self, now_ns: u64, _: &Input) -> Result<()> {
        self.site.advance(now_ns)
    }

    fn log(&self, line: LogLine) {
        print_line(format_args!("{line}"));
    }
}

impl SliceConsumer for Printing {
    fn rules(&self, _: usize) -> &Rules {
        &self.rules
    }

    fn accept(&mut self, _: usize, pairs: u64, _: u64, _: u64) -> bool {
        self.reports.totals.pairs += pairs;
        true
    }

    fn record(&mut self, _: usize, slice: u64, contact: &Contact) {
        self.reports.sampling.add(slice, contact);
    }

    fn close(&mut self, view: &mut RunningView<'_>, _: Pushed, _: bool) -> Result<()> {
        let report = view.detector.close_slice()?;
        self.close_quiet(view, report)
    }

    fn close_quiet(&mut self, _: &mut RunningView<'_>, report: SliceReport) -> Result<()> {
        self.is_silent = report.is_silent();
        self.reports.add(&report)
    }

    /// Cuts a silence short once the window is empty.
    fn next_slice(&self, _: usize, closed: u64, slice: u64) -> u64 {
        if self.is_silent { slice } else { closed + 1 }
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
