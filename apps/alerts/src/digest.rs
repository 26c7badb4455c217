//! Several notifications in one message for people.
//!
//! A digest contains every user action but, for each alert, only the newest state. Active alerts come first, most severe
//! first, and probable servers come last among them. A digest names only a few alerts and says what several of them
//! have in common, so that people still see the important ones when an attack raises hundreds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};
use srlg_input::contact::Name;

use crate::notification::{Kind, Notification};
use crate::{AlertId, Status, Why};

/// Maximum number of notifications that a digest names.
const NAMED: usize = 20;

/// Number of these that are about alerts that have ended, if there are as many.
const NAMED_OVER: usize = 5;

/// Maximum number of groups of alerts that a digest describes.
const MOST_GROUPS: usize = 5;

/// A summary of notifications.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest<'a> {
    /// Number of alerts.
    alerts: usize,
    /// Notifications about active alerts, most urgent first.
    active: Vec<&'a Notification>,
    /// Notifications about alerts that have ended, most severe first.
    over: Vec<&'a Notification>,
}

impl<'a> Digest<'a> {
    /// Summarizes `notifications`, which are in the order of their numbers.
    pub fn new(notifications: impl IntoIterator<Item = &'a Notification>) -> Self {
        let all: Vec<&Notification> = notifications.into_iter().collect();
        let ids: BTreeSet<AlertId> = all.iter().map(|it| it.id).collect();
        let ended: BTreeSet<AlertId> =
            all.iter().filter(|it| it.status == Status::End).map(|it| it.id).collect();
        // A user's action does not change the state of the alert.
        let last: BTreeMap<AlertId, usize> = (0..all.len())
            .filter(|at| all[*at].remark.is_none())
            .map(|at| (all[at].id, at))
            .collect();
        let shown = all
            .iter()
            .enumerate()
            .filter(|(at, it)| it.remark.is_some() || last.get(&it.id) == Some(at))
            .map(|(_, it)| *it);
        let (mut over, mut active): (Vec<_>, Vec<_>) = shown.partition(|it| ended.contains(&it.id));
        // Among equally severe alerts, new ones come first.
        let is_old = |it: &Notification| !(it.status == Status::Start || it.why == Why::Severity);
        active.sort_by_key(|it| (Reverse(it.severity), is_old(it)));
        over.sort_by_key(|it| Reverse(it.severity));
        Self { alerts: ids.len(), active, over }
    }

    /// Returns the most urgent notification, or `None` if there are no notifications.
    #[must_use]
    pub fn first(&self) -> Option<&'a Notification> {
        self.active.first().or(self.over.first()).copied()
    }

    /// Returns the state, the kind and the host of the most urgent alert, and the number of other alerts.
    #[must_use]
    pub fn subject(&self) -> String {
        let Some(first) = self.first() else { return "nothing".to_owned() };
        let state = match self.active.is_empty() {
            true => "ended".to_owned(),
            false => first.severity.to_string(),
        };
        let more = match self.alerts - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let kind = match first.kind {
            Kind::Unknown => String::new(),
            kind => format!(" {kind}").replace('-', " "),
        };
        format!("{state}{kind}: {}{more}", first.host)
    }

    /// Returns the notifications that the digest names: those about active alerts, and then those about alerts that have
    /// ended.
    #[must_use]
    pub fn named(&self) -> [&[&'a Notification]; 2] {
        let active = self.active.len().min(NAMED - self.over.len().min(NAMED_OVER));
        [&self.active[..active], &self.over[..self.over.len().min(NAMED - active)]]
    }

    /// Returns the number of notifications that the digest does not name.
    #[must_use]
    pub fn unnamed(&self) -> usize {
        (self.active.len() + self.over.len()).saturating_sub(NAMED)
    }

    /// Returns the digest as JSON. Its field `digest` contains the named notifications. No notification has this field.
    #[must_use]
    pub fn json(&self) -> Value {
        let shared = self.shared();
        let named = self.named().concat();
        let mut text = self.subject();
        if !shared.is_empty() {
            text = format!("{text}; {}", shared.join(", "));
        }
        json!({
            "text": text,
            "shared": shared,
            "digest": named,
            "more": self.unnamed(),
        })
    }

    /// Returns a phrase for each group of at least two hosts whose active alerts have the same probable cause and mostly
    /// the same port, such as "10 hosts probably scan tcp/445". The largest groups come first.
    #[must_use]
    pub fn shared(&self) -> Vec<String> {
        let mut groups: HashMap<Group<'_>, BTreeSet<Name>> = HashMap::new();
        for notification in &self.active {
            groups.entry(Group::of(notification)).or_default().insert(notification.host);
        }
        let mut phrases: Vec<(usize, String)> = groups
            .into_iter()
            .filter(|(_, hosts)| hosts.len() > 1)
            .map(|(group, hosts)| (hosts.len(), group.phrase(hosts.len())))
            .collect();
        phrases.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
        phrases.into_iter().take(MOST_GROUPS).map(|(_, phrase)| phrase).collect()
    }
}

/// Facts that several alerts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group<'a> {
    kind: Kind,
    is_network: bool,
    /// Port of at least half of the contacts, if there is one.
    port: Option<&'a str>,
}

impl<'a> Group<'a> {
    fn of(notification: &'a Notification) -> Self {
        let is_network = !matches!(notification.host, Name::Address(_));
        Self { kind: notification.kind, is_network, port: notification.main_port() }
    }

    /// Describes `count` hosts.
    fn phrase(self, count: usize) -> String {
        let hosts = if self.is_network { "networks" } else { "hosts" };
        let on = self.port.map(|port| format!(" on {port}")).unwrap_or_default();
        let target = |others: &str| self.port.unwrap_or(others).to_owned();
        let facts = match self.kind {
            Kind::Scan => format!("probably scan {}", target("other hosts")),
            Kind::PortScan => "take part in probable port scans".to_owned(),
            Kind::ServiceScan => "probably scan services".to_owned(),
            Kind::Worm => format!("probably spread a worm{on}"),
            Kind::Flood | Kind::ServiceFlood => format!("are probably flooded{on}"),
            Kind::Reflection => format!("are probably flooded by reflection{on}"),
            Kind::Server => format!("are probably servers{on}"),
            Kind::Resolver => "are probably resolvers".to_owned(),
            Kind::P2p => "are probably P2P hosts".to_owned(),
            Kind::Unknown => format!("have many peers{on}, cause unknown"),
        };
        format!("{count} {hosts} {facts}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Remark, Severity};

    fn start(at: u16, kind: Kind, severity: Severity, port: Option<&str>) -> Notification {
        let [high, low] = at.to_be_bytes();
        Notification {
            id: format!("{at:016x}").parse().unwrap(),
            status: Status::Start,
            kind,
            severity,
            host: Name::Address([10, 0, high, low].into()),
            top_ports: port.map(|port| (port.to_owned(), 0.6)).into_iter().collect(),
            remark: None,
            syn_only: None,
            ..Notification::sample()
        }
    }

    fn hosts(notifications: &[&Notification]) -> Vec<String> {
        notifications.iter().map(|it| it.host.to_string()).collect()
    }

    #[test]
    fn the_most_severe_of_many_alerts_are_named_and_counted() {
        let scan = |at| start(at, Kind::Scan, Severity::Warning, Some("tcp/445"));
        let mut all: Vec<Notification> = (0..30).map(scan).collect();
        all.push(start(30, Kind::Server, Severity::Info, None));
        all.push(start(31, Kind::Flood, Severity::Major, Some("udp/53")));
        all.push(Notification { status: Status::End, ..scan(3) });
        let severe = start(40, Kind::Flood, Severity::Critical, None);
        let update = Notification { status: Status::Update, why: Why::Repeat, ..all[31].clone() };
        all.insert(0, Notification { id: "00000000000000ee".parse().unwrap(), ..update });
        all.push(Notification { status: Status::End, ..severe });
        let digest = Digest::new(&all);
        assert_eq!(digest.subject(), "major flood: 10.0.0.31 and 33 more");
        let [active, over] = digest.named();
        let places = active.iter().map(|it| it.status).take(3).collect::<Vec<_>>();
        assert_eq!(places, [Status::Start, Status::Update, Status::Start]);
        assert_eq!(hosts(&active[2..4]), ["10.0.0.0", "10.0.0.1"]);
        assert_eq!((active.len(), hosts(over)[0].as_str()), (18, "10.0.0.40"));
        assert_eq!((over.len(), digest.unnamed()), (2, 14));
        assert_eq!(digest.shared(), ["29 hosts probably scan tcp/445"]);
    }

    #[test]
    fn what_several_alerts_have_in_common_is_said_by_kind_and_port() {
        let all: Vec<Notification> = (0..)
            .zip([
                (Kind::Flood, Some("udp/53")),
                (Kind::Flood, Some("udp/53")),
                (Kind::Flood, None),
                (Kind::Scan, None),
                (Kind::Scan, None),
                (Kind::Scan, None),
                (Kind::Unknown, Some("tcp/80")),
                (Kind::Unknown, Some("tcp/80")),
            ])
            .map(|(at, (kind, port))| start(at, kind, Severity::Warning, port))
            .collect();
        insta::assert_snapshot!(Digest::new(&all).shared().join("\n"));
        // One host in two views is one host.
        let twice = Notification { id: "00000000000000ff".parse().unwrap(), ..all[2].clone() };
        assert_eq!(Digest::new([&all[2], &twice]).shared(), [] as [String; 0]);
    }

    #[test]
    fn ended_alerts_and_actions_of_users_are_named_after_active_ones() {
        let first = start(1, Kind::Flood, Severity::Warning, None);
        let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
        let action = Notification {
            status: Status::Update,
            remark: Some(remark),
            text: "acknowledged by ann: ours".to_owned(),
            ..first.clone()
        };
        let other = start(2, Kind::Flood, Severity::Warning, None);
        let end = Notification { status: Status::End, ..other.clone() };
        let all = [other, first, action, end];
        let digest = Digest::new(&all);
        let [active, over] = digest.named();
        assert_eq!(
            (hosts(active), hosts(over)),
            (vec!["10.0.0.1".to_owned(); 2], vec!["10.0.0.2".to_owned()])
        );
        let ended = Digest::new(&all[3..]);
        assert_eq!(ended.subject(), "ended flood: 10.0.0.2");
        assert_eq!(Digest::new([]).first(), None);
    }
}
