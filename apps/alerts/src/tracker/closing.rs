//! Closing of alerts by users.

use crate::act::Refusal;
use crate::alert::{Alert, AlertId, Why};
use crate::tracker::{Slice, Tracker};

impl Tracker {
    /// Closes the active alert `id` at `now_ms`. The counts of all active windows must be below `down` times
    /// the threshold.
    pub(crate) fn close_by_hand(&mut self, id: AlertId, now_ms: u64) -> Result<Alert, Refusal> {
        let mut slice = Slice { now_ms, sightings: Default::default(), alerts: Vec::new() };
        let mut hosts = self.hosts.iter();
        let of_id = hosts.find(|(host, state)| self.id(**host, state) == Some(id));
        let (&host, state) = of_id.ok_or_else(|| Refusal::Unknown(id.to_string()))?;
        let since_ms = state.below_since_ms().ok_or(Refusal::StillThere)?;
        self.end(host, since_ms, Why::Closed, &mut slice);
        slice.alerts.pop().ok_or_else(|| Refusal::Unknown(id.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{Condition, Rule, Sighting, Status, Terms, Witnesses};

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
}
