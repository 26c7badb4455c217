//! Alerts of all views, and their notifications.
//!
//! Invariant: this module does not depend on the source of closed slices.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use srlg_input::contact::{ContactFilter, Name, Side, ViewOptions};

use crate::exporters::ExporterNames;
use crate::manager::names::Names;
use crate::manager::view::{ViewConfig, counts_opposite, is_of_addresses};
use crate::manager::view_alerts::ViewAlerts;
use crate::manager::worms::Worms;
use crate::notification::{Context, Direction, LargestHost, Notification, OppositeCounts, Unit};
use crate::open::OpenAlert;
use crate::series::OwnedPoint;
use crate::silences::Silences;
use crate::status::overview::ViewOverview;
use crate::usual::{HourSeries, HourStore};
use crate::{Alert, AlertId, Status, Why};

pub mod acting;
pub mod names;
mod points;
pub mod view;
pub mod view_alerts;
mod worms;

/// Time after which a busy host has an incident of its own, although another one of the host was active before, in
/// milliseconds.
const ALONE_MS: u64 = 60_000;

/// An active alert that is no incident.
struct Hidden {
    last: Notification,
    /// Time since which no other incident of the host has been active.
    alone_since_ms: Option<u64>,
}

/// The alerts of all views.
pub struct AlertManager {
    /// Options of the views, in the order of the configuration.
    views: Vec<ViewOptions>,
    /// Alerts of each view, in the order of `views`.
    pub by_view: Vec<ViewAlerts>,
    names: Names,
    /// Public URL of the web page.
    url: Option<String>,
    /// Last notification of each active alert that is an incident.
    open: BTreeMap<AlertId, Arc<Notification>>,
    /// Views and hosts of the alerts in `open`.
    open_hosts: BTreeSet<(String, Name)>,
    /// Incidents of alerts whose incident is not the first one.
    incidents: BTreeMap<AlertId, AlertId>,
    /// Active alerts that are no incidents, because their hosts are only busy.
    hidden: BTreeMap<AlertId, Hidden>,
    /// Whether the contacts are old, so that sentences state their time.
    is_replay: bool,
    slice_ms: u64,
    /// Points of incidents that wait until they are stored.
    points: Vec<OwnedPoint>,
    pub silences: Silences,
}

impl AlertManager {
    /// Creates an alert manager without alerts for `views`, whose slices have the length `slice`. `url` is the public
    /// URL of the web page.
    #[must_use]
    pub fn new(views: &[ViewConfig], slice: Duration, names: Names, url: Option<String>) -> Self {
        let slice_ms = slice.as_millis() as u64;
        let views = views.iter();
        let view_alerts = |view: &ViewConfig| {
            ViewAlerts::new(&view.name, view.sizes.window, view.rules.clone(), slice_ms)
        };
        Self {
            by_view: views.clone().map(view_alerts).collect(),
            views: views.map(|view| view.view.clone()).collect(),
            names,
            url,
            open: BTreeMap::new(),
            open_hosts: BTreeSet::new(),
            incidents: BTreeMap::new(),
            hidden: BTreeMap::new(),
            is_replay: false,
            slice_ms,
            points: Vec::new(),
            silences: Silences::default(),
        }
    }

    /// Returns the manager for old contacts. The sentences of its notifications end with the time of the slice, because
    /// the time at which they are logged or sent says nothing about the contacts.
    #[must_use]
    pub fn of_replay(self) -> Self {
        Self { is_replay: true, ..self }
    }

    /// Reads from `store` what is usual for hosts, and stores their largest counts in it. Returns the series of all
    /// views.
    pub fn keep_hours_in(&mut self, store: &Arc<dyn HourStore>) -> Vec<HourSeries> {
        let views = self.by_view.iter_mut().zip(&self.views);
        let series = views.flat_map(|(it, view)| it.keep_hours_in(Arc::clone(store), view.clone()));
        series.collect()
    }

    /// Applies the rules of `views`, and `names`.
    pub fn reload(&mut self, views: &[ViewConfig], names: Names) {
        for view_alerts in &mut self.by_view {
            if let Some(next) = views.iter().find(|next| next.name == view_alerts.name) {
                view_alerts.set_rules(next.rules.clone());
            }
        }
        self.names = names;
    }

    pub const fn exporters(&self) -> &ExporterNames {
        &self.names.exporters
    }

    /// Returns the end of the last processed slice, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.by_view.iter().map(ViewAlerts::now_ms).max().unwrap_or(0)
    }

    /// Returns the notifications since the last call. `peers` takes a view index, a list of hosts and a window length
    /// in slices. It returns each host's number of peers.
    pub fn notifications(
        &mut self,
        mut peers: impl FnMut(usize, &[IpAddr], u32) -> Result<Vec<f64>>,
    ) -> Result<Vec<Notification>> {
        let mut notifications = Vec::new();
        let silenced = self.open.values().filter(|notification| notification.silence.is_some());
        let silenced: BTreeSet<AlertId> = silenced.map(|notification| notification.id).collect();
        let has_inside = |view: &str| {
            let views = self.by_view.iter().zip(&self.views);
            views.into_iter().any(|(it, options)| it.name == view && !options.inside.is_empty())
        };
        let inside = self.open.values().filter(|it| has_inside(&it.view));
        let mut worms = Worms::of(inside.map(Arc::as_ref));
        for at in 0..self.by_view.len() {
            let mut changes = self.by_view[at].changes();
            for opposite in self.opposites(at) {
                let now_ms = self.by_view[opposite].now_ms();
                for (alert, context) in &mut changes {
                    context.is_stale = alert.status == Status::Update && alert.now_ms < now_ms;
                }
                let only = self.views[opposite].only;
                count_peers(
                    &mut changes,
                    |counts| match only {
                        ContactFilter::Replies => &mut counts.replies,
                        _ => &mut counts.others,
                    },
                    |hosts, slices| peers(opposite, hosts, slices),
                )?;
            }
            if self.opposites(at).next().is_some() {
                count_peers(
                    &mut changes,
                    |counts| &mut counts.own,
                    |hosts, slices| peers(at, hosts, slices),
                )?;
            }
            for change in changes {
                let (host, severity, id) = (change.0.host, change.0.severity, change.0.id);
                let notification = self.notification(at, change);
                let is_busy = notification.kind.is_benign() || notification.is_unusual;
                self.by_view[at].set_busy(host, is_busy);
                let mut least = notification.severity;
                for mut notification in self.incidents_of(at, id, notification) {
                    let is_end = notification.status == Status::End;
                    if !is_end && !self.views[at].inside.is_empty() {
                        let last = self.open.get(&notification.id);
                        worms.join(&mut notification, last.map(Arc::as_ref));
                        least = least.min(notification.severity);
                    }
                    if let Some(notification) = self.unless_quiet(notification) {
                        self.remember(&notification);
                        notifications.push(notification);
                    }
                }
                if least < severity {
                    // The next slice may show that the host is attacked or attacks others.
                    self.by_view[at].defer_severity(host, least);
                }
            }
        }
        self.lead(&worms, &mut notifications);
        // Silences end after alerts do, so that an ended alert is not reported as active again.
        let unsilenced = self.end_silences(&silenced);
        unsilenced.iter().for_each(|notification| self.remember(notification));
        notifications.extend(unsilenced);
        self.collect_points(&notifications);
        Ok(notifications)
    }

    fn notification(&self, at: usize, (mut alert, mut context): (Alert, Context)) -> Notification {
        let alert_id = alert.id;
        alert.id = self.incident_of(alert_id);
        let open = self.open.get(&alert.id).map(Arc::as_ref);
        let last = open.or_else(|| self.hidden.get(&alert_id).map(|hidden| &hidden.last));
        let start_ms = open.map_or(alert.start_ms, |open| open.start_ms);
        // A view knows peaks only since the start of the program, so an earlier notification may contain a larger
        // peak.
        let notified = last.and_then(|last| last.peak_rates).unwrap_or_default();
        context.peak_rates = notified.max(context.peak_rates);
        context.former = last.map(Notification::former);
        context.is_replay = self.is_replay;
        context.direction = Direction::from(self.views[at].role);
        let (view, rules) = (&self.views[at], self.by_view[at].rules());
        context.is_inside = view.measure == Side::Inside;
        context.only = view.only;
        context.is_of_networks = view.prefixes.host4 < 32;
        (context.host_packing, context.peer_packing) = (view.hosts(), view.peers());
        context.label = self.names.labels.get(rules.address(alert.host).into()).cloned();
        for silent in &mut alert.silent {
            let name = silent.exporter().and_then(|exporter| self.names.exporters.name(exporter));
            silent.name = name.map(str::to_owned);
        }
        let mut notification = Notification::new(alert, context);
        notification.be_of(alert_id, start_ms);
        self.names.exporters.name_exporters_of(&mut notification);
        notification.origins =
            self.names.origins.of_peers(&notification.peers, &notification.top_prefixes);
        notification.url = self.url.as_deref().map(|url| incident_url(url, notification.id));
        // Sinks know the alert by this host, even if the prefix length of the view has changed since the start.
        if let Some(last) = last {
            notification.host = last.host;
        }
        notification.network_alert = self.network_alert(at, &notification);
        notification.largest_hosts = match (last, notification.status) {
            (Some(last), Status::End) => last.largest_hosts.clone(),
            _ => self.largest_hosts(at, &notification),
        };
        notification.acknowledged = last.and_then(|last| last.acknowledged.clone());
        notification.silence = self.silences.of(&notification).cloned();
        notification
    }

    /// Returns the ID of the incident of the alert `id`.
    fn incident_of(&self, id: AlertId) -> AlertId {
        self.incidents.get(&id).copied().unwrap_or(id)
    }

    /// Returns what `notification` about the alert `id` of view `at` means for incidents. An incident is either an attack
    /// or a busy host, so it ends when the cause changes between these, and another one starts. A busy host has one
    /// incident, although two views count it, and replies that were asked for are none.
    fn incidents_of(
        &mut self,
        at: usize,
        id: AlertId,
        notification: Notification,
    ) -> Vec<Notification> {
        let open = self.open.get(&notification.id);
        let end = match (open, notification.status) {
            (Some(open), Status::Update)
                if open.kind.is_benign() != notification.kind.is_benign() =>
            {
                Some(open.end_by_cause(notification.now_ms))
            }
            (Some(_), _) => return vec![notification],
            (None, Status::End) => {
                self.hidden.remove(&id);
                return Vec::new();
            }
            (None, _) => None,
        };
        end.iter().for_each(|end| self.remember(end));
        let start = self.start_of_incident(at, id, notification);
        end.into_iter().chain(start).collect()
    }

    /// Returns the start of an incident of the alert `id`, or `None` if there is none.
    fn start_of_incident(
        &mut self,
        at: usize,
        id: AlertId,
        notification: Notification,
    ) -> Option<Notification> {
        if notification.kind.is_benign() && self.is_hidden(at, id, &notification) {
            let alone_since_ms = self.hidden.get(&id).and_then(|hidden| hidden.alone_since_ms);
            self.hidden.insert(id, Hidden { last: notification, alone_since_ms });
            return None;
        }
        let was_hidden = self.hidden.remove(&id).is_some();
        if notification.status == Status::Start && !was_hidden {
            return Some(notification);
        }
        let now_ms = notification.now_ms;
        let mut start = Notification {
            id: AlertId::of(&[&id.to_string()], now_ms),
            status: Status::Start,
            why: Why::Threshold,
            kind_at_start: notification.kind,
            acknowledged: None,
            ..notification
        };
        start.be_of(id, now_ms);
        Some(start)
    }

    /// Returns whether the busy host of `notification`, which belongs to the alert `id` of view `at`, needs no incident.
    fn is_hidden(&mut self, at: usize, id: AlertId, notification: &Notification) -> bool {
        let has_other =
            self.views[at].only == ContactFilter::Replies || self.is_twin(at, notification);
        let Some(hidden) = self.hidden.get_mut(&id) else { return has_other };
        if has_other {
            hidden.alone_since_ms = None;
            return true;
        }
        let since_ms = *hidden.alone_since_ms.get_or_insert(notification.now_ms);
        notification.now_ms.saturating_sub(since_ms) < ALONE_MS
    }

    /// Returns whether the host of `notification`, which belongs to view `at`, has an incident in the opposite
    /// direction.
    fn is_twin(&self, at: usize, notification: &Notification) -> bool {
        self.opposites(at).any(|opposite| {
            let view = self.by_view[opposite].name.clone();
            self.open_hosts.contains(&(view, notification.host))
        })
    }

    /// Returns the notification to store and send, if there is one. A host that stays busy and a host of a worm that has
    /// a leader cause none, unless their peer count doubles or a silent source sends again. Details that confirm the cause
    /// cause none, either.
    fn unless_quiet(&self, notification: Notification) -> Option<Notification> {
        let cause = |it: &Notification| (it.kind, it.protocol.clone());
        let is_confirmed = |last: &Arc<Notification>| cause(last) == cause(&notification);
        if notification.why == Why::Cause
            && self.open.get(&notification.id).is_some_and(is_confirmed)
        {
            return None;
        }
        let is_calm = |it: &Notification| it.kind.is_benign() || it.leader.is_some();
        let last = self.open.get(&notification.id).filter(|last| is_calm(last));
        let is_quiet = matches!(notification.why, Why::Repeat | Why::Severity)
            && notification.status == Status::Update
            && is_calm(&notification);
        let Some(last) = last.filter(|_| is_quiet) else { return Some(notification) };
        let is_same_window = notification.main.window_ms == last.main.window_ms;
        let why = if notification.silent.is_empty() && !last.silent.is_empty() {
            Why::Resumed
        } else if is_same_window && notification.main.cardinality >= 2.0 * last.main.cardinality {
            Why::Peak
        } else {
            return None;
        };
        Some(Notification { why, ..notification })
    }

    /// Records `notification` as the last notification of its alert, or removes the alert if `notification` is its end.
    fn remember(&mut self, notification: &Notification) {
        let host = (notification.view.clone(), notification.host);
        match notification.status {
            Status::End => {
                self.open.remove(&notification.id);
                self.open_hosts.remove(&host);
                self.incidents.remove(&notification.alert_id());
            }
            _ => {
                if let Some(alert) = notification.alert {
                    self.incidents.insert(alert, notification.id);
                }
                self.open.insert(notification.id, Arc::new(notification.clone()));
                self.open_hosts.insert(host);
            }
        }
    }

    /// Restores the active alerts from `notifications`, which are their last notifications before the program stopped.
    /// If a view was removed or now counts other hosts or peers, its alerts end, and the notifications of their ends
    /// are returned.
    pub fn reopen(&mut self, notifications: Vec<Notification>) -> Vec<Notification> {
        let is_known = |notification: &Notification| {
            self.by_view.iter().any(|view_alerts| {
                view_alerts.name == notification.view && view_alerts.is_restored()
            })
        };
        let (known, gone): (Vec<_>, Vec<_>) = notifications.into_iter().partition(is_known);
        known.iter().for_each(|notification| self.remember(notification));
        gone.into_iter().map(Notification::end_without_view).collect()
    }

    /// Returns the indices of the views that count the hosts of view `at` in the opposite direction.
    fn opposites(&self, at: usize) -> impl Iterator<Item = usize> + use<'_> {
        let views = self.views.iter().enumerate();
        let opposites = views.filter(move |(_, other)| counts_opposite(&self.views[at], other));
        opposites.map(|(at, _)| at)
    }

    /// Returns the active alert of the network that contains the host of `notification`, which belongs to view `at`.
    fn network_alert(&self, at: usize, notification: &Notification) -> Option<AlertId> {
        let host = notification.host.network()?.addr();
        let networks = (0..self.views.len()).filter(|networks| self.is_part(at, *networks));
        let alerts = networks.filter_map(|networks| self.by_view[networks].alert_of_network(host));
        alerts.map(|id| self.incident_of(id)).find(|id| self.open.contains_key(id))
    }

    /// Returns the largest hosts of the network of `notification`, which belongs to view `at`.
    fn largest_hosts(&self, at: usize, notification: &Notification) -> Vec<LargestHost> {
        let Name::Network(network) = notification.host else { return Vec::new() };
        let hosts = (0..self.views.len()).find(|hosts| self.is_part(*hosts, at));
        hosts.map(|hosts| self.by_view[hosts].largest_in(&network)).unwrap_or_default()
    }

    /// Returns whether the hosts of view `hosts` are parts of the networks that view `networks` counts in the same
    /// direction.
    fn is_part(&self, hosts: usize, networks: usize) -> bool {
        let [hosts, networks] = [hosts, networks].map(|at| &self.views[at]);
        let prefixes = |view: &ViewOptions| (view.prefixes.host4, view.prefixes.host6);
        let (of_hosts, of_networks) = (prefixes(hosts), prefixes(networks));
        is_of_addresses(hosts)
            && is_of_addresses(networks)
            && (hosts.role, hosts.measure) == (networks.role, networks.measure)
            && of_hosts.0 > of_networks.0
            && of_hosts.1 > of_networks.1
    }

    /// Adds units, labels and alert counts to `views`.
    pub fn label(&self, views: &mut [ViewOverview]) {
        for (view, options) in views.iter_mut().zip(&self.views) {
            view.unit = Unit::of(options.peers(), options.role.into());
            for host in &mut view.top {
                let network = host.host.network();
                host.label =
                    network.and_then(|it| self.names.labels.get(it.addr().into())).cloned();
            }
            for notification in
                self.open.values().filter(|notification| notification.view == view.name)
            {
                view.alerts[notification.severity as usize] += 1;
                view.unconfirmed += usize::from(!notification.silent.is_empty());
            }
        }
    }

    /// Returns the active alerts, sorted by descending severity and then by descending number of peers.
    pub fn open_alerts(&self) -> Arc<[OpenAlert]> {
        let alerts = self.open.values().map(|notification| self.open_alert(notification));
        let mut alerts: Vec<OpenAlert> = alerts.collect();
        alerts.sort_by_cached_key(OpenAlert::rank);
        alerts.into()
    }

    fn open_alert(&self, notification: &Arc<Notification>) -> OpenAlert {
        let view_alerts =
            self.by_view.iter().find(|view_alerts| view_alerts.name == notification.view);
        let live = view_alerts.and_then(|view_alerts| view_alerts.live(notification.alert_id()));
        OpenAlert { notification: Arc::clone(notification), live }
    }
}

fn incident_url(url: &str, id: AlertId) -> String {
    format!("{}/incident/{id}", url.trim_end_matches('/'))
}

/// Counts the peers of the hosts of all changed alerts that have not ended, for the number that `of` selects. Hosts whose alerts have the same main window are counted together, so that an attack on thousands of
/// hosts does not delay the next slice.
fn count_peers(
    changes: &mut [(Alert, Context)],
    of: impl Fn(&mut OppositeCounts) -> &mut Option<f64>,
    mut peers: impl FnMut(&[IpAddr], u32) -> Result<Vec<f64>>,
) -> Result<()> {
    // Both directions need the same window: an hour of contacts says nothing about a flood of one minute.
    let mut by_window: BTreeMap<u32, Vec<&mut (Alert, Context)>> = BTreeMap::new();
    let is_asked =
        |(alert, context): &&mut (Alert, Context)| alert.status != Status::End && !context.is_stale;
    for change in changes.iter_mut().filter(is_asked) {
        by_window.entry(change.0.main().slices).or_default().push(change);
    }
    for (slices, changes) in by_window {
        let hosts: Vec<IpAddr> = changes.iter().map(|(alert, _)| alert.host).collect();
        for ((_, context), count) in changes.into_iter().zip(peers(&hosts, slices)?) {
            let of = of(&mut context.opposite);
            *of = Some(of.map_or(count, |other| other.max(count)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_link_to_their_incident_on_the_page() {
        let id = "0123456789abcdef".parse().unwrap();
        for (url, expected) in [
            ("https://srlg.example", "https://srlg.example/incident/0123456789abcdef"),
            ("http://noc.example/srlg/", "http://noc.example/srlg/incident/0123456789abcdef"),
        ] {
            assert_eq!(incident_url(url, id), expected);
        }
    }
}
