//! Alerts on the closed slices of a site's views.
//!
//! Invariant: [`ViewAlerts`] receives the slices in order. It receives every slice, except that the first slices of a
//! long silence are skipped.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use anyhow::{Context as _, Result};
use srlg_host::{SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, SamplingWindow};
use tracing::{info, warn};

use crate::measure::close_budget::CloseBudget;
use crate::measure::completeness::Completeness;
use crate::measure::pipeline::Pushed;
use crate::measure::site::{RunningView, SiteView, SliceConsumer};
use srlg_alerts::details::Details;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::view_alerts::ClosedSlice;
use srlg_alerts::notification::Evidence;
use srlg_alerts::rules::Rules;
use srlg_alerts::witnesses::{AlertedHost, WitnessTable};
use srlg_alerts::{Sightings, Witnesses};

/// A consumer of slices that raises alerts.
pub(crate) struct Alerting {
    pub(crate) manager: AlertManager,
    slice_ms: u64,
    views: Vec<AlertedView>,
    /// Budget of a live input. In a replay, results must not depend on the speed of the machine.
    budget: Option<CloseBudget>,
}

struct AlertedView {
    input: Completeness,
    sampling: SamplingWindow,
    /// Whether the window was empty at the last close.
    is_silent: bool,
}

impl Alerting {
    /// Creates a consumer whose views have the given lengths of their windows, in slices. `budget` is `None` in a
    /// replay.
    pub(crate) fn new(
        manager: AlertManager,
        slice_ms: u64,
        windows: impl Iterator<Item = u32>,
        budget: Option<CloseBudget>,
    ) -> Self {
        let view = |window| AlertedView {
            input: Completeness::new(slice_ms),
            sampling: SamplingWindow::new(window),
            is_silent: false,
        };
        Self { manager, slice_ms, views: windows.map(view).collect(), budget }
    }

    pub(crate) fn sampling(&self, at: usize) -> Vec<(u64, Sampling)> {
        self.views[at].sampling.slices().collect()
    }

    pub(crate) fn restore_sampling(&mut self, at: usize, sampling: Vec<(u64, Sampling)>) {
        let window = &mut self.views[at].sampling;
        sampling.into_iter().for_each(|(slice, sampling)| window.merge(slice, sampling));
    }

    /// Records a data gap that lasts until the first slice of the view opens. A window that includes the gap cannot end
    /// an alert.
    pub(crate) fn miss_contacts(&mut self, at: usize) {
        self.views[at].input.miss_contacts();
    }

    /// Notes that the time after the end of a file is not a data gap.
    pub(crate) fn pass_slice(&mut self, at: usize) {
        self.views[at].input.pass_slice();
    }

    /// Notes that the clock was set forward by `step_ms` to `now_ns`. Contacts are missing up to and including the
    /// slice of `now_ns`.
    pub(crate) fn set_forward(&mut self, step_ms: u64, now_ns: u64) {
        let now_ms = now_ns / 1_000_000;
        let slice = now_ms / self.slice_ms;
        for (view, view_alerts) in self.views.iter_mut().zip(&mut self.manager.by_view) {
            view.input.set_forward(step_ms, now_ms);
            view_alerts.set_forward(step_ms, slice);
        }
    }

    /// Processes the `report` of the running slice of a view.
    fn process(&mut self, view: &mut RunningView<'_>, report: SliceReport, sightings: Sightings) {
        let RunningView { at, details, exporters, pipelines, .. } = view;
        let (of, view_alerts) = (&mut self.views[*at], &mut self.manager.by_view[*at]);
        of.is_silent = report.is_silent();
        let slice = ClosedSlice {
            condition: of.input.close(report.slice),
            sampling: of.sampling.at(report.slice),
            newest_input_ms: of.input.newest_ms(),
            missing_sites: Vec::new(),
            report,
            sightings,
        };
        let end_ms = slice.report.slice.saturating_add(1).saturating_mul(self.slice_ms);
        let rates = |host| details.rates(host, end_ms);
        let evidence = |host, _| Evidence {
            detail: details.of(host),
            rates: rates(host),
            ..Evidence::default()
        };
        view_alerts.close(&slice, evidence, |alerted| witnesses(details, exporters, alerted));
        view_alerts.follow_rates(rates);
        let hosts = view_alerts.hosts_with_alerts(&slice.report);
        details.track_hosts(&hosts, view_alerts.now_ms());
        pipelines.track_hosts(&hosts, view_alerts.now_ms());
        // The details may now have other hosts.
        let now_ms = view_alerts.now_ms();
        view_alerts.follow_rates(|host| details.rates(host, now_ms));
    }
}

impl SliceConsumer for Alerting {
    fn rules(&self, at: usize) -> &Rules {
        self.manager.by_view[at].rules()
    }

    fn start(&mut self, view: &mut RunningView<'_>, slice: u64) -> Result<()> {
        let running = view.detector.slice();
        view.detector.skip_to(slice).with_context(|| {
            format!("cannot continue: the state has reached slice {running}, but the input is at slice {slice}; use another --state for this input")
        })?;
        self.manager.by_view[view.at].skip_to(slice);
        self.views[view.at].input.start(slice);
        Ok(())
    }

    fn record(&mut self, at: usize, slice: u64, contact: &Contact) {
        let of = &mut self.views[at];
        of.input.record(contact.time_ns / 1_000_000);
        of.sampling.add(slice, contact);
    }

    fn record_read(
        &mut self,
        views: &[SiteView],
        newest_ms: u64,
        sampling: &BTreeMap<u64, Sampling>,
    ) {
        for (of, SiteView { detector, .. }) in self.views.iter_mut().zip(views) {
            let first = (detector.slice() + 1).saturating_sub(detector.params().window().into());
            // Contacts of slices before `first` are too late and count nowhere. Their sampling would accumulate until
            // the next close.
            if newest_ms / self.slice_ms >= first {
                of.input.record(newest_ms);
            }
            for (slice, sampling) in sampling.range(first..) {
                of.sampling.merge(*slice, *sampling);
            }
        }
    }

    fn close(&mut self, view: &mut RunningView<'_>, _: Pushed, _: bool) -> Result<()> {
        let RunningView { at, detector, .. } = view;
        let view_alerts = &mut self.manager.by_view[*at];
        if let Some(budget) = &self.budget {
            budget.apply(detector);
        }
        let former = detector.share();
        let mut closing = detector.begin_close()?;
        let sightings = view_alerts.sightings(&mut closing)?;
        let report = closing.end()?;
        let (share, slice) = (detector.share(), report.slice + 1);
        match share.cmp(&former) {
            Ordering::Equal => {}
            Ordering::Greater => warn!(
                "view {}: there are too many pairs for the memory: from slice {slice}, one pair in {share} is counted, and errors are larger; to count more pairs, set a higher `memory`",
                view_alerts.name
            ),
            Ordering::Less => info!(
                "view {}: there are fewer pairs again: from slice {slice}, one pair in {share} is counted",
                view_alerts.name
            ),
        }
        if let Some(budget) = &mut self.budget {
            budget.record(*at, &view_alerts.name, detector, &report);
        }
        self.process(view, report, sightings);
        Ok(())
    }

    fn close_quiet(&mut self, view: &mut RunningView<'_>, report: SliceReport) -> Result<()> {
        let windows = self.manager.by_view[view.at].rules().windows().into_iter();
        let sightings = windows.map(|window| (window, Vec::new())).collect();
        self.process(view, report, sightings);
        Ok(())
    }

    /// Cuts a silence short once the window is empty.
    fn next_slice(&self, at: usize, closed: u64, slice: u64) -> u64 {
        if self.views[at].is_silent { slice } else { closed + 1 }
    }

    fn skip(&mut self, view: &mut RunningView<'_>, skipped: Range<u64>) {
        let RunningView { at, details, exporters, .. } = view;
        let (of, view_alerts) = (&mut self.views[*at], &mut self.manager.by_view[*at]);
        let witnesses = |alerted| witnesses(details, exporters, alerted);
        let condition = |slice| of.input.condition(slice);
        view_alerts.be_silent_until(skipped.end, of.input.newest_ms(), condition, witnesses);
        let now_ms = view_alerts.now_ms();
        view_alerts.follow_rates(|host| details.rates(host, now_ms));
        of.input.close(skipped.end - 1);
    }
}

fn witnesses(details: &Details, exporters: &WitnessTable, alerted: AlertedHost) -> Witnesses {
    exporters.witnesses(details.exporters(alerted.host), alerted)
}

/// Returns the peer count of each host in `hosts` within the last `slices` closed slices of `detector`, or within its
/// window if that is shorter.
pub(crate) fn peers_within(
    detector: &mut SlidingDetector,
    hosts: &[IpAddr],
    slices: u32,
) -> Result<Vec<f64>> {
    // The running slice counts as one more slice of the window.
    let window = detector.params().window().min(slices.saturating_add(1));
    let estimates = detector.cardinalities_within(hosts, window)?;
    Ok(estimates.iter().map(|estimate| estimate.cardinality).collect())
}
