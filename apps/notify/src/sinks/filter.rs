//! The filter of a sink, which applies silences, acknowledgements and the rate limit.
//!
//! Invariants: if a notification of an alert was sent, even before a restart, the filter never suppresses the end of
//! the alert. That end does not count towards the rate limit. If no notification of the alert was sent, its end is
//! treated like any other notification. The rate limit does not apply to starts and updates of severe alerts, so that
//! many small alerts cannot hide a severe one.

use std::collections::HashSet;

use anyhow::Result;
use srlg_alerts::{AlertId, Status, Why};

use super::suppressed::Suppressed;
use crate::store::Store;
use srlg_alerts::notification::Notification;

pub(super) struct SinkFilter {
    pub(super) rate_limit: RateLimit,
    /// Active alerts for which a notification was sent.
    passed: HashSet<AlertId>,
}

impl SinkFilter {
    /// Creates the filter of a sink that has processed `store` up to number `done`. `most` is the maximum number of
    /// notifications per minute. After a restart, it is not known which notifications the rate limit suppressed.
    /// Therefore, the end of each alert that was active at notification `done` is sent, unless the alert was silenced
    /// from its start.
    pub(super) fn new(most: u32, store: &Store, done: i64) -> Result<Self> {
        Ok(Self { rate_limit: RateLimit::new(most), passed: open_ids(store, done)? })
    }

    pub(super) fn may_pass(&mut self, notification: &Notification, now_ms: u64) -> bool {
        let is_end = notification.status == Status::End;
        if is_end && self.passed.contains(&notification.id) {
            return true;
        }
        if self.is_silenced(notification) {
            return false;
        }
        let passes = notification.is_urgent() || self.rate_limit.admit(notification, now_ms);
        if passes && !is_end {
            self.passed.insert(notification.id);
            self.rate_limit.sent(notification.id);
        }
        passes
    }

    /// Returns whether `notification` is suppressed because its host or network is silenced, or because it repeats an
    /// acknowledged alert. A user's action is sent despite a silence if it ends the alert, or if a notification of the
    /// alert was sent before.
    pub(super) fn is_silenced(&self, notification: &Notification) -> bool {
        let is_acknowledged =
            notification.why == Why::Repeat && notification.acknowledged.is_some();
        let is_known = notification.status == Status::End || self.passed.contains(&notification.id);
        let passes_silence = notification.remark.is_some() && is_known;
        is_acknowledged || (notification.silence.is_some() && !passes_silence)
    }

    /// Removes the alert of `notification` from the filter if `notification` is its end.
    pub(super) fn done(&mut self, notification: &Notification) {
        if notification.status == Status::End {
            self.passed.remove(&notification.id);
        }
    }

    pub(super) fn mark_sent(&mut self, alerts: Vec<AlertId>) {
        self.passed.extend(alerts);
    }

    /// Updates the filter after notifications of `store` up to number `done`, which may include ends, were dropped.
    pub(super) fn dropped(&mut self, store: &Store, done: i64) -> Result<()> {
        let open = open_ids(store, done)?;
        self.passed.retain(|id| open.contains(id));
        Ok(())
    }
}

/// Returns the alerts that were active at notification `number` and for which a notification may have been sent.
fn open_ids(store: &Store, number: i64) -> Result<HashSet<AlertId>> {
    Ok(store.open_at(number)?.into_iter().collect())
}

const MINUTE_MS: u64 = 60_000;

/// Time for which the sink counts as degraded after a notification was suppressed, in milliseconds.
const DEGRADED_MS: u64 = 300_000;

/// A rate limit that remembers suppressed notifications.
pub(super) struct RateLimit {
    most: u32,
    minute_ms: u64,
    passed: u32,
    /// Notifications suppressed in the current minute.
    suppressed: Suppressed,
    /// Notifications suppressed in past minutes and not reported yet.
    suppressed_before: Suppressed,
    /// Number of notifications suppressed since the sink was last not degraded.
    recent: u64,
    /// Time of the last suppressed notification, in milliseconds since the Unix epoch.
    last_ms: u64,
}

impl RateLimit {
    fn new(most: u32) -> Self {
        Self {
            most,
            minute_ms: 0,
            passed: 0,
            suppressed: Suppressed::default(),
            suppressed_before: Suppressed::default(),
            recent: 0,
            last_ms: 0,
        }
    }

    /// Returns whether `notification` may be sent at `now_ms`, in milliseconds since the Unix epoch. If not, the
    /// notification counts as suppressed.
    fn admit(&mut self, notification: &Notification, now_ms: u64) -> bool {
        self.end_minute(now_ms);
        if self.passed < self.most {
            self.passed += 1;
            return true;
        }
        self.suppressed.add(notification);
        self.recent = self.recently_suppressed(now_ms) + 1;
        self.last_ms = now_ms;
        false
    }

    /// Removes the alert `id` from the reports, because a later notification of it was sent.
    fn sent(&mut self, id: AlertId) {
        self.suppressed.forget(id);
        self.suppressed_before.forget(id);
    }

    /// If the current minute has ended at `now_ms`, starts a new one.
    fn end_minute(&mut self, now_ms: u64) {
        // If the system clock is set back, the current minute lies in the future.
        if now_ms.abs_diff(self.minute_ms) >= MINUTE_MS {
            (self.minute_ms, self.passed) = (now_ms, 0);
            self.suppressed_before.append(std::mem::take(&mut self.suppressed));
        }
    }

    /// Returns the notifications that were suppressed in past minutes and not reported yet.
    pub(super) fn suppressed_until(&mut self, now_ms: u64) -> &Suppressed {
        self.end_minute(now_ms);
        &self.suppressed_before
    }

    pub(super) fn forget_suppressed(&mut self) {
        self.suppressed_before = Suppressed::default();
    }

    /// Returns the number of recently suppressed notifications. It is 0 if none was suppressed within
    /// [`DEGRADED_MS`] before `now_ms`.
    pub(super) fn recently_suppressed(&self, now_ms: u64) -> u64 {
        if now_ms.abs_diff(self.last_ms) < DEGRADED_MS { self.recent } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{MINUTE_MS, RateLimit, SinkFilter, Suppressed};
    use crate::store::Store;
    use crate::store::tests::notifications;
    use srlg_alerts::notification::Notification;
    use srlg_alerts::{Remark, Severity, Silencing};

    #[test]
    fn an_end_passes_if_and_only_if_anything_before_it_came_through() {
        let store = Store::open(None).unwrap();
        // The list has the starts of three alerts, their updates and their ends.
        let notifications = notifications(3);
        store.add(&notifications[..1], &[]).unwrap();
        let mut filter = SinkFilter::new(1, &store, 1).unwrap();
        let mut may_pass = |at: usize| {
            let passes = filter.may_pass(&notifications[at], 1_000_000);
            filter.done(&notifications[at]);
            passes
        };
        // The first alert was sent before the restart, and the third one was never sent.
        assert_eq!([1, 2, 4, 5].map(&mut may_pass), [true, false, false, false]);
        assert_eq!([6, 7, 8].map(&mut may_pass), [true, true, false]);
        assert_eq!([6, 7].map(&mut may_pass), [false, false], "an end is sent once");
        let suppressed = [1_059_999, 1_060_000, 1_060_001]
            .map(|now_ms| filter.rate_limit.suppressed_until(now_ms).count);
        assert_eq!(suppressed, [0, 6, 6]);
        filter.rate_limit.forget_suppressed();
        assert_eq!(filter.rate_limit.suppressed_until(1_060_002), &Suppressed::default());
    }

    #[test]
    fn a_silence_suppresses_alerts_that_were_never_sent() {
        let sample = Notification::sample();
        let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
        let silence = Some(Silencing { remark: remark.clone(), until_ms: 9, id: sample.id });
        // Returns a notification of a silenced host or of another host.
        let of = |at: usize, is_silenced: bool| {
            let silence = silence.clone().filter(|_| is_silenced);
            Notification {
                silence,
                remark: None,
                acknowledged: None,
                ..notifications(2)[at].clone()
            }
        };
        let by_ann = |notification: Notification| Notification {
            remark: Some(remark.clone()),
            ..notification
        };
        let notifications = [of(0, true), of(1, false), by_ann(of(2, true)), by_ann(of(3, true))];
        let store = Store::open(None).unwrap();
        store.add(&notifications, &[]).unwrap();
        let mut filter = SinkFilter::new(9, &store, 0).unwrap();
        let passes = |filter: &mut SinkFilter, notification: &Notification| {
            filter.may_pass(notification, 1_000_000)
        };
        let passed: Vec<bool> =
            notifications.iter().map(|notification| passes(&mut filter, notification)).collect();
        assert_eq!(passed, [false, true, false, true]);
        // The result is the same before and after a restart.
        for filter in [&mut filter, &mut SinkFilter::new(9, &store, 4).unwrap()] {
            let ends = [of(4, true), of(5, true)].map(|end| passes(filter, &end));
            assert_eq!(ends, [false, true]);
        }
    }

    #[test]
    fn alerts_changed_elsewhere_end_and_dropped_ones_do_not() {
        let store = Store::open(None).unwrap();
        let notifications = notifications(2);
        let mut filter = SinkFilter::new(0, &store, 0).unwrap();
        filter.mark_sent(vec![notifications[0].id, notifications[1].id]);
        store.add(&notifications[..5], &[]).unwrap();
        filter.dropped(&store, 5).unwrap();
        assert!(!filter.may_pass(&notifications[4], 0) && filter.may_pass(&notifications[5], 0));
    }

    /// Returns a warning, to which the rate limit applies.
    fn warning() -> Notification {
        Notification { severity: Severity::Warning, ..notifications(1).remove(0) }
    }

    #[test]
    fn severe_alerts_bypass_the_rate_limit() {
        let store = Store::open(None).unwrap();
        let mut filter = SinkFilter::new(1, &store, 0).unwrap();
        let notifications = notifications(3);
        let of = |at: usize, severity| Notification { severity, ..notifications[at].clone() };
        use Severity::{Critical, Major, Warning};
        let passed = [
            (0, Major),
            (1, Warning),
            (2, Warning),
            (2, Major),
            // Updates of the first alert.
            (3, Critical),
            (3, Warning),
        ];
        let passed = passed.map(|(at, severity)| filter.may_pass(&of(at, severity), 1_000_000));
        assert_eq!(passed, [true, true, false, true, true, false]);
        assert_eq!(filter.rate_limit.recently_suppressed(1_000_000), 2);
        // The ends of all alerts pass, because an earlier notification was sent.
        assert!([6, 7, 8].iter().all(|at| filter.may_pass(&notifications[*at], 1_000_000)));
    }

    #[test]
    fn a_sink_is_degraded_for_five_minutes_after_a_suppressed_notification() {
        let mut rate_limit = RateLimit::new(0);
        let minute = |minute: u64| 1_000_000 + minute * MINUTE_MS;
        assert_eq!(rate_limit.recently_suppressed(minute(0)), 0);
        assert_eq!([0, 1, 5].map(|at| rate_limit.admit(&warning(), minute(at))), [false; 3]);
        assert_eq!([5, 9].map(|at| rate_limit.recently_suppressed(minute(at))), [3, 3]);
        assert_eq!(rate_limit.recently_suppressed(minute(10)), 0);
        rate_limit.admit(&warning(), minute(11));
        assert_eq!(rate_limit.recently_suppressed(minute(11)), 1);
    }

    #[test]
    fn notifications_beyond_the_rate_are_counted_until_they_are_forgotten() {
        let mut rate_limit = RateLimit::new(2);
        let second = |second: u64| 1_000_000 + second * 1_000;
        let admit = |rate_limit: &mut RateLimit, at| rate_limit.admit(&warning(), second(at));
        assert_eq!([0, 1, 2, 59].map(|at| admit(&mut rate_limit, at)), [true, true, false, false]);
        assert!(admit(&mut rate_limit, 60));
        assert_eq!(rate_limit.suppressed_until(second(60)).count, 2);
        assert_eq!([61, 62].map(|at| admit(&mut rate_limit, at)), [true, false]);
        rate_limit.forget_suppressed();
        assert_eq!(
            [119, 120, 121].map(|at| rate_limit.suppressed_until(second(at)).count),
            [0, 1, 1]
        );
        rate_limit.forget_suppressed();
        assert_eq!(rate_limit.suppressed_until(second(180)).count, 0);
    }

    #[test]
    fn a_clock_that_is_set_back_begins_another_minute() {
        let mut rate_limit = RateLimit::new(1);
        let at_ms = [7_200_000, 7_200_001, 3_600_000, 3_600_001];
        let passed = at_ms.map(|now_ms| rate_limit.admit(&warning(), now_ms));
        assert_eq!(passed, [true, false, true, false]);
    }
}
