//! Closing of alerts by users.

use crate::act::Refusal;
use crate::alert::{Alert, AlertId, Status, Why};
use crate::host::HostState;
use crate::tracker::{Slice, Tracker};

impl Tracker {
    /// Closes the active alert `id` at `now_ms`. The counts of all active windows must be below `down` times
    /// the threshold. If the alert belongs to a network, members with alerts of their own stay active.
    pub(crate) fn close_by_hand(&mut self, id: AlertId, now_ms: u64) -> Result<Alert, Refusal> {
        let mut slice = Slice { now_ms, sightings: Default::default(), alerts: Vec::new() };
        let mut groups = self.groups.iter().filter(|(network, group)| {
            self.id(&group.rule, &network.to_string(), group.start_ms) == id
        });
        if let Some((&network, group)) = groups.next() {
            let members = group.members.clone();
            let since = members.iter().map(|host| self.hosts.get(host)?.below_since_ms());
            let since_ms = since.collect::<Option<Vec<_>>>().ok_or(Refusal::StillThere)?;
            let grouped = members.iter().filter(|host| group.speaks_for(**host));
            let grouped: Vec<_> = grouped.copied().collect();
            grouped.iter().for_each(|host| drop(self.hosts.remove(host)));
            if let Some(mut group) = self.groups.remove(&network) {
                group.until_ms = since_ms.into_iter().fold(group.until_ms, u64::max);
                let ended = self.of_network(network, &group, Status::End, Why::Closed, &slice);
                slice.alerts.push(ended);
            }
        } else {
            let is_it = |host: &_| {
                let active = self.hosts.get(host).and_then(|state| state.active.as_ref());
                !self.is_grouped(*host)
                    && active
                        .is_some_and(|it| self.id(&it.rule, &host.to_string(), it.start_ms) == id)
            };
            let host = self.hosts.keys().copied().find(is_it);
            let host = host.ok_or_else(|| Refusal::Unknown(id.to_string()))?;
            let since_ms = self.hosts.get(&host).and_then(HostState::below_since_ms);
            self.end(host, since_ms.ok_or(Refusal::StillThere)?, Why::Closed, &mut slice);
        }
        slice.alerts.pop().ok_or_else(|| Refusal::Unknown(id.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::group::MOST_ALONE;
    use crate::{Condition, Rule, Sighting, Subject, Terms, Witnesses};

    const COUNT: f64 = 2_000.0;

    fn close(tracker: &mut Tracker, now_ms: u64, hosts: &[IpAddr]) -> Vec<Alert> {
        let terms = Terms { for_slices: 1, hold_ms: 60_000, ..Terms::default() };
        let rule =
            Rule { name: "r".to_owned(), networks: Vec::new(), windows: [(9, terms)].into() };
        let points = hosts.iter().map(|host| Sighting::new(*host, COUNT, 10.0)).collect();
        let none = |_, _| Witnesses::default();
        tracker.close(now_ms, &[(9, points)].into(), |_| Some(&rule), Condition::default(), none)
    }

    #[test]
    fn an_alert_below_its_threshold_is_closed_once_and_may_start_again() {
        let (mut tracker, host) = (Tracker::new("v"), IpAddr::from([10, 0, 0, 1]));
        let other = IpAddr::from([10, 9, 0, 1]);
        let started = close(&mut tracker, 1_000, &[host, other]);
        let id = started[0].id;
        assert_eq!(tracker.close_by_hand(id, 1_500), Err(Refusal::StillThere));
        assert!(
            close(&mut tracker, 2_000, &[other]).is_empty(),
            "an alert below its threshold is held for a minute"
        );
        let ended = tracker.close_by_hand(id, 2_500).unwrap();
        assert_eq!(
            (ended.status, ended.why, ended.until_ms),
            (Status::End, Why::Closed, Some(2_000))
        );
        assert_eq!((ended.now_ms, ended.main().peak), (2_500, COUNT));
        assert_eq!(tracker.close_by_hand(id, 2_600), Err(Refusal::Unknown(id.to_string())));
        assert_eq!((tracker.is_active(host), tracker.is_active(other)), (false, true));
        let again = close(&mut tracker, 3_000, &[host, other]);
        assert_eq!((again.len(), again[0].status), (1, Status::Start));
        assert_ne!(again[0].id, id);
    }

    #[test]
    fn the_alert_of_a_network_is_closed_with_all_its_hosts() {
        let hosts: Vec<IpAddr> =
            (0..=MOST_ALONE as u8).map(|host| [10, 0, 0, host].into()).collect();
        let mut tracker = Tracker::new("v");
        let started = close(&mut tracker, 1_000, &hosts);
        assert!(matches!(started[..], [Alert { subject: Subject::Network { .. }, .. }]));
        let id = started[0].id;
        close(&mut tracker, 2_000, &hosts[..1]);
        assert_eq!(tracker.close_by_hand(id, 2_500), Err(Refusal::StillThere), "one is left");
        close(&mut tracker, 3_000, &[]);
        let ended = tracker.close_by_hand(id, 3_500).unwrap();
        assert_eq!(
            (ended.status, ended.why, ended.until_ms),
            (Status::End, Why::Closed, Some(3_000))
        );
        assert!(matches!(ended.subject, Subject::Network { hosts: 9, .. }), "{ended:?}");
        assert_eq!((tracker.active(), tracker.hosts().count()), (0, 0));
    }
}
