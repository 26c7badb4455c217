//! Alerts on the closed slices of a site's views.
//!
//! Invariant: [`ViewAlerts`] receives the slices in order. It receives every slice, except that the first slices of a
//! long silence are skipped.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use anyhow::{Context as _, Result};
use srlg_host::SlidingDetector;
use srlg_input::contact::{Contact, Sampling, SamplingWindow};

use crate::measure::pipeline::Pushed;
use crate::measure::site::{RunningView, SiteView, SliceConsumer};
use srlg_alerts::details::Details;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::manager::view_alerts::ClosedSlice;
use srlg_alerts::notification::Evidence;
use srlg_alerts::rules::Rules;
use srlg_alerts::witnesses::{AlertedHost, WitnessTable};
use srlg_alerts::{Condition, Witnesses};

/// Time without any contact after which the input counts as lost, so that silence does not end an alert.
pub(crate) const LOST_MS: u64 = 60_000;

/// A consumer of slices that raises alerts.
pub(crate) struct Alerting {
    pub(crate) manager: AlertManager,
    slice_ms: u64,
    views: Vec<Completeness>,
}

/// Completeness of the slices of a view.
struct Completeness {
    slice_ms: u64,
    sampling: SamplingWindow,
    /// Time of the newest contact, in milliseconds since the Unix epoch. If the first slice starts later, its start.
    newest_input_ms: u64,
    /// First slice after the last slice with missing contacts.
    seen_from: u64,
    /// Whether the window was empty at the last close.
    is_silent: bool,
}

impl Alerting {
    /// Creates a consumer whose views have the given lengths of their windows, in slices.
    pub(crate) fn new(
        manager: AlertManager,
        slice_ms: u64,
        windows: impl Iterator<Item = u32>,
    ) -> Self {
        let view = |window| Completeness {
            slice_ms,
            sampling: SamplingWindow::new(window),
            newest_input_ms: 0,
            seen_from: 0,
            is_silent: false,
        };
        Self { manager, slice_ms, views: windows.map(view).collect() }
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
        // The end of the gap is known when the first slice opens.
        self.views[at].seen_from = u64::MAX;
    }

    /// Notes that the time after the end of a file is not a data gap.
    pub(crate) fn pass_slice(&mut self, at: usize) {
        self.views[at].newest_input_ms += self.slice_ms;
    }

    /// Notes that the clock was set forward by `step_ms` to `now_ns`. Contacts are missing up to and including the
    /// slice of `now_ns`.
    pub(crate) fn set_forward(&mut self, step_ms: u64, now_ns: u64) {
        let now_ms = now_ns / 1_000_000;
        let slice = now_ms / self.slice_ms;
        for (view, view_alerts) in self.views.iter_mut().zip(&mut self.manager.by_view) {
            view.seen_from = view.seen_from.max(slice + 1);
            // A pipeline may have counted contacts since the step.
            view.newest_input_ms = (view.newest_input_ms + step_ms).min(now_ms);
            view_alerts.set_forward(step_ms, slice);
        }
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
        let of = &mut self.views[view.at];
        of.newest_input_ms = of.newest_input_ms.max(slice.saturating_mul(self.slice_ms));
        if of.seen_from == u64::MAX {
            // The first slice may have started before its first contact.
            of.seen_from = slice + 1;
        }
        Ok(())
    }

    fn record(&mut self, at: usize, slice: u64, contact: &Contact) {
        let of = &mut self.views[at];
        of.newest_input_ms = of.newest_input_ms.max(contact.time_ns / 1_000_000);
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
                of.newest_input_ms = of.newest_input_ms.max(newest_ms);
            }
            for (slice, sampling) in sampling.range(first..) {
                of.sampling.merge(*slice, *sampling);
            }
        }
    }

    fn close(&mut self, view: &mut RunningView<'_>, _: Pushed, _: bool) -> Result<()> {
        let RunningView { at, detector, details, exporters, pipelines, .. } = view;
        let (of, view_alerts) = (&mut self.views[*at], &mut self.manager.by_view[*at]);
        let mut closing = detector.begin_close()?;
        let sightings = view_alerts.sightings(&mut closing)?;
        let report = closing.end()?;
        let condition = of.condition(report.slice);
        of.record_gap(condition, report.slice);
        of.is_silent = report.is_silent();
        let slice = ClosedSlice {
            condition,
            sampling: of.sampling.at(report.slice),
            newest_input_ms: of.newest_input_ms,
            missing_sites: Vec::new(),
            report,
            sightings,
        };
        let end_ms = slice.report.slice.saturating_add(1).saturating_mul(self.slice_ms);
        let rates = |hosts: &[IpAddr]| details.rates(hosts, end_ms);
        let evidence = |hosts: &[IpAddr], _| Evidence {
            detail: details.of(hosts),
            rates: rates(hosts),
            ..Evidence::default()
        };
        view_alerts.close(&slice, evidence, |alerted| witnesses(details, exporters, alerted));
        view_alerts.follow_rates(rates);
        let hosts = view_alerts.hosts_with_alerts(&slice.report);
        details.track_hosts(&hosts, view_alerts.now_ms());
        pipelines.track_hosts(&hosts, view_alerts.now_ms());
        // The details may now have other hosts.
        let now_ms = view_alerts.now_ms();
        view_alerts.follow_rates(|hosts| details.rates(hosts, now_ms));
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
        let condition = |slice| of.condition(slice);
        view_alerts.be_silent_until(skipped.end, of.newest_input_ms, condition, witnesses);
        let now_ms = view_alerts.now_ms();
        view_alerts.follow_rates(|hosts| details.rates(hosts, now_ms));
        let last = skipped.end - 1;
        of.record_gap(of.condition(last), last);
    }
}

impl Completeness {
    fn condition(&self, slice: u64) -> Condition {
        let end_ms = slice.saturating_add(1).saturating_mul(self.slice_ms);
        Condition {
            is_input_lost: end_ms.saturating_sub(self.newest_input_ms) >= LOST_MS,
            whole_slices: u32::try_from((slice + 1).saturating_sub(self.seen_from))
                .unwrap_or(u32::MAX),
        }
    }

    /// If the input was lost in `slice`, records that contacts of `slice` are missing.
    fn record_gap(&mut self, condition: Condition, slice: u64) {
        if condition.is_input_lost {
            self.seen_from = self.seen_from.max(slice + 1);
        }
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
