//! Alerts of all hosts and networks of one view.
//!
//! [`Tracker::close`] first processes every host of a slice, and then each network whose hosts share one alert.
//!
//! Invariants: each alert starts once and ends once, even if hosts, groups and rules change while it is active. Other
//! hosts never end the alert of a host. At most [`Tracker::MOST_HOSTS`] hosts are tracked.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use srlg_input::contact::Packing;

use crate::alert::{Alert, AlertId, Joint, Severity, Status, Subject, Why, WindowCount};
use crate::group::{Group, NAMED, Silence, Starts, network};
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
    /// Whether the input is lost: no contact arrived for a minute, or no site with data delivered the whole slice. Without input,
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
    starts: Starts,
    groups: BTreeMap<IpNet, Group>,
    #[serde(skip)]
    left_out: usize,
    /// Largest near misses of hosts that are no longer tracked and have had no alert since.
    #[serde(skip)]
    near_misses: NearMisses,
    #[serde(skip)]
    live: BTreeMap<AlertId, LiveCount>,
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
        let (hosts, starts, groups) = (BTreeMap::new(), Starts::default(), BTreeMap::new());
        let (packing, near_misses) = (Packing::default(), NearMisses::default());
        let (left_out, live) = (0, BTreeMap::new());
        Self { view: view.into(), packing, hosts, starts, groups, left_out, near_misses, live }
    }

    /// Returns the tracker with the packing of its view's hosts.
    #[must_use]
    pub fn with_packing(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    fn network(&self, host: IpAddr) -> IpNet {
        network(self.packing.address(host.into()).map_or(host, IpAddr::from))
    }

    /// Returns the number of active alerts. The alert of a network counts as one.
    #[must_use]
    pub fn active(&self) -> usize {
        let hosts =
            self.hosts.iter().filter(|(host, it)| it.active.is_some() && !self.is_grouped(**host));
        hosts.count() + self.groups.len()
    }

    /// Returns whether `host` has an active alert of its own or belongs to the active alert of its network.
    #[must_use]
    pub fn is_active(&self, host: IpAddr) -> bool {
        self.hosts.get(&host).is_some_and(|it| it.active.is_some())
    }

    /// Returns the hosts that have recently passed their threshold or have an active alert.
    pub fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        self.hosts.keys().copied()
    }

    pub(crate) fn live_alerts(&self) -> impl Iterator<Item = (AlertId, &LiveCount)> {
        self.live.iter().map(|(id, live)| (*id, live))
    }

    /// Returns the counts of the active alert `id` after the last slice.
    #[must_use]
    pub fn live(&self, id: AlertId) -> Option<&LiveCount> {
        self.live.get(&id)
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
        self.starts.forget_before(now_ms);
        let new = if is_input_lost { Vec::new() } else { self.new_hosts(&slice, &rule) };
        let hosts: BTreeSet<IpAddr> = new.into_iter().chain(self.hosts.keys().copied()).collect();
        let mut started = BTreeSet::new();
        for host in hosts {
            let active = self.hosts.get(&host).and_then(|state| state.active.as_ref());
            let witnesses = active.map(|active| witnesses(host, active.start_ms));
            let witnesses = &witnesses.unwrap_or_default();
            let trust = SliceTrust { is_input_lost, whole_slices, witnesses };
            if self.step(host, rule(host), &mut slice, trust) {
                started.insert(host);
            }
        }
        self.group(&started, &rule, &mut slice);
        self.step_groups(&rule, &mut slice);
        self.follow(&slice);
        slice.alerts
    }

    fn follow(&mut self, slice: &Slice) {
        let mut former = std::mem::take(&mut self.live);
        let mut take = |id, hosts, windows, members| {
            let mut live: LiveCount = former.remove(&id).unwrap_or_default();
            live.add(hosts, windows);
            live.members = members;
            (id, live)
        };
        let hosts = self.hosts.iter().filter(|(host, _)| !self.is_grouped(**host));
        let hosts = hosts.filter_map(|(host, state)| Some((host, state, state.active.as_ref()?)));
        let mut live: BTreeMap<_, _> = hosts
            .map(|(host, state, active)| {
                let id = self.id(&active.rule, &host.to_string(), active.start_ms);
                take(id, 1, state.counts(|window| slice.of(window, *host)), vec![*host])
            })
            .collect();
        live.extend(self.groups.iter().map(|(network, group)| {
            let id = self.id(&group.rule, &network.to_string(), group.start_ms);
            let members = largest_members(group, slice).into_iter().map(|(host, _)| host);
            take(id, group.members.len() as u32, group.counts(), members.collect())
        }));
        self.live = live;
    }

    fn id(&self, rule: &str, subject: &str, start_ms: u64) -> AlertId {
        AlertId::of(&[&self.view, rule, subject], start_ms)
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
        self.groups.values_mut().for_each(|group| group.set_forward(step_ms));
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

    /// Processes the slice for one host. Returns whether the host's alert starts, but does not report the start.
    fn step(
        &mut self,
        host: IpAddr,
        rule: Option<&Rule>,
        slice: &mut Slice,
        trust: SliceTrust<'_>,
    ) -> bool {
        let now_ms = slice.now_ms;
        let Some(rule) = rule else {
            self.end(host, now_ms, Why::Rule, slice);
            return false;
        };
        let is_individual = !self.is_grouped(host);
        let state = self.hosts.entry(host).or_default();
        match state.step(rule, |window| slice.of(window, host), now_ms, trust) {
            Some(Change::Start) => {
                self.near_misses.forget(self.packing.name(host));
                return true;
            }
            Some(Change::Update(why)) if is_individual => {
                self.push_alert(host, Status::Update, why, slice);
            }
            Some(Change::Update(why)) if state.is_severe() => self.start_alone(host, why, slice),
            Some(Change::End(until_ms, why)) => self.end(host, until_ms, why, slice),
            Some(Change::Update(_)) => {}
            None if state.is_idle() => {
                let near_miss = state.near_miss(self.packing.name(host), rule);
                self.hosts.remove(&host);
                self.near_misses = self.near_misses.with(near_miss);
            }
            None => {}
        }
        false
    }

    /// Ends the host's alert, if it has one, and forgets the host.
    fn end(&mut self, host: IpAddr, until_ms: u64, why: Why, slice: &mut Slice) {
        if self.hosts.get(&host).is_some_and(|host| host.active.is_some()) {
            if !self.is_grouped(host) {
                self.push_end(host, until_ms, why, slice);
            }
            if let Some(group) = self.groups.get_mut(&self.network(host)) {
                group.remove(host, until_ms, why);
            }
        }
        self.hosts.remove(&host);
    }

    /// Reports the start of the alert of `host`, which the alert of its network has covered so far.
    fn start_alone(&mut self, host: IpAddr, why: Why, slice: &mut Slice) {
        if let Some(group) = self.groups.get_mut(&self.network(host)) {
            group.alone.insert(host);
        }
        self.push_alert(host, Status::Start, why, slice);
    }

    /// Reports the alerts that start. If many alerts start in one network, an alert of the network is reported instead.
    /// Severe alerts, and alerts that were reported before, stay alerts of their own.
    fn group<'a>(
        &mut self,
        started: &BTreeSet<IpAddr>,
        rule: &impl Fn(IpAddr) -> Option<&'a Rule>,
        slice: &mut Slice,
    ) {
        let now_ms = slice.now_ms;
        for &host in started {
            let network = self.network(host);
            match self.groups.get_mut(&network) {
                Some(group) => drop(group.members.insert(host)),
                None => self.starts.add(network, now_ms, host),
            }
        }
        let mut pending = BTreeMap::new();
        if !started.is_empty() {
            for (host, _) in self.hosts.iter().filter(|(_, state)| state.is_pending()) {
                *pending.entry(self.network(*host)).or_insert(0) += 1;
            }
        }
        for (network, mut members) in self.starts.crowded(&pending) {
            members.retain(|host| self.hosts.get(host).is_some_and(|it| it.active.is_some()));
            let is_new = !self.groups.contains_key(&network) && !members.is_disjoint(started);
            let Some(first) = members.first().filter(|_| is_new).and_then(|host| rule(*host))
            else {
                continue;
            };
            let mut group = Group::new(&first.name, now_ms, members);
            group.alone = group.members.difference(started).copied().collect();
            let (counts, severity) = self.largest(&group, slice);
            group.step(&counts, severity, Silence::default(), u64::MAX, now_ms);
            let start = self.of_network(network, &group, Status::Start, Why::Threshold, slice);
            slice.alerts.push(start);
            let joined = group.alone.clone();
            self.groups.insert(network, group);
            joined
                .into_iter()
                .for_each(|host| self.push_alert(host, Status::Update, Why::Group, slice));
        }
        for &host in started {
            let is_severe = self.hosts.get(&host).is_some_and(HostState::is_severe);
            if is_severe || !self.is_grouped(host) {
                self.start_alone(host, Why::Threshold, slice);
            }
        }
    }

    /// Reports changes of network alerts. If a group has no members left, its alert ends.
    fn step_groups<'a>(&mut self, rule: &impl Fn(IpAddr) -> Option<&'a Rule>, slice: &mut Slice) {
        let mut groups = std::mem::take(&mut self.groups);
        groups.retain(|network, group| {
            let Some(first) = group.members.first() else {
                group.step(&[], Severity::Warning, Silence::default(), u64::MAX, slice.now_ms);
                let ended = self.of_network(*network, group, Status::End, group.end, slice);
                slice.alerts.push(ended);
                return false;
            };
            let repeat_ms = rule(*first).map_or(u64::MAX, Rule::repeat_ms);
            let (counts, severity) = self.largest(group, slice);
            let silence = self.silence(group);
            if let Some(why) = group.step(&counts, severity, silence, repeat_ms, slice.now_ms) {
                let update = self.of_network(*network, group, Status::Update, why, slice);
                slice.alerts.push(update);
            }
            true
        });
        self.groups = groups;
    }

    /// Returns whether only the alert of its network reports `host`.
    fn is_grouped(&self, host: IpAddr) -> bool {
        self.groups.get(&self.network(host)).is_some_and(|group| group.speaks_for(host))
    }

    /// Returns the alert of the network to which `host` belongs.
    fn joint(&self, host: IpAddr) -> Option<Joint> {
        let network = self.network(host);
        let group = self.groups.get(&network).filter(|group| group.members.contains(&host))?;
        let id = self.id(&group.rule, &network.to_string(), group.start_ms);
        Some(Joint { id, network })
    }

    /// Returns the members' largest peer count within each window, and their highest severity.
    fn largest(&self, group: &Group, slice: &Slice) -> (Vec<WindowCount>, Severity) {
        let mut largest: BTreeMap<u32, WindowCount> = BTreeMap::new();
        let mut severity = Severity::Warning;
        for host in &group.members {
            let Some(state) = self.hosts.get(host) else { continue };
            severity = severity.max(state.active.as_ref().map_or(severity, |it| it.severity));
            for count in state.counts(|window| slice.of(window, *host)) {
                largest.entry(count.slices).or_insert(count).merge(&count);
            }
        }
        (largest.into_values().collect(), severity)
    }

    fn silence(&self, group: &Group) -> Silence {
        let active = |host| self.hosts.get(host)?.active.as_ref();
        let of_members = group.members.iter().filter_map(active).map(|active| &active.silent);
        let mut all = Witnesses::default();
        for of_host in of_members.clone() {
            all.merge(Witnesses { silent: of_host.clone(), ..Witnesses::default() });
        }
        let is_of_all = of_members.clone().all(|silent| !silent.is_empty());
        Silence { sources: all.silent, is_of_all }
    }

    fn push_alert(&self, host: IpAddr, status: Status, why: Why, slice: &mut Slice) {
        let Some(state) = self.hosts.get(&host) else { return };
        let Some(active) = state.active.as_ref() else { return };
        slice.alerts.push(Alert {
            id: self.id(&active.rule, &host.to_string(), active.start_ms),
            status,
            why,
            view: self.view.clone(),
            rule: active.rule.clone(),
            subject: Subject::Host(host),
            group: self.joint(host),
            severity: active.severity,
            start_ms: active.start_ms,
            now_ms: slice.now_ms,
            until_ms: None,
            silent: active.silent.clone(),
            windows: state.counts(|window| slice.of(window, host)),
        });
    }

    fn push_end(&self, host: IpAddr, until_ms: u64, why: Why, slice: &mut Slice) {
        self.push_alert(host, Status::End, why, slice);
        if let Some(alert) = slice.alerts.last_mut() {
            alert.until_ms = Some(until_ms);
        }
    }

    fn of_network(
        &self,
        network: IpNet,
        group: &Group,
        status: Status,
        why: Why,
        slice: &Slice,
    ) -> Alert {
        let windows = group.counts();
        let largest = largest_members(group, slice);
        let hosts = group.members.len() as u32;
        let subject = Subject::Network { network, hosts, largest };
        Alert {
            id: self.id(&group.rule, &network.to_string(), group.start_ms),
            status,
            why,
            view: self.view.clone(),
            rule: group.rule.clone(),
            subject,
            group: None,
            severity: group.severity,
            start_ms: group.start_ms,
            now_ms: slice.now_ms,
            until_ms: (status == Status::End).then_some(group.until_ms),
            silent: group.silent.clone(),
            windows,
        }
    }
}

/// Returns up to [`NAMED`] members of `group` and their peer counts within its main window, the largest count first.
fn largest_members(group: &Group, slice: &Slice) -> Vec<(IpAddr, f64)> {
    let main = group.counts().first().map_or(0, |count| count.slices);
    let counts = group.members.iter().map(|host| (*host, slice.of(main, *host).cardinality));
    let mut largest: Vec<(IpAddr, f64)> = counts.collect();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.truncate(NAMED);
    largest
}
