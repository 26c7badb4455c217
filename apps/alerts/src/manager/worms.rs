//! Worms: several inside hosts that scan the same port.
//!
//! A worm has one leader, which is the first of its alerts. The notifications of the leader name the other hosts, whose
//! own alerts have the severity `info`, so that people get one incident about a worm and not one about each
//! infected host.

use std::collections::{BTreeSet, HashMap};

use srlg_input::contact::Name;

use crate::manager::AlertManager;
use crate::notification::{Kind, LargestHost, Notification};
use crate::{AlertId, Severity, Status, Why};

/// Maximum number of other hosts that the leader of a worm names.
const NAMED: usize = 8;

/// The scanned ports of all views, and the hosts that scan them.
#[derive(Debug, Default)]
pub(super) struct Worms(HashMap<Target, Hosts>);

/// Name of a view, and a port that its hosts scan.
type Target = (String, String);

/// Active alerts of hosts that scan the same port.
#[derive(Debug)]
struct Hosts {
    alerts: BTreeSet<AlertId>,
    /// Start and ID of the first alert that is neither silenced nor led by another one.
    leader: Option<(u64, AlertId)>,
    /// Highest severity of the alerts that changed in this slice. A host that has a leader changes in each slice.
    severity: Severity,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { alerts: BTreeSet::new(), leader: None, severity: Severity::Info }
    }
}

impl Worms {
    /// Returns the scanned ports of the active alerts `open`.
    pub(super) fn of<'a>(open: impl Iterator<Item = &'a Notification>) -> Self {
        let mut worms = Self::default();
        open.for_each(|notification| worms.add(notification));
        worms
    }

    fn add(&mut self, notification: &Notification) {
        let Some(target) = target(notification) else { return };
        let hosts = self.0.entry(target).or_default();
        hosts.alerts.insert(notification.id);
        if notification.leader.is_none() && notification.silence.is_none() {
            let own = (notification.start_ms, notification.id);
            hosts.leader = Some(hosts.leader.map_or(own, |leader| leader.min(own)));
        }
    }

    /// Makes `notification` part of a worm if other hosts scan the same port. `last` is the last notification of its
    /// alert. An alert that people know about keeps its severity.
    pub(super) fn join(&mut self, notification: &mut Notification, last: Option<&Notification>) {
        let hosts = target(notification).map(|target| self.0.entry(target).or_default());
        let Some(hosts) = hosts else { return };
        hosts.severity = hosts.severity.max(notification.severity);
        if let Some(last) = last.filter(|last| last.kind == Kind::Worm && last.leader.is_none()) {
            // A leader keeps the severity of its worm.
            notification.severity = notification.severity.max(last.severity);
        }
        let others = hosts.alerts.len() - usize::from(hosts.alerts.contains(&notification.id));
        if others > 0 {
            notification.set_worm(others + 1);
        }
        let is_known = last.is_some_and(|last| last.leader.is_none());
        let leader = hosts.leader.map(|(_, id)| id).filter(|id| *id != notification.id);
        if others > 0 && !is_known && leader.is_some() {
            (notification.leader, notification.severity) = (leader, Severity::Info);
        }
        self.add(notification);
    }
}

/// Returns the view and the port that an inside host scans.
fn target(notification: &Notification) -> Option<Target> {
    let Notification { kind, is_inside, status, view, host, .. } = notification;
    let is_scan = matches!(kind, Kind::Scan | Kind::Worm) && *status != Status::End;
    let is_host = matches!(host, Name::Address(_));
    let port = notification.main_port().filter(|_| is_scan && *is_inside && is_host)?;
    Some((view.clone(), port.to_owned()))
}

impl AlertManager {
    /// Makes the leaders of `worms` name the other hosts. A leader has the severity of the most severe host. It is updated
    /// when this severity rises, and when its worm has at least twice as many hosts as its last notification says.
    pub(super) fn lead(&mut self, worms: &Worms, notifications: &mut Vec<Notification>) {
        let mut leaders: Vec<(&Hosts, AlertId)> =
            worms.0.values().filter_map(|hosts| Some((hosts, hosts.leader?.1))).collect();
        leaders.sort_by_key(|(_, leader)| *leader);
        for (hosts, leader) in leaders.into_iter().filter(|(hosts, _)| hosts.alerts.len() > 1) {
            let Some(open) = self.open.get(&leader) else { continue };
            let count = hosts.alerts.len();
            let is_worse = hosts.severity > open.severity;
            let is_new = is_worse || count >= 2 * open.worm_hosts.unwrap_or(1);
            let fresh = notifications.iter_mut().find(|it| it.id == leader);
            let mut notification = match &fresh {
                Some(fresh) => (*fresh).clone(),
                None if is_new => self.open_alert(open).notification_now().into_owned().spread(),
                None => continue,
            };
            notification.set_worm(count);
            notification.severity = notification.severity.max(hosts.severity);
            notification.largest_hosts = self.others(hosts, leader);
            self.remember(&notification);
            match fresh {
                Some(fresh) => *fresh = notification,
                None => notifications.push(notification),
            }
        }
    }

    /// Returns the hosts with the most peers, except that of `leader`.
    fn others(&self, hosts: &Hosts, leader: AlertId) -> Vec<LargestHost> {
        let others = hosts.alerts.iter().filter(|id| **id != leader);
        let others = others.filter_map(|id| self.open.get(id));
        let mut others: Vec<LargestHost> = others
            .filter_map(|it| match it.host {
                Name::Address(host) => Some(LargestHost { host, cardinality: it.main.cardinality }),
                _ => None,
            })
            .collect();
        others.sort_by(|one, other| other.cardinality.total_cmp(&one.cardinality));
        others.truncate(NAMED);
        others
    }
}

impl Notification {
    /// Says that `count` hosts scan the same port.
    fn set_worm(&mut self, count: usize) {
        if self.status == Status::Start {
            self.kind_at_start = Kind::Worm;
        }
        (self.kind, self.worm_hosts) = (Kind::Worm, Some(count));
        let facts = self.text.split_once(": ").map_or("", |(_, facts)| facts).to_owned();
        self.text = self.sentence(&facts);
    }

    /// Returns an update that says that the worm has spread.
    fn spread(self) -> Self {
        let facts = format!("{}: more inside hosts scan the same port", self.host);
        self.again(Why::Spread, &facts)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::manager::names::Names;

    /// Returns the start of a scan of tcp/445 by the inside host `number`, which begins `number` ms after 0.
    fn scan(number: u8) -> Notification {
        Notification {
            id: format!("{number:016x}").parse().unwrap(),
            kind: Kind::Scan,
            kind_at_start: Kind::Scan,
            severity: Severity::Major,
            host: Name::Address([10, 0, 0, number].into()),
            start_ms: number.into(),
            top_ports: vec![("tcp/445".to_owned(), 0.9)],
            protocol: None,
            worm_hosts: None,
            leader: None,
            silence: None,
            largest_hosts: Vec::new(),
            text: format!("probably a scan: 10.0.0.{number} contacted 2000 hosts"),
            ..Notification::sample()
        }
    }

    /// Alerts of which a slice starts some and ends others.
    struct Slices(AlertManager);

    impl Slices {
        fn new() -> Self {
            let second = Duration::from_secs(1);
            Self(AlertManager::new(&[], second, Names::default(), None))
        }

        /// Processes a slice with these notifications, and returns what is reported.
        fn close(&mut self, changes: Vec<Notification>) -> Vec<Notification> {
            let Self(manager) = self;
            let mut worms = Worms::of(manager.open.values().map(std::sync::Arc::as_ref));
            let mut notifications = Vec::new();
            for mut notification in changes {
                let id = notification.id;
                worms.join(&mut notification, manager.open.get(&id).map(std::sync::Arc::as_ref));
                if let Some(notification) = manager.unless_quiet(notification) {
                    manager.remember(&notification);
                    notifications.push(notification);
                }
            }
            manager.lead(&worms, &mut notifications);
            notifications
        }
    }

    type Facts = (u64, Status, Why, Kind, Severity, Option<usize>, bool);

    fn facts(notifications: &[Notification]) -> Vec<Facts> {
        let facts = |it: &Notification| {
            let Notification { start_ms, status, why, kind, severity, worm_hosts, leader, .. } = it;
            (*start_ms, *status, *why, *kind, *severity, *worm_hosts, leader.is_some())
        };
        notifications.iter().map(facts).collect()
    }

    fn update(notification: Notification) -> Notification {
        Notification { status: Status::Update, why: Why::Severity, ..notification }
    }

    #[test]
    fn several_scanners_of_a_port_are_one_worm_whose_leader_names_them() {
        use Severity::{Info, Major};
        let mut slices = Slices::new();
        let (start, spread) = ((Status::Start, Why::Threshold), (Status::Update, Why::Spread));
        let lead = |(status, why), kind, hosts| (1, status, why, kind, Major, hosts, false);
        let part =
            |at, hosts| (at, Status::Start, Why::Threshold, Kind::Worm, Info, Some(hosts), true);
        assert_eq!(facts(&slices.close(vec![scan(1)])), [lead(start, Kind::Scan, None)]);
        // The leader is updated each time when the number of hosts has doubled.
        let second = slices.close(vec![scan(2)]);
        assert_eq!(facts(&second), [part(2, 2), lead(spread, Kind::Worm, Some(2))]);
        assert_eq!(second[0].leader, Some(second[1].id));
        assert_eq!(second[1].largest_hosts[0].host.to_string(), "10.0.0.2");
        assert_eq!(facts(&slices.close(vec![scan(3)])), [part(3, 3)]);
        assert_eq!(
            facts(&slices.close(vec![scan(4)])),
            [part(4, 4), lead(spread, Kind::Worm, Some(4))]
        );
        // Hosts that have a leader are not reported again.
        assert_eq!(slices.close(vec![update(scan(2)), update(scan(3))]), []);
        // If the leader ends, the first of the others leads.
        let end = Notification { status: Status::End, why: Why::Below, ..scan(1) };
        slices.close(vec![end]);
        let next = slices.close(vec![update(scan(2)), update(scan(3)), update(scan(4))]);
        let leads = (2, Status::Update, Why::Severity, Kind::Worm, Major, Some(3), false);
        assert_eq!(facts(&next), [leads]);
    }

    #[test]
    fn hosts_that_start_together_are_one_notification_and_parts_of_it() {
        let mut slices = Slices::new();
        let started = slices.close((1..=10).map(scan).collect());
        let leaders: Vec<_> = started.iter().filter(|it| it.leader.is_none()).collect();
        assert_eq!((started.len(), leaders.len()), (10, 1));
        let Notification { status, kind, worm_hosts, kind_at_start, .. } = leaders[0];
        assert_eq!((*status, *kind, *worm_hosts), (Status::Start, Kind::Worm, Some(10)));
        assert_eq!((*kind_at_start, leaders[0].largest_hosts.len()), (Kind::Worm, NAMED));
        insta::assert_snapshot!(leaders[0].text);
    }

    #[test]
    fn other_ports_outside_hosts_and_silenced_leaders_lead_no_one() {
        let other_port = Notification { top_ports: vec![("tcp/22".to_owned(), 0.9)], ..scan(2) };
        let outside = Notification { is_inside: false, ..scan(3) };
        let network = Notification { host: "10.0.0.0/24".parse().unwrap(), ..scan(4) };
        let other_view = Notification { view: "other".to_owned(), ..scan(5) };
        let mut slices = Slices::new();
        let notified = slices.close(vec![scan(1), other_port, outside, network, other_view]);
        assert!(notified.iter().all(|it| it.kind == Kind::Scan && it.leader.is_none()));
        let mut slices = Slices::new();
        slices.close(vec![Notification { silence: Notification::sample().silence, ..scan(1) }]);
        let second = &slices.close(vec![scan(2)])[0];
        assert_eq!((second.leader, second.severity), (None, Severity::Major));
    }
}
