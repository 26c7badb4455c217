//! Notifications of users' actions on alerts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;

use crate::AlertId;
use crate::act::{Act, Refusal, Remark, Silencing};
use crate::manager::AlertManager;
use crate::notification::Notification;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub id: AlertId,
    pub act: Act,
    pub by: String,
}

impl AlertManager {
    #[must_use]
    pub fn is_open(&self, id: AlertId) -> bool {
        self.open.contains_key(&id)
    }

    /// Performs `order` at `now_ms` and returns its notification. If the alert is over, `ended` must be its last
    /// notification.
    pub fn act(
        &mut self,
        order: &Order,
        ended: Option<Notification>,
        now_ms: u64,
    ) -> Result<Notification, Refusal> {
        let Order { id, act, by } = order;
        act.check()?;
        let remark = Remark { by: by.clone(), at_ms: now_ms, text: act.text() };
        let open = self.open.get(id).map(|open| Notification {
            duration_ms: now_ms.saturating_sub(open.start_ms),
            ..self.open_alert(open).notification_now().into_owned()
        });
        let is_over = open.is_none();
        let last = open.or(ended).ok_or_else(|| Refusal::Unknown(id.to_string()))?;
        let last = Notification { now_ms, ..last };
        let notification = match act {
            Act::Acknowledge { .. } | Act::Close { .. } if is_over => return Err(Refusal::Over),
            Act::Acknowledge { .. } => Notification {
                acknowledged: Some(remark.clone()),
                ..last.with_remark(act.why(), "acknowledged", remark)
            },
            Act::Comment { .. } => last.with_remark(act.why(), "comment", remark),
            Act::Silence { length, .. } => {
                let until_ms = now_ms.saturating_add(length.as_millis() as u64);
                let silencing = Silencing { remark: remark.clone(), until_ms, id: *id };
                self.silences.add(&last, silencing)?;
                let silence = self.silences.of(&last).cloned();
                let end = UNIX_EPOCH + Duration::from_millis(until_ms);
                let what = format!("silenced until {}", format_rfc3339_seconds(end));
                Notification { silence, ..last.with_remark(act.why(), &what, remark) }
            }
            Act::Unsilence { .. } => {
                self.silences.remove(&last)?;
                Notification {
                    silence: None,
                    ..last.with_remark(act.why(), "silence ended", remark)
                }
            }
            Act::Close { .. } => self.close_by_hand(&last, remark)?,
        };
        if !is_over {
            self.remember(&notification);
        }
        Ok(notification)
    }

    fn close_by_hand(
        &mut self,
        last: &Notification,
        remark: Remark,
    ) -> Result<Notification, Refusal> {
        let view = self.by_view.iter().position(|view_alerts| view_alerts.name == last.view);
        let view = view.ok_or_else(|| Refusal::Unknown(last.id.to_string()))?;
        let change = self.by_view[view].close_by_hand(last.alert_id(), last.now_ms)?;
        let ended = self.notification(view, change);
        let text = format!("{}; {}", ended.text, remark.sentence("closed"));
        Ok(Notification { text, remark: Some(remark), sampling: last.sampling.clone(), ..ended })
    }

    /// Removes expired silences and returns a notification for each active alert that is no longer silenced. `silenced`
    /// contains the alerts that were silenced before the slice was processed.
    pub(super) fn end_silences(&mut self, silenced: &BTreeSet<AlertId>) -> Vec<Notification> {
        let now_ms = self.now_ms();
        self.silences.end_at(now_ms);
        let goes_on = |notification: &&Arc<Notification>| {
            let was_silenced =
                notification.silence.is_some() || silenced.contains(&notification.id);
            was_silenced && self.silences.of(notification).is_none()
        };
        let notifications = self.open.values().filter(goes_on);
        let now =
            |notification| self.open_alert(notification).notification_now().after_silence(now_ms);
        notifications.map(now).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use srlg_host::{Config as Sizes, Device, Ipv4Pair, SlidingDetector};
    use srlg_input::ViewOptions;
    use srlg_input::contact::Role;

    use super::*;
    use crate::manager::names::Names;
    use crate::manager::view::ViewConfig;
    use crate::manager::view_alerts::ClosedSlice;
    use crate::notification::{Evidence, Kind};
    use crate::rules::Rules;
    use crate::silences::Silences;
    use crate::{Condition, Rule, Severity, Status, Terms, Why, Witnesses};

    /// Length of the rule's window, in slices.
    const WINDOW: u32 = 2;

    const BOTH: [Role; 2] = [Role::Destination, Role::Source];

    fn terms() -> Terms {
        let (for_slices, of_slices, hold_ms, repeat_ms) = (1, 1, 0, 3_600_000);
        let threshold = 1_024.0;
        Terms { threshold, for_slices, of_slices, hold_ms, repeat_ms, ..Terms::default() }
    }

    fn view(name: &str, role: Role, terms: Terms) -> ViewConfig {
        let networks = vec!["10.0.0.0/8".parse().unwrap()];
        let view = ViewOptions { inside: networks.clone(), role, ..ViewOptions::default() };
        let rule = Rule { name: "r".to_owned(), networks, windows: [(WINDOW, terms)].into() };
        let sizes = Sizes { window: WINDOW, threshold: 512, ..Sizes::default() };
        let rules = Rules::new(vec![rule], Vec::new());
        ViewConfig { name: name.to_owned(), view, pairs: None, memory: None, sizes, rules }
    }

    struct Site {
        manager: AlertManager,
        /// Detector of the first view. Other views remain empty.
        detector: SlidingDetector,
        /// Number of peers of each host in the opposite direction.
        opposite: f64,
    }

    impl Site {
        fn new(terms: Terms, roles: &[Role]) -> Self {
            let view = |role: &Role| view(&format!("{role:?}"), *role, terms);
            let views: Vec<_> = roles.iter().map(view).collect();
            let detector = SlidingDetector::new(views[0].sizes, Device::Cpu).unwrap();
            let manager = AlertManager::new(&views, Duration::from_secs(1), Names::default(), None);
            Self { manager, detector, opposite: 0.0 }
        }

        fn close(&mut self, peers: std::ops::Range<u32>) -> Vec<Notification> {
            let Self { manager, detector, opposite } = self;
            let pairs = peers.map(|peer| Ipv4Pair { inside: 0x0a00_0007, peer });
            detector.ingest(&pairs.collect::<Vec<_>>()).unwrap();
            let view_alerts = &mut manager.by_view[0];
            let mut closing = detector.begin_close().unwrap();
            let sightings = view_alerts.sightings(&mut closing).unwrap();
            let slice = ClosedSlice {
                report: closing.end().unwrap(),
                sightings,
                condition: Condition::default(),
                sampling: Default::default(),
                newest_input_ms: 0,
                missing_sites: Vec::new(),
            };
            view_alerts.close(&slice, |_, _| Evidence::default(), |_| Witnesses::default());
            let mut peers = |view, hosts: &[IpAddr], slices| match view {
                0 => {
                    let estimates = detector.cardinalities_within(hosts, slices)?;
                    Ok(estimates.iter().map(|estimate| estimate.cardinality).collect())
                }
                _ => Ok(vec![*opposite; hosts.len()]),
            };
            manager.notifications(&mut peers).unwrap()
        }

        fn act(&mut self, id: AlertId, act: Act, now_ms: u64) -> Notification {
            self.manager.act(&Order { id, act, by: "ann".to_owned() }, None, now_ms).unwrap()
        }
    }

    fn silence(seconds: u64) -> Act {
        Act::Silence { length: Duration::from_secs(seconds), text: "known".to_owned() }
    }

    #[test]
    fn an_alert_that_ends_with_its_silence_is_over() {
        let mut site = Site::new(terms(), &[Role::Destination]);
        let id = site.close(0..3_000)[0].id;
        assert_eq!(site.act(id, silence(2), 1_000).status, Status::Update);
        assert_eq!(site.close(0..0), []);
        // The silence expires in the slice in which the alert ends.
        let ended = site.close(0..0);
        let notified: Vec<_> =
            ended.iter().map(|notification| (notification.status, notification.why)).collect();
        assert_eq!((notified, site.manager.now_ms()), (vec![(Status::End, Why::Below)], 3_000));
        assert!(!site.manager.is_open(id));
    }

    #[test]
    fn the_end_of_a_silence_is_reported_after_the_changes_of_its_slice() {
        let mut site = Site::new(terms(), &[Role::Destination]);
        let id = site.close(0..2_000)[0].id;
        site.act(id, silence(9), 1_000);
        // This has the same effect as a user ending the silence through another alert of the same host.
        site.manager.silences = Silences::default();
        let notified = site.close(2_000..9_000);
        let notified: Vec<_> =
            notified.iter().map(|it| (it.why, it.severity, it.silence.clone())).collect();
        let severity = Severity::Major;
        assert_eq!(notified, [(Why::Severity, severity, None), (Why::Unsilenced, severity, None)]);
    }

    #[test]
    fn notifications_of_people_and_at_the_end_of_a_silence_have_the_counts_of_their_time() {
        let mut site = Site::new(terms(), &[Role::Destination]);
        let started = site.close(0..2_000);
        let (id, before) = (started[0].id, started[0].main);
        site.act(id, silence(1), 1_000);
        let over = site.close(2_000..2_700);
        assert_eq!((over.len(), over[0].why), (1, Why::Unsilenced));
        assert!(over[0].main.cardinality > 1.15 * before.cardinality, "{:?}", over[0].main);
        assert_eq!((over[0].now_ms, over[0].duration_ms), (2_000, 1_000));
        site.close(2_700..3_200);
        let remark = site.act(id, Act::Comment { text: "known".to_owned() }, 3_500);
        assert_eq!((remark.now_ms, remark.duration_ms), (3_500, 2_500));
        assert!(remark.main.cardinality < before.cardinality, "{:?}", remark.main);
        assert_eq!(remark.main.peak, over[0].main.cardinality);
    }

    #[test]
    fn a_low_count_does_not_change_the_kind_of_an_alert() {
        let terms = Terms { hold_ms: 3_600_000, repeat_ms: 2_000, ..terms() };
        let mut site = Site::new(terms, &BOTH);
        site.opposite = 3_000.0;
        let started = site.close(0..3_000);
        assert_eq!((started[0].opposite, started[0].kind), (Some(3_000.0), Kind::Server));
        // The window still contains the first slice.
        assert_eq!(site.close(0..500), []);
        site.opposite = 0.0;
        // The repetition is not reported, because the alert is still that of a server.
        assert!((0..2).all(|_| site.close(0..500).is_empty()));
        // A high count without peers in the opposite direction is a flood.
        let notified: Vec<_> = (0..2).flat_map(|_| site.close(0..3_000)).collect();
        let notified: Vec<_> =
            notified.iter().map(|it| (it.why, it.kind, it.kind_at_start)).collect();
        let expected =
            [(Why::Cause, Kind::Server, Kind::Server), (Why::Threshold, Kind::Flood, Kind::Flood)];
        assert_eq!(notified, expected);
    }

    #[test]
    fn a_server_becomes_neither_more_severe_nor_repeated() {
        for repeat_ms in [3_000, 3_600_000] {
            let mut site = Site::new(Terms { repeat_ms, ..terms() }, &BOTH);
            let mut notified = Vec::new();
            for peers in [3_000, 3_000, 3_000, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000] {
                site.opposite = f64::from(peers);
                notified.extend(site.close(0..peers));
            }
            let of: Vec<_> = notified.iter().map(|it| (it.status, it.why, it.severity)).collect();
            assert_eq!(of, [(Status::Start, Why::Threshold, Severity::Info)]);
            // A slow flood is severe as soon as its peers are three times those in the opposite direction.
            site.opposite = 2_000.0;
            let notified: Vec<_> =
                [5_000, 5_500, 7_000, 7_000].map(|peers| site.close(0..peers)).into();
            let of = notified.iter().map(|notified| {
                notified.iter().map(|it| (it.why, it.kind, it.severity)).collect::<Vec<_>>()
            });
            let flood = vec![
                (Why::Cause, Kind::Server, Severity::Info),
                (Why::Threshold, Kind::Flood, Severity::Major),
            ];
            assert_eq!(of.collect::<Vec<_>>(), [vec![], vec![], flood, vec![]], "{repeat_ms}");
        }
    }

    #[test]
    fn a_server_is_reported_when_its_count_doubles() {
        let mut site = Site::new(terms(), &BOTH);
        site.opposite = 10_000.0;
        let counts = [3_000, 5_000, 5_500, 7_000, 7_000, 9_000];
        let notified: Vec<_> = counts.into_iter().flat_map(|peers| site.close(0..peers)).collect();
        let of: Vec<_> = notified.iter().map(|it| (it.why, it.severity)).collect();
        assert_eq!(of, [(Why::Threshold, Severity::Info), (Why::Peak, Severity::Info)]);
        assert!(notified[1].main.cardinality > 6_000.0, "{:?}", notified[1].main);
    }
}
