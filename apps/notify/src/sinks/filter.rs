//! The filter of a sink, which selects the notifications that the sink wants and applies silences, acknowledgements and
//! the rate limit.
//!
//! The rate limit has classes. Starts and rising severities of severe alerts, and ends of alerts that were sent, pass in
//! any case. Other starts pass while there is room. Without room, they are held, and later pass one by one, victims first,
//! then the most severe. Updates may use only a part of the room, and repeats even less. Without room, they are
//! suppressed. If the first notification of an alert that the sink may have is an update, for example after a silence,
//! it counts as a start.
//!
//! Invariants: the end of an alert is sent if and only if another notification of the alert was sent, even before a
//! restart. While an alert is active, its start is never suppressed. If an alert ends while its start is held, neither
//! of them is sent.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use srlg_alerts::{AlertId, Severity, Status, Why};

use super::bucket::{Share, TokenBucket};
use super::only::Only;
use super::suppressed::{Suppressed, SuppressedAlert};
use crate::store::{Cursor, Store};
use srlg_alerts::notification::{Direction, Notification};

/// The decision about a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The notification is sent, after the start of its alert if that is held.
    Send,
    /// The notification is a start that is sent as soon as there is room.
    Hold,
    /// The rate limit suppresses this number of notifications: two if an alert ends whose start is held.
    Suppress(u64),
    /// The notification is silenced, or the sink does not want it.
    Leave,
}

pub(super) struct SinkFilter {
    /// Notifications that the sink wants.
    only: Only,
    /// Rate limit, or `None` if there is none.
    bucket: Option<TokenBucket>,
    /// Active alerts for which a notification was sent.
    passed: HashSet<AlertId>,
    /// Alerts whose starts are held.
    held: BTreeMap<AlertId, HeldStart>,
    /// Notifications suppressed since the last report.
    suppressed: Suppressed,
    /// Time since which something is to be reported, in milliseconds since the Unix epoch.
    unreported_ms: Option<u64>,
    /// Number of notifications suppressed since the sink was last not degraded.
    recent: u64,
    /// Time of the last suppressed notification, in milliseconds since the Unix epoch.
    last_ms: u64,
}

/// A start that is held.
struct HeldStart {
    number: i64,
    /// Whether the alert is about an inside host that others contact.
    is_victim: bool,
    alert: SuppressedAlert,
}

/// Time between two reports, in milliseconds.
const MINUTE_MS: u64 = 60_000;

/// Time for which the sink counts as degraded after a notification was suppressed, in milliseconds.
const DEGRADED_MS: u64 = 300_000;

impl SinkFilter {
    /// Creates the filter of a sink whose position in `store` is `cursor`. `only` selects the notifications that the
    /// sink wants, and `limit` is the maximum number of notifications per minute, if there is one.
    ///
    /// An alert counts as sent if a notification of it up to the position is wanted and not silenced, unless its start
    /// is held.
    pub(super) fn new(
        only: &Only,
        limit: Option<u32>,
        store: &Store,
        cursor: &Cursor,
    ) -> Result<Self> {
        let mut filter = Self {
            only: only.clone(),
            passed: open_ids(store, cursor)?,
            bucket: limit.map(TokenBucket::new),
            held: BTreeMap::new(),
            suppressed: Suppressed::default(),
            unreported_ms: None,
            recent: 0,
            last_ms: 0,
        };
        if filter.only != Only::default() {
            for id in filter.passed.clone() {
                let notifications = store.notifications_of(id)?;
                let mut before = notifications
                    .iter()
                    .filter(|(of, _)| *of <= cursor.done || cursor.early.contains(of));
                if !before.any(|(_, it)| it.silence.is_none() && filter.only.wants(it, false)) {
                    filter.passed.remove(&id);
                }
            }
        }
        for number in &cursor.held {
            if let Some((number, notification)) = store.notification(*number)? {
                filter.passed.remove(&notification.id);
                if filter.only.wants(&notification, false) {
                    filter.hold(number, &notification);
                    filter.unreported_ms.get_or_insert(notification.now_ms);
                }
            }
        }
        Ok(filter)
    }

    /// Decides about the notification `number` at `now_ms`, in milliseconds since the Unix epoch.
    pub(super) fn judge(
        &mut self,
        number: i64,
        notification: &Notification,
        now_ms: u64,
    ) -> Verdict {
        let Notification { id, status, why, .. } = notification;
        let (is_sent, is_held) = (self.passed.contains(id), self.held.contains_key(id));
        let is_end = *status == Status::End;
        if !self.only.wants(notification, is_sent || is_held) {
            if is_end {
                self.passed.remove(id);
            }
            return match is_end && self.held.remove(id).is_some() {
                true => self.suppress(notification, 1, now_ms),
                false => Verdict::Leave,
            };
        }
        if is_end && is_sent {
            return Verdict::Send;
        }
        if self.is_silenced(notification) {
            if notification.silence.is_some() {
                self.held.remove(id);
            }
            return Verdict::Leave;
        }
        // Users act rarely, and also on alerts that are over.
        if why.is_action() && is_end {
            return Verdict::Send;
        }
        if is_end {
            return match self.held.remove(id) {
                Some(_) => self.suppress(notification, 2, now_ms),
                None if self.only.lacks_starts() => Verdict::Send,
                None => Verdict::Leave,
            };
        }
        let is_rising = self.is_rising(notification);
        let Some(bucket) = self.bucket.as_mut().filter(|_| !is_rising) else {
            return self.pass(notification);
        };
        if !is_sent && !is_held {
            // Held starts come first, and one of them may be more important.
            if self.held.is_empty() && bucket.take(now_ms, Share::All) {
                return self.pass(notification);
            }
            self.hold(number, notification);
            self.unreported_ms.get_or_insert(now_ms);
            return Verdict::Hold;
        }
        let share = match why {
            Why::Repeat => Share::Half,
            why if why.is_action() => Share::All,
            _ => Share::ThreeQuarters,
        };
        if is_sent && bucket.take(now_ms, share) {
            return self.pass(notification);
        }
        self.suppress(notification, 1, now_ms)
    }

    /// Returns whether `notification` is the first one that the sink gets of a severe alert, or says that an alert has
    /// become more severe.
    pub(super) fn is_first_severe(&self, notification: &Notification) -> bool {
        let id = &notification.id;
        let is_known = self.passed.contains(id) || self.held.contains_key(id);
        notification.is_urgent()
            && self.is_rising(notification)
            && self.only.wants(notification, is_known)
            && !self.is_silenced(notification)
    }

    fn is_rising(&self, notification: &Notification) -> bool {
        let is_first = !self.passed.contains(&notification.id);
        notification.severity >= Severity::Major && (notification.why == Why::Severity || is_first)
    }

    fn pass(&mut self, notification: &Notification) -> Verdict {
        self.passed.insert(notification.id);
        self.suppressed.forget(notification.id);
        Verdict::Send
    }

    fn hold(&mut self, number: i64, notification: &Notification) {
        let is_victim = notification.is_inside && notification.direction == Direction::FanIn;
        let alert = SuppressedAlert::new(notification);
        self.held.insert(notification.id, HeldStart { number, is_victim, alert });
    }

    fn suppress(&mut self, notification: &Notification, count: u64, now_ms: u64) -> Verdict {
        self.suppressed.add(notification, count);
        self.unreported_ms.get_or_insert(now_ms);
        self.recent = self.recently_suppressed(now_ms) + count;
        self.last_ms = now_ms;
        Verdict::Suppress(count)
    }

    /// Returns whether `notification` is suppressed because its host or network is silenced, or because it repeats an
    /// acknowledged alert. A user's action is sent despite a silence if it ends the alert, or if a notification of the
    /// alert was sent before.
    fn is_silenced(&self, notification: &Notification) -> bool {
        let is_acknowledged =
            notification.why == Why::Repeat && notification.acknowledged.is_some();
        let is_known = notification.status == Status::End || self.passed.contains(&notification.id);
        let passes_silence = notification.remark.is_some() && is_known;
        is_acknowledged || (notification.silence.is_some() && !passes_silence)
    }

    /// Returns the number of the held start of the alert `id`, if there is one.
    pub(super) fn held_start(&self, id: AlertId) -> Option<i64> {
        self.held.get(&id).map(|held| held.number)
    }

    /// Returns the number of the held start that passes at `now_ms`, if there is one. It stays held until it is
    /// [released](Self::release).
    pub(super) fn next_held(&mut self, now_ms: u64) -> Option<i64> {
        let first = self
            .held
            .values()
            .reduce(|first, other| if other.is_before(first) { other } else { first })?;
        let number = first.number;
        let bucket = self.bucket.as_mut();
        bucket.is_none_or(|bucket| bucket.take(now_ms, Share::All)).then_some(number)
    }

    /// Removes the held start with this number. `id` is its alert if it was sent, or `None` if it no longer exists.
    pub(super) fn release(&mut self, number: i64, id: Option<AlertId>) {
        self.held.retain(|_, held| held.number != number);
        self.passed.extend(id);
        if self.held.is_empty() && self.suppressed.count == 0 {
            self.unreported_ms = None;
        }
    }

    /// Returns the number of held starts.
    pub(super) fn held_len(&self) -> usize {
        self.held.len()
    }

    /// Returns the numbers of the held starts, in ascending order.
    pub(super) fn held(&self) -> Vec<i64> {
        let mut numbers: Vec<i64> = self.held.values().map(|held| held.number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Removes the alert of `notification` from the filter if `notification` is its end.
    pub(super) fn done(&mut self, notification: &Notification) {
        if notification.status == Status::End {
            self.passed.remove(&notification.id);
        }
    }

    /// Returns whether the sink wants `notification`, the last one of an active alert, again and again. A silenced alert
    /// is wanted only if an earlier notification was sent.
    pub(super) fn wants(&self, notification: &Notification) -> bool {
        let is_new = notification.silence.is_none() && self.only.wants(notification, false);
        is_new || self.passed.contains(&notification.id)
    }

    pub(super) fn mark_sent(&mut self, alerts: Vec<AlertId>) {
        self.passed.extend(alerts);
    }

    /// Updates the filter after notifications of `store` up to the position `cursor`, which may include ends, were
    /// dropped.
    pub(super) fn dropped(&mut self, store: &Store, cursor: &Cursor) -> Result<()> {
        let open = open_ids(store, cursor)?;
        self.passed.retain(|id| open.contains(id));
        self.held.retain(|id, _| open.contains(id));
        Ok(())
    }

    /// Returns the report that is due at `now_ms`: at most one per minute, as long as starts are held or notifications
    /// are suppressed.
    pub(super) fn report(&self, now_ms: u64) -> Option<Suppressed> {
        self.unreported_ms.filter(|since_ms| now_ms.abs_diff(*since_ms) >= MINUTE_MS)?;
        let report = self.suppressed.with_held(self.held.values().map(|held| &held.alert));
        (report.count > 0 || report.held > 0).then_some(report)
    }

    /// Notes that a report was sent at `now_ms`.
    pub(super) fn reported(&mut self, now_ms: u64) {
        self.suppressed = Suppressed::default();
        self.unreported_ms = (!self.held.is_empty()).then_some(now_ms);
    }

    /// Returns the number of recently suppressed notifications. It is 0 if none was suppressed within
    /// [`DEGRADED_MS`] before `now_ms`.
    pub(super) fn recently_suppressed(&self, now_ms: u64) -> u64 {
        if now_ms.abs_diff(self.last_ms) < DEGRADED_MS { self.recent } else { 0 }
    }
}

impl HeldStart {
    /// Returns whether this start passes before `other`.
    fn is_before(&self, other: &Self) -> bool {
        match (self.is_victim, other.is_victim) {
            (true, false) => true,
            (false, true) => false,
            _ if self.alert.is_before(&other.alert) => true,
            _ => !other.alert.is_before(&self.alert) && self.number < other.number,
        }
    }
}

/// Returns the alerts that were active at the position `cursor` and for which a notification may have been sent.
fn open_ids(store: &Store, cursor: &Cursor) -> Result<HashSet<AlertId>> {
    let mut open: HashSet<AlertId> = store.open_at(cursor.done)?.into_iter().collect();
    for number in &cursor.early {
        let notification = store.notification(*number)?.map(|(_, notification)| notification);
        open.extend(notification.filter(|it| it.silence.is_none()).map(|it| it.id));
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Hold, Leave, Send, Suppress};
    use super::{MINUTE_MS, SinkFilter, Verdict};
    use crate::sinks::SinkOptions;
    use crate::store::tests::notifications;
    use crate::store::{Cursor, Store};
    use srlg_alerts::notification::{Direction, Notification};
    use srlg_alerts::{Remark, Severity, Silencing, Status, Why};

    const NOW_MS: u64 = 1_000_000;

    fn at(done: i64) -> Cursor {
        Cursor { done, ..Cursor::default() }
    }

    fn filter(most: u32, store: &Store, cursor: &Cursor) -> SinkFilter {
        with(&format!("most-per-minute = {most}"), store, cursor)
    }

    /// Returns the filter of a webhook with the given keys.
    fn with(keys: &str, store: &Store, cursor: &Cursor) -> SinkFilter {
        let options = format!("type = 'webhook'\nurl = 'http://a'\n{keys}");
        let options: SinkOptions = toml::from_str(&options).unwrap();
        SinkFilter::new(&options.only, options.most_per_minute(), store, cursor).unwrap()
    }

    /// Judges a notification whose number is one more than its index `at` in `notifications`.
    fn judge(filter: &mut SinkFilter, notifications: &[Notification], at: usize) -> Verdict {
        let verdict = filter.judge(at as i64 + 1, &notifications[at], NOW_MS);
        filter.done(&notifications[at]);
        verdict
    }

    #[test]
    fn an_end_passes_if_and_only_if_anything_before_it_came_through() {
        let store = Store::open(None).unwrap();
        // The list has the starts of three alerts, their updates and their ends.
        let notifications = notifications(3);
        store.add(&notifications[..1], &[]).unwrap();
        let mut filter = filter(1, &store, &at(1));
        let verdicts = [1, 2, 4, 5, 6, 7, 8].map(|at| judge(&mut filter, &notifications, at));
        // The first alert was sent before the restart. The third one ends before there is room for its start.
        assert_eq!(verdicts, [Send, Hold, Suppress(1), Suppress(1), Send, Send, Suppress(2)]);
        assert_eq!(judge(&mut filter, &notifications, 6), Leave, "an end is sent once");
        let counts = [0, MINUTE_MS - 1, MINUTE_MS].map(|later| filter.report(NOW_MS + later));
        assert_eq!(
            counts.map(|report| report.map(|it| (it.count, it.held))),
            [None, None, Some((4, 0))]
        );
        filter.reported(NOW_MS + MINUTE_MS);
        assert_eq!(filter.report(u64::MAX), None);
    }

    #[test]
    fn a_held_start_passes_when_there_is_room_and_survives_a_restart() {
        let store = Store::open(None).unwrap();
        let notifications = notifications(3);
        store.add(&notifications[..6], &[]).unwrap();
        let mut before = filter(1, &store, &at(0));
        let verdicts = [0, 1, 2].map(|at| judge(&mut before, &notifications, at));
        assert_eq!((verdicts, before.held()), ([Send, Hold, Hold], vec![2, 3]));
        let after =
            filter(1, &store, &Cursor { done: 3, held: before.held(), ..Cursor::default() });
        let second = notifications[1].id;
        for mut filter in [before, after] {
            assert_eq!(filter.held_start(second), Some(2));
            assert_eq!(judge(&mut filter, &notifications, 4), Suppress(1), "its start comes first");
            let later = NOW_MS + MINUTE_MS;
            assert_eq!(filter.next_held(later), Some(2));
            assert_eq!(filter.next_held(later), None, "the room is used");
            filter.release(2, Some(second));
            assert_eq!((filter.held(), filter.next_held(later + MINUTE_MS)), (vec![3], Some(3)));
            // The end of the second alert passes now. That of the third one takes its start with it.
            let ends = [7, 8].map(|at| judge(&mut filter, &notifications, at));
            assert_eq!((ends, filter.held()), ([Send, Suppress(2)], vec![]));
        }
    }

    #[test]
    fn victims_and_severe_alerts_pass_first() {
        let store = Store::open(None).unwrap();
        let starts = &notifications(6)[..6];
        use Direction::{FanIn, FanOut};
        let with = |at: usize, direction, peak: f64| {
            let mut start = starts[at].clone();
            (start.direction, start.is_inside, start.main.peak) =
                (direction, direction == FanIn, peak);
            start
        };
        let notifications = [
            with(0, FanOut, 9_000.0),
            with(1, FanOut, 8_000.0),
            with(2, FanOut, 9_000.0),
            with(3, FanIn, 1_100.0),
            with(4, FanIn, 1_200.0),
        ];
        let mut filter = filter(1, &store, &at(0));
        for at in 0..notifications.len() {
            judge(&mut filter, &notifications, at);
        }
        let order: Vec<i64> = (1..=4)
            .map(|minute| {
                let number = filter.next_held(NOW_MS + minute * MINUTE_MS).unwrap();
                filter.release(number, None);
                number
            })
            .collect();
        assert_eq!(order, [5, 4, 3, 2]);
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
        let notifications = [
            of(0, true),
            of(1, false),
            by_ann(of(2, true)),
            by_ann(of(3, true)),
            of(4, true),
            of(5, true),
        ];
        let store = Store::open(None).unwrap();
        store.add(&notifications[..4], &[]).unwrap();
        let mut first = filter(9, &store, &at(0));
        let verdicts = [0, 1, 2, 3].map(|at| judge(&mut first, &notifications, at));
        assert_eq!(verdicts, [Leave, Send, Leave, Send]);
        // The result is the same before and after a restart.
        for filter in [&mut first, &mut filter(9, &store, &at(4))] {
            let ends = [4, 5].map(|at| judge(filter, &notifications, at));
            assert_eq!(ends, [Leave, Send]);
        }
    }

    #[test]
    fn alerts_changed_elsewhere_end_and_dropped_ones_do_not() {
        let store = Store::open(None).unwrap();
        let notifications = notifications(2);
        let mut filter = filter(1, &store, &at(0));
        filter.mark_sent(vec![notifications[0].id, notifications[1].id]);
        store.add(&notifications[..5], &[]).unwrap();
        // The bucket is empty.
        assert_eq!(judge(&mut filter, &notifications, 2), Send);
        filter.dropped(&store, &at(5)).unwrap();
        let ends = [4, 5].map(|at| judge(&mut filter, &notifications, at));
        assert_eq!(ends, [Leave, Send]);
    }

    #[test]
    fn an_unwanted_alert_is_left_until_it_is_wanted_and_then_has_its_end() {
        let store = Store::open(None).unwrap();
        let mut notifications = notifications(2);
        // The first alert becomes severe with its update.
        (notifications[2].severity, notifications[2].why) = (Severity::Major, Why::Severity);
        store.add(&notifications, &[]).unwrap();
        let keys = "only = { severity = 'major' }";
        for restart in 0..=4 {
            let mut filter = with(keys, &store, &at(0));
            let mut verdicts = Vec::new();
            for at in 0..6 {
                if at == restart {
                    filter = with(keys, &store, &self::at(at as i64));
                }
                verdicts.push(judge(&mut filter, &notifications, at));
            }
            assert_eq!(verdicts, [Leave, Leave, Send, Leave, Send, Leave], "{restart}");
        }
    }

    #[test]
    fn rising_severities_bypass_the_rate_limit_and_updates_use_a_part_of_it() {
        let store = Store::open(None).unwrap();
        let mut filter = filter(4, &store, &at(0));
        let notifications = notifications(3);
        use Severity::{Critical, Major, Warning};
        let of =
            |at: usize, severity, why| Notification { severity, why, ..notifications[at].clone() };
        let judged = [
            (0, Major, Why::Threshold),
            (1, Warning, Why::Threshold),
            // Updates of the first alert.
            (3, Major, Why::Repeat),
            (3, Major, Why::Repeat),
            (3, Major, Why::Peak),
            (3, Major, Why::Peak),
            (3, Critical, Why::Severity),
            (2, Warning, Why::Threshold),
            (2, Major, Why::Severity),
        ];
        let judged = judged
            .map(|(at, severity, why)| filter.judge(at as i64, &of(at, severity, why), NOW_MS));
        assert_eq!(judged, [Send, Send, Send, Suppress(1), Send, Suppress(1), Send, Send, Send]);
        assert_eq!(filter.recently_suppressed(NOW_MS), 2);
        // The ends of all alerts pass, because an earlier notification was sent.
        let end = |at: usize| Notification { status: Status::End, ..notifications[at].clone() };
        assert!([0, 1, 2].iter().all(|at| filter.judge(9, &end(*at), NOW_MS) == Send));
    }

    #[test]
    fn a_severe_alert_passes_with_its_first_notification_even_if_that_is_an_update() {
        let store = Store::open(None).unwrap();
        let mut notifications = notifications(3);
        // The alert was silenced, or of another kind, when it started.
        (notifications[4].severity, notifications[4].why) = (Severity::Critical, Why::Unsilenced);
        let mut filter = filter(1, &store, &at(0));
        let verdicts = [0, 4, 5, 7, 8].map(|at| judge(&mut filter, &notifications, at));
        assert_eq!(verdicts, [Send, Send, Hold, Send, Suppress(2)]);
        // Nothing was sent of an alert that is unknown, so neither is its end.
        assert_eq!(judge(&mut filter, &notifications, 8), Leave);
        assert!(filter.passed.len() == 1 && filter.held.is_empty());
    }

    #[test]
    fn a_held_alert_that_becomes_severe_passes_with_its_start() {
        let store = Store::open(None).unwrap();
        let notifications = notifications(2);
        let mut filter = filter(1, &store, &at(0));
        assert_eq!([0, 1].map(|at| judge(&mut filter, &notifications, at)), [Send, Hold]);
        let rises = Notification {
            severity: Severity::Major,
            why: Why::Severity,
            ..notifications[3].clone()
        };
        assert_eq!(filter.judge(3, &rises, NOW_MS), Send);
        assert_eq!(filter.held_start(rises.id), Some(2));
    }

    #[test]
    fn a_sink_is_degraded_for_five_minutes_after_a_suppressed_notification() {
        let store = Store::open(None).unwrap();
        let notifications = notifications(2);
        let mut filter = filter(1, &store, &at(0));
        let minute = |minute: u64| NOW_MS + minute * MINUTE_MS;
        assert_eq!([0, 1].map(|at| judge(&mut filter, &notifications, at)), [Send, Hold]);
        assert_eq!(filter.recently_suppressed(minute(0)), 0);
        for at in [0, 1, 5] {
            // Updates of an alert whose start is held.
            assert_eq!(filter.judge(4, &notifications[3], minute(at)), Suppress(1));
        }
        assert_eq!([5, 9, 10].map(|at| filter.recently_suppressed(minute(at))), [3, 3, 0]);
        filter.judge(4, &notifications[3], minute(11));
        assert_eq!(filter.recently_suppressed(minute(11)), 1);
        // As long as a start is held, it is reported every minute.
        let held = |report: Option<super::Suppressed>| report.map(|it| (it.count, it.held));
        assert_eq!(held(filter.report(minute(11))), Some((4, 1)));
        filter.reported(minute(11));
        assert_eq!([11, 12].map(|at| held(filter.report(minute(at)))), [None, Some((0, 1))]);
    }
}
