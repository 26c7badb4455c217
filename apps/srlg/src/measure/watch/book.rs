//! The rules and alerts of a view, and all that is shown of its closed slices.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::alerts::{Alert, Condition, Sighting, Sightings, Status, Subject, Tracker};
use anyhow::{Context as _, Result};
use srlg_host::SliceReport;
use srlg_host::report::Closing;
use srlg_input::contact::{Contact, Sampling, SamplingWindow};

use super::details::Details;
use super::shown::TopHosts;
use crate::alerts::rules::Rules;
use crate::measure::maxima::Maxima;
use crate::notify::notice::Context;
use crate::show::board::{AllowBoard, ViewBoard};

/// Without any contact for so long the input is lost: silence is no end of an attack.
const LOST_MS: u64 = 60_000;

/// Slices of a silence that are told one by one. Alerts have ended long before.
const MOST_SILENT: u64 = 4_096;

/// Hosts are reported to a tracker from below the count at which alerts end.
pub(crate) const BELOW_DOWN: f64 = 0.9;

pub(crate) struct Book {
    /// Name of the view.
    pub(crate) name: String,
    /// The longest window.
    window: u32,
    tracker: Tracker,
    /// By the length of the window in slices.
    maxima: BTreeMap<u32, Maxima>,
    rules: Rules,
    /// How often each allowance of the rules took something out.
    hits: Vec<u64>,
    slice_ms: u64,
    /// The next slice for the tracker.
    next: u64,
    /// Before this slice counts are too low, as nothing was seen for a while.
    whole_from: u64,
    sampling: SamplingWindow,
    /// When the newest contact was read, whichever it was.
    newest_input_ms: u64,
    /// Whether nothing has come for so long that alerts wait.
    pub(crate) is_input_lost: bool,
    /// Changes of alerts, with what the view knows besides.
    changes: Vec<(Alert, Context)>,
    details: Details,
    shown: TopHosts,
    /// Slices that were closed.
    pub(crate) closed: u64,
    overloads: u64,
}

impl Book {
    pub(super) fn new(name: &str, window: u32, rules: Rules, slice_ms: u64) -> Self {
        Self {
            name: name.to_owned(),
            window,
            tracker: Tracker::new(name),
            maxima: BTreeMap::new(),
            hits: vec![0; rules.allows().len()],
            rules,
            slice_ms,
            next: 0,
            whole_from: 0,
            sampling: SamplingWindow::new(window),
            newest_input_ms: 0,
            is_input_lost: false,
            changes: Vec::new(),
            details: Details::default(),
            shown: TopHosts::default(),
            closed: 0,
            overloads: 0,
        }
    }

    /// Follows `rules` from the next slice on. Alerts whose rule is gone end then.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.hits = rules.hits_after(&self.rules, &self.hits);
        self.rules = rules;
    }

    /// The end of the last slice that the tracker knows, milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        self.next.saturating_mul(self.slice_ms)
    }

    /// Whether the pairs of `contact` count that are there: the one of its source, and the one of its destination.
    #[inline]
    pub(super) fn counts(&mut self, contact: &Contact, are_there: [bool; 2]) -> [bool; 2] {
        self.rules.counts(contact, are_there, &mut self.hits)
    }

    /// Takes note of a contact of `slice`, whether it counts or not.
    #[inline]
    pub(super) fn see(&mut self, slice: u64, contact: &Contact) {
        self.newest_input_ms = self.newest_input_ms.max(contact.time_ns / 1_000_000);
        self.sampling.add(slice, contact);
    }

    #[inline]
    pub(super) fn has_details(&self) -> bool {
        !self.details.is_empty()
    }

    #[inline]
    pub(super) fn detail(&mut self, pair: (IpAddr, IpAddr), contact: &Contact) {
        self.details.take(pair, contact);
    }

    /// Returns the changes of alerts since the last call.
    pub(crate) fn changes(&mut self) -> Vec<(Alert, Context)> {
        std::mem::take(&mut self.changes)
    }

    /// Returns the states of all alerts, as JSON.
    pub(crate) fn state(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(&self.tracker)?)
    }

    /// Takes over a [`state`](Self::state). Counts are too low until a whole window has passed.
    pub(crate) fn restore_state(&mut self, state: &[u8]) -> Result<()> {
        self.tracker = serde_json::from_slice(state)
            .with_context(|| format!("the state of alerts of the view {} is damaged", self.name))?;
        // How long nothing was seen is known when the first slice starts.
        self.whole_from = u64::MAX;
        Ok(())
    }

    /// Returns the largest counts of hosts, by the length of the window in slices.
    pub(crate) fn maxima(&self) -> impl Iterator<Item = (u32, &Maxima)> {
        self.maxima.iter().map(|(window, maxima)| (*window, maxima))
    }

    /// Takes over the largest counts of all windows that rules have; `read` returns them as JSON.
    pub(crate) fn restore_maxima(
        &mut self,
        read: impl Fn(u32) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        for window in self.rules.windows() {
            if let Some(maxima) = read(window)? {
                let maxima = serde_json::from_slice(&maxima).with_context(|| {
                    format!("the largest counts of the view {} are damaged", self.name)
                })?;
                self.maxima.insert(window, maxima);
            }
        }
        Ok(())
    }

    pub(super) fn sampling_slices(&self) -> Vec<(u64, String)> {
        self.sampling.slices().map(|(slice, sampling)| (slice, sampling.to_string())).collect()
    }

    /// Continues at `slice`, before which contacts were sampled so.
    pub(super) fn resume(&mut self, slice: u64, sampling: Vec<(u64, Sampling)>) {
        self.next = slice;
        sampling.into_iter().for_each(|(slice, sampling)| self.sampling.merge(slice, sampling));
    }

    /// The first slice is `slice`.
    pub(super) fn start(&mut self, slice: u64) {
        self.next = slice;
        self.newest_input_ms = self.newest_input_ms.max(slice.saturating_mul(self.slice_ms));
        if self.whole_from == u64::MAX {
            self.whole_from = slice.saturating_add(self.window.into());
        }
    }

    /// Returns the hosts of the slice that is being closed, for the tracker.
    pub(super) fn sightings(&self, closing: &Closing<'_>) -> Result<Sightings> {
        let sightings = |window| {
            let least = self.rules.least(Some(window)) * BELOW_DOWN;
            let points = closing.super_points_within(window, least)?.into_iter();
            Ok((window, points.map(|point| Sighting::from(&point)).collect()))
        };
        self.rules.windows().into_iter().map(sightings).collect()
    }

    pub(super) fn close(&mut self, report: &SliceReport, sightings: &Sightings) {
        self.silence_until(report.slice);
        self.closed += 1;
        let is_overloaded = report.health.finder.overload.is_some();
        self.overloads += u64::from(is_overloaded);
        let alerts = self.track(report.slice, sightings, is_overloaded);
        let now_ms = self.now_ms();
        for (window, points) in sightings {
            let maxima = self.maxima.entry(*window).or_default();
            maxima.pass(now_ms);
            for point in points {
                maxima.take(point.host, point.cardinality, now_ms);
                let least = point.cardinality - point.std_error;
                self.rules.count_host(point.host, *window, least, &mut self.hits);
            }
        }
        let hosts = self.hosts_with_alerts(report);
        self.details.look_at(&hosts, now_ms);
        self.shown.close(report, |host| self.tracker.is_active(host));
        let sampling = self.sampling.at(report.slice);
        for alert in alerts {
            let hosts: Vec<IpAddr> = match &alert.subject {
                Subject::Host(host) => vec![*host],
                Subject::Network { largest, .. } => largest.iter().map(|(host, _)| *host).collect(),
            };
            let mut points = report.super_points.iter();
            let point = points.find(|point| Some(&point.host) == hosts.first());
            let peers = point.into_iter().flat_map(|point| &point.peers);
            let is_end = alert.status == Status::End;
            let context = Context {
                peers: peers.map(|peer| peer.host).collect(),
                detail: if is_end { None } else { self.details.of(&hosts) },
                sampling,
                ..self.context(&alert)
            };
            self.changes.push((alert, context));
        }
    }

    /// Takes a slice to the tracker, and returns the changes of alerts.
    fn track(&mut self, slice: u64, sightings: &Sightings, is_overloaded: bool) -> Vec<Alert> {
        self.next = slice + 1;
        let now_ms = self.now_ms();
        self.is_input_lost = now_ms.saturating_sub(self.newest_input_ms) >= LOST_MS;
        let is_overloaded = is_overloaded || slice < self.whole_from;
        let condition = Condition { is_input_lost: self.is_input_lost, is_overloaded };
        self.tracker.close(now_ms, sightings, |host| self.rules.rule(host), condition)
    }

    fn context(&self, alert: &Alert) -> Context {
        Context {
            slice_ms: self.slice_ms,
            data_age_ms: alert.now_ms.saturating_sub(self.newest_input_ms),
            ..Context::default()
        }
    }

    /// Hosts with an alert, or about to have one; those with the most peers first.
    fn hosts_with_alerts(&self, report: &SliceReport) -> Vec<IpAddr> {
        let mut hosts: Vec<IpAddr> = self.tracker.hosts().collect();
        let points = report.super_points.iter();
        let counts: BTreeMap<IpAddr, f64> =
            points.map(|point| (point.host, point.cardinality)).collect();
        let count = |host: &IpAddr| counts.get(host).copied().unwrap_or(0.0);
        hosts.sort_by(|a, b| count(b).total_cmp(&count(a)));
        hosts
    }

    /// Takes the slices before `slice` that have no report, as nothing was in their window.
    pub(super) fn silence_until(&mut self, slice: u64) {
        self.next = self.next.max(slice.saturating_sub(MOST_SILENT));
        while self.next < slice {
            for alert in self.track(self.next, &Sightings::new(), false) {
                let context = self.context(&alert);
                self.changes.push((alert, context));
            }
            self.shown.silence();
        }
    }

    pub(super) fn board(&self) -> ViewBoard {
        let allows = self.rules.allows().iter().zip(&self.hits);
        ViewBoard {
            name: self.name.clone(),
            window_ms: u64::from(self.window) * self.slice_ms,
            slices: self.closed,
            overloads: self.overloads,
            allows: allows
                .map(|(allow, hits)| AllowBoard { why: allow.why.clone(), hits: *hits })
                .collect(),
            left_out: self.tracker.left_out(),
            ..self.shown.board()
        }
    }
}
