//! Alerts of all hosts of one view.
//!
//! Invariants: each alert starts once and ends once, even if rules change while it is active. Other hosts never end
//! the alert of a host, and delay it only beyond the limit of hosts. At most [`Tracker::MOST_HOSTS`] hosts are tracked.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use srlg_input::contact::Packing;

use crate::alert::{Alert, AlertId, Severity, Status, Why, WindowCount};
use crate::host::{Change, HostState, SliceTrust};
use crate::live::LiveCount;
use crate::near_miss::{NearMiss, NearMisses};
use crate::rules::Rule;
use crate::sighting::{Sighting, Sightings};
use crate::witnesses::Witnesses;

mod closing;

/// Completeness of a slice's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Whether the input is lost: no contact arrived for a minute, or no site delivered the whole slice. Without input,
    /// no alert starts and no end is confirmed, because missing data does not mean that an attack has ended.
    pub is_input_lost: bool,
    /// Number of slices since the last data gap, including this slice. Counts within longer windows may be too low, so
    /// they do not end these windows.
    pub whole_slices: u32,
}

impl Default for Condition {
    /// Returns the condition of a slice without any data gap.
    fn default() -> Self {
        Self { is_input_lost: false, whole_slices: u32::MAX }
    }
}

/// A tracker of the alerts of one view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tracker {
    view: String,
    /// Packing of the view's hosts.
    #[serde(skip)]
    packing: Packing,
    hosts: BTreeMap<IpAddr, HostState>,
    #[serde(skip)]
    left_out: usize,
    /// Largest near misses of hosts that are no longer tracked and have had no alert since.
    #[serde(skip)]
    near_misses: NearMisses,
    #[serde(skip)]
    live: BTreeMap<AlertId, (IpAddr, LiveCount)>,
}

struct Slice {
    now_ms: u64,
    /// Sightings by the length of the window in slices, and then by host.
    sightings: BTreeMap<u32, BTreeMap<IpAddr, Sighting>>,
    alerts: Vec<Alert>,
}

impl Slice {
    /// If `host` was not reported, its number of peers is 0.
    fn of(&self, window: u32, host: IpAddr) -> Sighting {
        let sighting = self.sightings.get(&window).and_then(|points| points.get(&host));
        sighting.copied().unwrap_or(Sighting::new(host, 0.0, 0.0))
    }
}

impl Tracker {
    /// Maximum number of tracked hosts. The limit is needed because forged addresses and overloaded detectors can
    /// produce any number of hosts.
    pub const MOST_HOSTS: usize = 16_384;

    /// Creates a tracker of `view` without alerts.
    #[must_use]
    pub fn new(view: impl Into<String>) -> Self {
        Self {
            view: view.into(),
            packing: Packing::default(),
            hosts: BTreeMap::new(),
            left_out: 0,
            near_misses: NearMisses::default(),
            live: BTreeMap::new(),
        }
    }

    /// Returns the tracker with the packing of its view's hosts.
    #[must_use]
    pub fn with_packing(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    /// Returns the number of active alerts.
    #[must_use]
    pub fn active(&self) -> usize {
        self.hosts.values().filter(|state| state.active.is_some()).count()
    }

    /// Returns whether `host` has an active alert.
    #[must_use]
    pub fn is_active(&self, host: IpAddr) -> bool {
        self.hosts.get(&host).is_some_and(|it| it.active.is_some())
    }

    /// Returns the ID of the active alert of `host`, if there is one.
    pub(crate) fn alert_of(&self, host: IpAddr) -> Option<AlertId> {
        self.id(host, self.hosts.get(&host)?)
    }

    /// Returns the hosts that have recently passed their threshold or have an active alert.
    pub fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        self.hosts.keys().copied()
    }

    /// Returns the hosts with an active alert, and the IDs of their alerts.
    pub(crate) fn live_alerts(&self) -> impl Iterator<Item = (IpAddr, AlertId)> {
        self.live.iter().map(|(id, (host, _))| (*host, *id))
    }

    /// Returns the counts of the active alert `id` after the last slice.
    #[must_use]
    pub fn live(&self, id: AlertId) -> Option<&LiveCount> {
        self.live.get(&id).map(|(_, live)| live)
    }

    /// Returns the number of hosts that reached their threshold in the last slice but are not tracked, because the
    /// limit of [`MOST_HOSTS`](Self::MOST_HOSTS) has been reached. Hosts with the most peers are tracked first.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns the largest near misses in descending order: hosts that passed their threshold in too few slices for an
    /// alert.
    pub fn near_misses<'a>(&self, rule: impl Fn(IpAddr) -> Option<&'a Rule>) -> Vec<NearMiss> {
        let pending = self.hosts.iter().filter(|(_, state)| state.is_pending());
        let pending = pending
            .filter_map(|(host, state)| state.near_miss(self.packing.name(*host), rule(*host)?));
        self.near_misses.with(pending).into_vec()
    }

    /// Processes the super points of a slice and returns the alerts to report.
    ///
    /// `now_ms` is the end of the slice, in milliseconds since the Unix epoch. `rule` returns the rule of a host.
    /// `witnesses` takes a host and the start of its alert, and returns the sources that saw the host.
    ///
    /// A host without a sighting counts as having no peers. If `condition.is_input_lost` is set, no alert starts.
    /// Low counts cannot end an alert if the input is lost, the alert's window has a data gap or a witness is silent.
    /// If counts stay low for the rule's [`unconfirmed_after_ms`](Rule::unconfirmed_after_ms), the alert ends anyway.
    pub fn close<'a>(
        &mut self,
        now_ms: u64,
        sightings: &Sightings,
        rule: impl Fn(IpAddr) -> Option<&'a Rule>,
        condition: Condition,
        witnesses: impl Fn(IpAddr, u64) -> Witnesses,
    ) -> Vec<Alert> {
        let is_input_lost = condition.is_input_lost;
        let whole_slices = if is_input_lost { 0 } else { condition.whole_slices };
        let by_host = |points: &Vec<Sighting>| {
            points.iter().map(|point| (point.host.to_canonical(), *point)).collect()
        };
        let sightings =
            sightings.iter().map(|(window, points)| (*window, by_host(points))).collect();
        let mut slice = Slice { now_ms, sightings, alerts: Vec::new() };
        let new = if is_input_lost { Vec::new() } else { self.new_hosts(&slice, &rule) };
        let hosts: BTreeSet<IpAddr> = new.into_iter().chain(self.hosts.keys().copied()).collect();
        for host in hosts {
            let active = self.hosts.get(&host).and_then(|state| state.active.as_ref());
            let witnesses = active.map(|active| witnesses(host, active.start_ms));
            let witnesses = &witnesses.unwrap_or_default();
            let trust = SliceTrust { is_input_lost, whole_slices, witnesses };
            self.step(host, rule(host), &mut slice, trust);
        }
        self.follow(&slice);
        slice.alerts
    }

    /// Returns an update of the active alert of `host`, if it has one, with the counts after the last slice, which ended
    /// at `now_ms`.
    pub(crate) fn update(&self, host: IpAddr, why: Why, now_ms: u64) -> Option<Alert> {
        let windows = self.live(self.alert_of(host)?)?.windows.clone();
        self.alert(host, Status::Update, why, now_ms, windows)
    }

    fn follow(&mut self, slice: &Slice) {
        let mut former = std::mem::take(&mut self.live);
        let active = self.hosts.iter().filter_map(|(&host, state)| {
            let id = self.id(host, state)?;
            let mut live = former.remove(&id).map(|(_, live)| live).unwrap_or_default();
            live.add(state.counts(|window| slice.of(window, host)));
            Some((id, (host, live)))
        });
        self.live = active.collect();
    }

    /// Returns the ID of the active alert of `host`, whose state is `state`.
    fn id(&self, host: IpAddr, state: &HostState) -> Option<AlertId> {
        let active = state.active.as_ref()?;
        Some(AlertId::of(&[&self.view, &active.rule, &host.to_string()], active.start_ms))
    }

    pub(crate) fn defer_severity(&mut self, host: IpAddr, severity: Severity) {
        let active = self.hosts.get_mut(&host).and_then(|state| state.active.as_mut());
        if let Some(active) = active {
            active.severity = active.severity.min(severity);
        }
    }

    /// Excludes a forward clock step of `step_ms` from `hold` and `repeat`.
    pub(crate) fn set_forward(&mut self, step_ms: u64) {
        self.hosts.values_mut().for_each(|state| state.set_forward(step_ms));
    }

    /// Returns the hosts that have reached their threshold and are not tracked yet. If not all of them can be tracked,
    /// only the hosts with the most peers are returned.
    fn new_hosts<'a>(
        &mut self,
        slice: &Slice,
        rule: &impl Fn(IpAddr) -> Option<&'a Rule>,
    ) -> Vec<IpAddr> {
        let mut new: BTreeMap<IpAddr, f64> = BTreeMap::new();
        for (window, points) in &slice.sightings {
            let is_new = |(host, sighting): &(&IpAddr, &Sighting)| {
                let terms = rule(**host).and_then(|rule| rule.windows.get(window));
                !self.hosts.contains_key(host) && terms.is_some_and(|terms| sighting.is_hit(terms))
            };
            for (host, sighting) in points.iter().filter(is_new) {
                let most = new.entry(*host).or_insert(0.0);
                *most = most.max(sighting.cardinality);
            }
        }
        let room = Self::MOST_HOSTS.saturating_sub(self.hosts.len());
        self.left_out = new.len().saturating_sub(room);
        let mut new: Vec<(IpAddr, f64)> = new.into_iter().collect();
        if self.left_out > 0 {
            new.sort_by(|a, b| b.1.total_cmp(&a.1));
            new.truncate(room);
        }
        new.into_iter().map(|(host, _)| host).collect()
    }

    /// Processes the slice for one host.
    fn step(
        &mut self,
        host: IpAddr,
        rule: Option<&Rule>,
        slice: &mut Slice,
        trust: SliceTrust<'_>,
    ) {
        let now_ms = slice.now_ms;
        let Some(rule) = rule else {
            return self.end(host, now_ms, Why::Rule, slice);
        };
        let state = self.hosts.entry(host).or_default();
        match state.step(rule, |window| slice.of(window, host), now_ms, trust) {
            Some(Change::Start) => {
                self.near_misses.forget(self.packing.name(host));
                self.push_alert(host, Status::Start, Why::Threshold, slice);
            }
            Some(Change::Update(why)) => self.push_alert(host, Status::Update, why, slice),
            Some(Change::End(until_ms, why)) => self.end(host, until_ms, why, slice),
            None if state.is_idle() => {
                let near_miss = state.near_miss(self.packing.name(host), rule);
                self.hosts.remove(&host);
                self.near_misses = self.near_misses.with(near_miss);
            }
            None => {}
        }
    }

    /// Ends the host's alert, if it has one, and forgets the host.
    fn end(&mut self, host: IpAddr, until_ms: u64, why: Why, slice: &mut Slice) {
        if self.hosts.get(&host).is_some_and(|host| host.active.is_some()) {
            self.push_end(host, until_ms, why, slice);
        }
        self.hosts.remove(&host);
    }

    fn push_alert(&self, host: IpAddr, status: Status, why: Why, slice: &mut Slice) {
        let Some(state) = self.hosts.get(&host) else { return };
        let windows = state.counts(|window| slice.of(window, host));
        slice.alerts.extend(self.alert(host, status, why, slice.now_ms, windows));
    }

    /// Returns a report of the active alert of `host`, if it has one. `windows` are its counts.
    fn alert(
        &self,
        host: IpAddr,
        status: Status,
        why: Why,
        now_ms: u64,
        windows: Vec<WindowCount>,
    ) -> Option<Alert> {
        let state = self.hosts.get(&host)?;
        let active = state.active.as_ref()?;
        Some(Alert {
            id: self.id(host, state)?,
            status,
            why,
            view: self.view.clone(),
            rule: active.rule.clone(),
            host,
            severity: active.severity,
            start_ms: active.start_ms,
            now_ms,
            until_ms: None,
            silent: active.silent.clone(),
            windows,
        })
    }

    fn push_end(&self, host: IpAddr, until_ms: u64, why: Why, slice: &mut Slice) {
        self.push_alert(host, Status::End, why, slice);
        if let Some(alert) = slice.alerts.last_mut() {
            alert.until_ms = Some(until_ms);
        }
    }
}
