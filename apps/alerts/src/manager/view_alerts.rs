//! Rules, alerts and closed slices of one view.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_host::SliceReport;
use srlg_host::report::Closing;
use srlg_input::ViewOptions;
use srlg_input::contact::{PeerKey, Sampling};
use tracing::warn;

use crate::notification::{Context, Evidence, LargestHost, NotifiedWindow, Rates};
use crate::open::LiveState;
use crate::rules::Rules;
use crate::series::OwnedPoint;
use crate::status::overview::{AllowOverview, ViewOverview};
use crate::status::top_hosts::TopHosts;
use crate::usual::{HOUR_MS, HourSeries, HourStore, UsualCounts};
use crate::witnesses::AlertedHost;
use crate::{
    Alert, AlertId, Condition, NearMiss, Refusal, Severity, Sighting, Sightings, Status, Tracker,
    Why, Witnesses,
};

mod points;

/// Maximum number of slices without input that are processed one by one. Older slices are skipped.
const MOST_SILENT: u64 = 4_096;

/// Maximum number of hosts that the notification of a network lists.
const LARGEST: usize = 8;

/// Minimum count of a reported host, as a fraction of [`Rules::least`].
pub const BELOW_DOWN: f64 = 0.9;

/// A closed slice of a view, counted by one machine or by several probes.
#[derive(Clone, Debug)]
pub struct ClosedSlice {
    /// Super points within the longest window.
    pub report: SliceReport,
    /// Super points within each window of the rules.
    pub sightings: Sightings,
    pub condition: Condition,
    pub sampling: Sampling,
    /// Time of the newest contact, in milliseconds since the Unix epoch. In a collector, this is the end of the last
    /// slice that at least one probe delivered.
    pub newest_input_ms: u64,
    pub missing_sites: Vec<String>,
}

/// The alerts of a view, as stored in the database.
#[derive(Serialize, Deserialize)]
struct ViewAlertsState<T> {
    /// End of the last slice whose changes are in the database.
    until_ms: u64,
    /// Parts of a contact that form the view's hosts and peers.
    #[serde(default)]
    keys: [PeerKey; 2],
    tracker: T,
}

#[derive(Clone, Copy, Debug, Default)]
struct LiveRates {
    now: Rates,
    peak: Rates,
}

/// All alerts of a view.
pub struct ViewAlerts {
    pub name: String,
    /// Length of the longest window, in slices.
    window: u32,
    tracker: Tracker,
    /// Usual counts, by the length of the window in slices.
    usual: BTreeMap<u32, UsualCounts>,
    /// Store of the hours, and what the view counts.
    hours: Option<(Arc<dyn HourStore>, ViewOptions)>,
    /// Hosts whose alerts have been judged, and whether their cause is harmless, unless their counts are unusual.
    busy: BTreeMap<IpAddr, bool>,
    rules: Rules,
    /// Number of hits of each allow-list entry: one for each slice and window in which an ignored host reached its
    /// threshold. Hits on contacts are passed to [`overview`](Self::overview).
    hits: Vec<u64>,
    slice_ms: u64,
    /// Number of the next slice to be processed.
    next: u64,
    /// Whether the input was lost in the last processed slice, so that no alert could start and no end be confirmed.
    pub is_input_lost: bool,
    is_restored: bool,
    rates: BTreeMap<AlertId, LiveRates>,
    changes: Vec<(Alert, Context)>,
    /// Hosts whose cause is not known from details.
    without_details: BTreeSet<IpAddr>,
    shown: TopHosts,
    /// Points of alerts since they were last read, in the order of their times.
    points: Vec<OwnedPoint>,
    /// Sampling of the contacts in the window that ended with the last closed slice.
    sampling: Sampling,
    pub(crate) closed: u64,
    overloads: u64,
}

impl ViewAlerts {
    pub(crate) fn new(name: &str, window: u32, rules: Rules, slice_ms: u64) -> Self {
        Self {
            name: name.to_owned(),
            window,
            tracker: Tracker::new(name).with_packing(rules.packing()),
            usual: BTreeMap::new(),
            hours: None,
            busy: BTreeMap::new(),
            hits: vec![0; rules.allows().len()],
            rules,
            slice_ms,
            next: 0,
            is_input_lost: false,
            is_restored: false,
            rates: BTreeMap::new(),
            changes: Vec::new(),
            without_details: BTreeSet::new(),
            shown: TopHosts::default(),
            points: Vec::new(),
            sampling: Sampling::default(),
            closed: 0,
            overloads: 0,
        }
    }

    /// Replaces the rules, starting with the next slice. Alerts without a rule end in that slice.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.hits = rules.hits_after(&self.rules, &self.hits);
        self.rules = rules;
    }

    /// Returns the end of the last processed slice, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.next.saturating_mul(self.slice_ms)
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the changes of alerts since the last call.
    pub(crate) fn changes(&mut self) -> Vec<(Alert, Context)> {
        std::mem::take(&mut self.changes)
    }

    /// Returns the state of all alerts as JSON.
    pub fn state(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(&ViewAlertsState {
            until_ms: self.now_ms(),
            keys: self.rules.keys(),
            tracker: &self.tracker,
        })?)
    }

    /// Restores a [`state`](Self::state). An empty state changes nothing. If the view's `host` or `peer` has changed
    /// since the state was stored, nothing is restored and false is returned.
    pub fn restore_state(&mut self, state: &[u8]) -> Result<bool> {
        if state.is_empty() {
            return Ok(true);
        }
        let state: ViewAlertsState<Tracker> = serde_json::from_slice(state)
            .with_context(|| format!("cannot restore the alerts of view {}", self.name))?;
        if state.keys != self.rules.keys() {
            warn!("view {}: alerts ended because `host` or `peer` has changed", self.name);
            return Ok(false);
        }
        self.next = state.until_ms / self.slice_ms;
        self.tracker = state.tracker.with_packing(self.rules.packing());
        self.is_restored = true;
        Ok(true)
    }

    pub fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Reads from `store` what is usual for the hosts of `view`, and stores the counts of each hour in it. Returns the
    /// series of all windows.
    pub(crate) fn keep_hours_in(
        &mut self,
        store: Arc<dyn HourStore>,
        view: ViewOptions,
    ) -> Vec<HourSeries> {
        self.usual.clear();
        let window_ms = |window| u64::from(window) * self.slice_ms;
        let windows = self.rules.windows().into_iter();
        let series =
            windows.map(|window| HourSeries::new(&self.name, &view, window_ms(window))).collect();
        self.hours = Some((store, view));
        series
    }

    /// Stores the counts of the running hour.
    pub fn keep_hour(&mut self) -> Result<()> {
        self.usual.values_mut().try_for_each(UsualCounts::keep)
    }

    /// Notes whether the alert of `host` has a harmless cause, unless its count is unusual.
    pub(crate) fn set_busy(&mut self, host: IpAddr, is_busy: bool) {
        self.busy.insert(host, is_busy);
    }

    /// Counts all slices before `slice` as processed.
    pub fn skip_to(&mut self, slice: u64) {
        self.next = slice;
    }

    pub fn be_at_least_at(&mut self, slice: u64) {
        self.next = self.next.max(slice);
    }

    /// Skips to `slice` after the system clock was set forward by `step_ms` to a time in `slice`. The step does not
    /// count towards `hold` and `repeat`.
    pub fn set_forward(&mut self, step_ms: u64, slice: u64) {
        self.be_at_least_at(slice);
        self.tracker.set_forward(step_ms);
    }

    /// Returns the super points of the slice that is being closed, within each window of the rules.
    pub fn sightings(&mut self, closing: &mut Closing<'_>) -> Result<Sightings> {
        self.begin_hour(closing.slice());
        let sightings = |window| {
            let usual = self.usual.get(&window);
            let sighting = |point| {
                let sighting = Sighting::from(point);
                Sighting { usual: usual.and_then(|usual| usual.of(sighting.host)), ..sighting }
            };
            Ok((window, closing.super_points_within(window, 0.0)?.iter().map(sighting).collect()))
        };
        self.rules.windows().into_iter().map(sightings).collect()
    }

    /// Starts the hour of `slice`, unless it is running.
    fn begin_hour(&mut self, slice: u64) {
        let Some((store, view)) = &self.hours else { return };
        let hour = slice.saturating_mul(self.slice_ms) / HOUR_MS;
        let windows = self.rules.windows();
        self.usual.retain(|window, _| windows.contains(window));
        for window in windows {
            let usual = self.usual.entry(window).or_insert_with(|| {
                let window_ms = u64::from(window) * self.slice_ms;
                UsualCounts::new(HourSeries::new(&self.name, view, window_ms), Arc::clone(store))
            });
            usual.begin(hour);
        }
    }

    /// Processes a closed slice. If the slice was already processed before a restart, alerts do not change. `evidence`
    /// is called for each alert that starts or is updated. It takes the host of the alert and the length of the alert's
    /// main window, in slices. `witnesses` returns the sources that saw a host with an alert.
    pub fn close(
        &mut self,
        slice: &ClosedSlice,
        evidence: impl Fn(IpAddr, u32) -> Evidence,
        witnesses: impl Fn(AlertedHost) -> Witnesses,
    ) {
        let ClosedSlice { report, sightings, condition, sampling, newest_input_ms, .. } = slice;
        self.closed += 1;
        let is_overloaded = report.health.finder.overload.is_some();
        self.overloads += u64::from(is_overloaded);
        if report.slice < self.next {
            // This slice was processed before the program was killed, so its changes are already stored.
            return self.update_top(report, condition.is_input_lost);
        }
        self.next = report.slice;
        self.sampling = *sampling;
        // An overloaded detector may miss super points.
        let whole_slices = if is_overloaded { 0 } else { condition.whole_slices };
        let condition = Condition { whole_slices, ..*condition };
        let alerts = self.track(sightings, condition, *newest_input_ms, witnesses);
        self.busy.retain(|host, _| self.tracker.is_active(*host));
        self.learn(report.slice, sightings, condition);
        self.update_top(report, condition.is_input_lost);
        self.without_details.retain(|host| self.tracker.is_active(*host));
        let explained = self.explained(&alerts, &evidence);
        for alert in alerts.into_iter().chain(explained) {
            let point = report.super_points.iter().find(|point| point.host == alert.host);
            let peers = point.into_iter().flat_map(|point| &point.peers);
            let context = Context {
                peers: peers.map(|peer| peer.host).collect(),
                evidence: self.evidence(&alert, &evidence),
                sampling: *sampling,
                missing_sites: slice.missing_sites.clone(),
                ..self.context(&alert, *newest_input_ms)
            };
            self.changes.push((alert, context));
        }
    }

    /// Adds the counts of a slice to those of its hour, except those of hosts that are attacked or attack others, or may
    /// start to.
    fn learn(&mut self, slice: u64, sightings: &Sightings, condition: Condition) {
        self.begin_hour(slice);
        let now_ms = self.now_ms();
        let counted_ms = if condition.is_input_lost { 0 } else { self.slice_ms };
        self.usual.values_mut().for_each(|usual| usual.add_slice(counted_ms));
        for (window, points) in sightings {
            for point in points {
                let least = point.cardinality - point.std_error;
                self.rules.count_host(point.host, *window, least, &mut self.hits);
                let Some(usual) = self.usual.get_mut(window) else { continue };
                let terms = self.rules.rule(point.host).and_then(|rule| rule.windows.get(window));
                let is_active = self.tracker.is_active(point.host);
                match self.busy.get(&point.host).filter(|_| is_active) {
                    Some(false) => usual.forget(point.host, now_ms),
                    Some(true) => usual.add(point.host, point.cardinality),
                    None if is_active || terms.is_some_and(|terms| point.is_hit(terms)) => {}
                    None => usual.add(point.host, point.cardinality),
                }
            }
        }
    }

    /// Returns the evidence about the host of `alert`, and notes whether there are details.
    fn evidence(&mut self, alert: &Alert, of: impl Fn(IpAddr, u32) -> Evidence) -> Evidence {
        let evidence = match alert.status {
            Status::End => Evidence::default(),
            Status::Start | Status::Update => {
                let evidence = of(alert.host, alert.main().slices);
                Evidence { rates: self.known(evidence.rates), ..evidence }
            }
        };
        // A low count says nothing about the cause.
        let is_explained = evidence.detail.is_some() && !is_low(alert);
        if alert.status != Status::End && !is_explained {
            self.without_details.insert(alert.host);
        } else {
            self.without_details.remove(&alert.host);
        }
        evidence
    }

    /// Returns updates of the alerts whose last change came without details, if there are details now. Flow exporters
    /// send the contacts of a minute at once, so the details of an alert can arrive a minute after its start. `alerts`
    /// are the other changes.
    fn explained(
        &self,
        alerts: &[Alert],
        evidence: impl Fn(IpAddr, u32) -> Evidence,
    ) -> Vec<Alert> {
        if self.without_details.is_empty() {
            return Vec::new();
        }
        let changed: BTreeSet<IpAddr> = alerts.iter().map(|alert| alert.host).collect();
        let updates = self
            .without_details
            .difference(&changed)
            .filter_map(|host| self.tracker.update(*host, Why::Cause, self.now_ms()));
        let is_explained = |alert: &Alert| {
            !is_low(alert) && evidence(alert.host, alert.main().slices).detail.is_some()
        };
        updates.filter(is_explained).collect()
    }

    /// Processes the slices before `slice` that have not been processed, but at most the last `MOST_SILENT`.
    /// These slices have no report, because their window was empty. `condition` takes the number of a slice and returns
    /// the completeness of its data.
    pub fn be_silent_until(
        &mut self,
        slice: u64,
        newest_input_ms: u64,
        condition: impl Fn(u64) -> Condition,
        witnesses: impl Fn(AlertedHost) -> Witnesses,
    ) {
        self.next = self.next.max(slice.saturating_sub(MOST_SILENT));
        while self.next < slice {
            let condition = condition(self.next);
            self.learn(self.next, &Sightings::new(), condition);
            for alert in self.track(&Sightings::new(), condition, newest_input_ms, &witnesses) {
                let context = self.context(&alert, newest_input_ms);
                self.changes.push((alert, context));
            }
            self.shown.silence();
            if !condition.is_input_lost {
                self.shown.record(self.now_ms(), self.slice_ms);
            }
        }
    }

    pub(crate) fn close_by_hand(
        &mut self,
        id: AlertId,
        now_ms: u64,
    ) -> Result<(Alert, Context), Refusal> {
        let alert = self.tracker.close_by_hand(id, now_ms)?;
        let peak_rates = self.rates(id).peak;
        let context = Context { slice_ms: self.slice_ms, peak_rates, ..Context::default() };
        Ok((alert, context))
    }

    fn track(
        &mut self,
        sightings: &Sightings,
        condition: Condition,
        newest_input_ms: u64,
        witnesses: impl Fn(AlertedHost) -> Witnesses,
    ) -> Vec<Alert> {
        self.next += 1;
        self.is_input_lost = condition.is_input_lost;
        let window_ms = u64::from(self.window) * self.slice_ms;
        let now_ms = self.now_ms();
        let witnesses = |host, start_ms: u64| {
            let since_ms = start_ms.saturating_sub(window_ms);
            let witnesses = witnesses(AlertedHost { host, start_ms, since_ms, now_ms });
            match condition.is_input_lost && witnesses.silent.is_empty() {
                true => Witnesses::silent("the input", newest_input_ms),
                false => witnesses,
            }
        };
        let rules = &self.rules;
        let rule = |host| rules.rule(host);
        let alerts = self.tracker.close(now_ms, sightings, rule, condition, witnesses);
        self.add_points(&alerts);
        alerts
    }

    fn update_top(&mut self, report: &SliceReport, is_input_lost: bool) {
        let Self { shown, tracker, rules, slice_ms, .. } = self;
        shown.close(report, rules.packing(), |host| tracker.is_active(host));
        if !is_input_lost {
            shown.record(report.slice.saturating_add(1).saturating_mul(*slice_ms), *slice_ms);
        }
    }

    /// Returns the active alert of the network that contains `address`, if this view counts networks.
    pub(crate) fn alert_of_network(&self, address: IpAddr) -> Option<AlertId> {
        let network = self.rules.packing().name(address).network()?.trunc();
        self.tracker.alert_of(network.addr())
    }

    /// Returns the hosts of `network` with the most peers in the last slice, the largest first.
    pub(crate) fn largest_in(&self, network: &IpNet) -> Vec<LargestHost> {
        self.shown.largest_in(network, LARGEST)
    }

    fn context(&self, alert: &Alert, newest_input_ms: u64) -> Context {
        Context {
            slice_ms: self.slice_ms,
            data_age_ms: alert.now_ms.saturating_sub(newest_input_ms),
            peak_rates: self.rates(alert.id).peak,
            ..Context::default()
        }
    }

    /// Updates the rates of active alerts after the slice that ended at [`now_ms`](Self::now_ms). `rates` is called
    /// with the host of each alert. While the input is lost, rates are unknown.
    pub fn follow_rates(&mut self, rates: impl Fn(IpAddr) -> Rates) {
        let former = std::mem::take(&mut self.rates);
        let alerts = self.tracker.live_alerts();
        let followed = alerts.map(|(host, id)| {
            let now = self.known(rates(host));
            let peak = former.get(&id).map_or(now, |former| former.peak.max(now));
            (id, LiveRates { now, peak })
        });
        self.rates = followed.filter(|(_, rates)| rates.peak.is_known()).collect();
        self.add_rates();
    }

    /// Returns `rates`, or unknown rates while the input is lost. A rate of 0 would look like the end of the attack.
    fn known(&self, rates: Rates) -> Rates {
        if self.is_input_lost { Rates::default() } else { rates }
    }

    fn rates(&self, id: AlertId) -> LiveRates {
        self.rates.get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn live(&self, id: AlertId) -> Option<LiveState> {
        let live = self.tracker.live(id)?;
        let (slice_ms, sampling) = (self.slice_ms, self.sampling);
        let context = Context { slice_ms, sampling, ..Context::default() };
        let windows = live.windows.iter().map(|count| NotifiedWindow::new(*count, &context));
        let (windows, line) = (windows.collect(), live.line.clone());
        let LiveRates { now: rates, peak: peak_rates } = self.rates(id);
        Some(LiveState { now_ms: self.now_ms(), windows, line, rates, peak_rates })
    }

    /// Sets the severity that was reported for the alert of `host`. While its counts suggest a higher severity, each
    /// slice yields an update.
    pub(crate) fn defer_severity(&mut self, host: IpAddr, severity: Severity) {
        self.tracker.defer_severity(host, severity);
    }

    pub fn near_misses(&self) -> Vec<NearMiss> {
        self.tracker.near_misses(|host| self.rules.rule(host))
    }

    /// Returns the hosts that have an alert or recently reached their threshold, sorted by descending number of peers.
    pub fn hosts_with_alerts(&self, report: &SliceReport) -> Vec<IpAddr> {
        let mut hosts: Vec<IpAddr> = self.tracker.hosts().collect();
        let points = report.super_points.iter();
        let counts: BTreeMap<IpAddr, f64> =
            points.map(|point| (point.host, point.cardinality)).collect();
        let count = |host: &IpAddr| counts.get(host).copied().unwrap_or(0.0);
        hosts.sort_by(|a, b| count(b).total_cmp(&count(a)));
        hosts
    }

    /// `hits` contains the number of contacts that each allow-list entry matched.
    pub fn overview(&self, hits: &[u64]) -> ViewOverview {
        let contacts = hits.iter().chain(std::iter::repeat(&0));
        let hits = self.hits.iter().zip(contacts).map(|(hosts, contacts)| hosts + contacts);
        let allows = self.rules.allows().iter().zip(hits);
        ViewOverview {
            name: self.name.clone(),
            window_ms: u64::from(self.window) * self.slice_ms,
            slices: self.closed,
            overloads: self.overloads,
            allows: allows
                .map(|(allow, hits)| AllowOverview { why: allow.why.clone(), hits })
                .collect(),
            left_out: self.tracker.left_out(),
            ..self.shown.overview()
        }
    }
}

fn is_low(alert: &Alert) -> bool {
    alert.main().cardinality < alert.main().threshold
}

#[cfg(test)]
mod tests;
