//! The thread of a sink, which reads, filters and sends notifications.
//!
//! Notifications are sent in order. [`SinkFilter`] decides which notifications are sent, and which starts are held and
//! sent later. If a sink without a digest is slow, a severe alert does not wait behind the notifications of others: its
//! unread notifications are sent early. A sink with a digest can send several notifications in one message. It sends a
//! message when the time `digest` has passed since the last message. If a severe alert waits, the message or the queue is
//! full, or the program stops, the sink sends the message earlier.
//!
//! Invariant: the cursor does not pass a notification before that notification is accepted, abandoned, filtered out,
//! dropped, or listed as held. Therefore, after a kill, notifications that were collected but not sent are read again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use tracing::{info, warn};

use super::filter::{SinkFilter, Verdict};
use super::{Channel, Failure, SinkOptions};
use crate::store::{Cursor, NumberedNotification, Store};
use srlg_alerts::AlertId;
use srlg_alerts::notification::Notification;
use srlg_alerts::status::overview::SinkOverview;
use srlg_input::backoff::Backoff;
use srlg_system::now_ms;
use srlg_system::pacing::Every;

/// Maximum number of notifications that are read at once.
const BATCH: usize = 64;

/// Maximum number of notifications in one message of a sink with a digest.
const MOST_IN_DIGEST: usize = 1_000;

/// Maximum number of notifications that are sent early, because each change of the cursor stores their numbers.
const MOST_EARLY: usize = 1_000;

/// Maximum time between two messages of a sink with a digest while a severe alert waits.
const URGENT: Duration = Duration::from_secs(10);

/// Minimum and maximum delay after a failure, before it is shortened at random.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Interval at which an idle sink checks for periodic work.
const TICK: Duration = Duration::from_secs(1);

pub(super) struct Worker {
    name: String,
    channel: Box<dyn Channel>,
    store: Store,
    cursor: Cursor,
    /// Minimum time between two messages; zero if each notification is a separate message.
    digest: Duration,
    /// Time of the last message.
    last_sent: Option<Instant>,
    /// Notifications that the next message will contain.
    group: Vec<NumberedNotification>,
    /// Number of the last notification that was read, including notifications that were filtered out.
    read: i64,
    /// Number of the last notification that was searched for severe alerts.
    searched: i64,
    search: Every,
    /// Whether the cursor or the held starts have changed since they were stored.
    is_unsaved: bool,
    /// Maximum number of waiting notifications.
    queue: i64,
    /// Maximum number of attempts for one message; `None` if there is no limit.
    attempts: Option<u32>,
    filter: SinkFilter,
    wake: Wake,
    backoff: Backoff,
    error: Option<String>,
    /// Whether the last access to the database failed.
    is_blind: bool,
    log_dropped: Every,
}

impl Worker {
    pub(super) fn new(
        name: String,
        channel: Box<dyn Channel>,
        options: &SinkOptions,
        store: Store,
        cursor: Cursor,
    ) -> Result<Self> {
        let digest = channel.digest();
        let limit = options.most_per_minute().filter(|_| digest.is_zero());
        let filter = SinkFilter::new(&options.only, limit, &store, &cursor)?;
        let read = cursor.done;
        let worker = Self {
            name,
            channel,
            store,
            cursor,
            digest,
            last_sent: None,
            group: Vec::new(),
            read,
            searched: read,
            search: Every::from_now(TICK),
            is_unsaved: false,
            queue: i64::from(options.queue),
            attempts: options.attempts(),
            filter,
            wake: Wake::default(),
            backoff: Backoff::new(PAUSES[0], PAUSES[1]),
            error: None,
            is_blind: false,
            log_dropped: Every::new(PAUSES[1]),
        };
        worker.update_overview(0);
        Ok(worker)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn wake(&self) -> Wake {
        self.wake.clone()
    }

    pub(super) fn run(mut self) {
        loop {
            // One more step after the stop signal sends all collected notifications.
            let is_stopped = self.wake.until().is_some();
            let step = if self.is_late() { Ok(false) } else { self.step() };
            if step.is_ok() && std::mem::take(&mut self.is_blind) {
                self.record_success();
            }
            match step {
                Ok(true) => {}
                Ok(false) if is_stopped => break,
                Ok(false) => self.wake.wait(TICK),
                Err(error) => {
                    self.is_blind = true;
                    self.record_failure(&error);
                    self.update_overview(self.wake.overview().queue as i64);
                    self.wake.pause(PAUSES[0]);
                }
            }
        }
        if !self.is_late() {
            // This also reports notifications that were suppressed in the current minute.
            self.report_suppressed(u64::MAX);
        }
    }

    fn is_late(&self) -> bool {
        self.wake.until().is_some_and(|until| Instant::now() >= until)
    }

    /// Processes the next notifications. Returns whether the next step should follow immediately.
    fn step(&mut self) -> Result<bool> {
        let waiting = self.store.last() - self.cursor.done;
        if waiting > self.queue {
            self.drop_oldest(waiting - self.queue)?;
        }
        self.update_overview(waiting.min(self.queue));
        let is_time = self.is_time();
        if is_time {
            self.report_suppressed(now_ms());
        }
        if self.is_full() && !self.flush()? {
            return Ok(self.wake.until().is_none());
        }
        let batch = self.store.after(self.read, BATCH)?;
        let count = batch.len();
        for (number, notification) in batch {
            if !self.send_severe()? || !self.judge(number, notification)? {
                return Ok(self.wake.until().is_none());
            }
            self.read = number;
            if self.group.is_empty() {
                (self.cursor.done, self.is_unsaved) = (number, true);
            }
            if self.is_full() && !self.flush()? {
                return Ok(self.wake.until().is_none());
            }
        }
        if (self.group.is_empty() || count < BATCH && is_time) && !self.flush()? {
            return Ok(self.wake.until().is_none());
        }
        // All other notifications come first, so that no severe one waits behind a held start.
        let mut is_held_sent = false;
        if count == 0
            && let Some(number) = self.filter.next_held(now_ms())
        {
            is_held_sent = self.send_held(number)?;
        }
        self.tick();
        let left = self.store.last() - self.cursor.done;
        self.update_overview(left);
        Ok(count > 0 || is_held_sent)
    }

    /// Decides about the notification `number`, and adds it to the next message if it is to be sent. Returns false in the
    /// same cases as [`flush`](Self::flush); nothing is decided then.
    fn judge(&mut self, number: i64, notification: Notification) -> Result<bool> {
        if self.cursor.early.remove(&number) {
            return Ok(true);
        }
        let verdict = self.filter.judge(number, &notification, now_ms());
        if verdict == Verdict::Send
            && let Some(start) = self.filter.held_start(notification.id)
            && !self.send_held(start)?
        {
            return Ok(false);
        }
        match verdict {
            Verdict::Send => self.group.push((number, notification)),
            Verdict::Suppress(count) => self.cursor.dropped += count as i64,
            Verdict::Hold | Verdict::Leave => {}
        }
        Ok(true)
    }

    /// Searches the unread notifications for severe alerts whose first notification or rise waits, and sends all that
    /// waits of these alerts, in order. Files and digests take nothing early. This is done at most once per second, so a
    /// sink that keeps up hardly searches. Returns false in the same cases as [`flush`](Self::flush).
    fn send_severe(&mut self) -> Result<bool> {
        if !self.channel.takes_early() || !self.search.is_due() {
            return Ok(true);
        }
        self.searched = self.searched.max(self.read);
        loop {
            let batch = self.store.after(self.searched, BATCH)?;
            if batch.is_empty() {
                return Ok(true);
            }
            for (number, notification) in batch {
                if self.filter.is_first_severe(&notification) {
                    if self.cursor.early.len() >= MOST_EARLY {
                        return Ok(true);
                    }
                    if !self.send_early(notification.id, number)? {
                        return Ok(false);
                    }
                }
                self.searched = number;
            }
        }
    }

    /// Sends the unread notifications of the alert `id` up to `last` before those of other alerts.
    fn send_early(&mut self, id: AlertId, last: i64) -> Result<bool> {
        for (number, notification) in self.store.between(id, self.read, last)? {
            if self.cursor.early.contains(&number) {
                continue;
            }
            if !self.judge(number, notification)? || !self.flush()? {
                return Ok(false);
            }
            // A notification that is not sent is also decided.
            self.cursor.early.insert(number);
        }
        self.save()?;
        Ok(true)
    }

    /// Returns whether the collected notifications must be sent now, because they fill a message or the queue is full.
    fn is_full(&self) -> bool {
        let most = if self.digest.is_zero() { 1 } else { MOST_IN_DIGEST };
        let is_queue_full = self.read - self.cursor.done >= self.queue;
        self.group.len() >= most || (is_queue_full && !self.group.is_empty())
    }

    /// Returns whether a message may be sent, because the digest is due or the program is stopping.
    fn is_time(&self) -> bool {
        let is_urgent = self.group.iter().any(|(_, notification)| notification.is_urgent());
        let digest = if is_urgent { self.digest.min(URGENT) } else { self.digest };
        self.last_sent.is_none_or(|sent| sent.elapsed() >= digest) || self.wake.until().is_some()
    }

    fn tick(&mut self) {
        let (store, filter) = (&self.store, &self.filter);
        let open = || {
            let open = store.open_alerts()?.into_iter().map(|(_, notification)| notification);
            Ok(open.filter(|notification| filter.wants(notification)).collect::<Vec<_>>())
        };
        match self.channel.tick(&open) {
            Ok(sent) if sent.is_empty() => {}
            Ok(sent) => {
                self.filter.mark_sent(sent);
                self.record_success();
            }
            Err(Failure::Refused(error) | Failure::Failed(error)) => {
                self.cursor.failed += 1;
                self.record_failure(&error);
                self.back_off();
            }
        }
    }

    /// Sends the held start `number`. Returns false in the same cases as [`flush`](Self::flush); the start then stays
    /// held.
    fn send_held(&mut self, number: i64) -> Result<bool> {
        let mut id = None;
        if let Some(start) = self.store.notification(number)? {
            let group = [start];
            if !self.send(&group)? {
                return Ok(false);
            }
            id = Some(group[0].1.id);
        }
        self.filter.release(number, id);
        self.save()?;
        Ok(true)
    }

    /// Stores the cursor.
    fn save(&mut self) -> Result<()> {
        self.cursor.held = self.filter.held();
        self.store.set_cursor(&self.name, &self.cursor)
    }

    /// Sends the collected notifications and moves the cursor. Returns false if the program must stop or if too many
    /// notifications wait.
    fn flush(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_unsaved) {
            self.save()?;
        }
        let group = std::mem::take(&mut self.group);
        if !group.is_empty() {
            let sent = self.send(&group);
            if !matches!(sent, Ok(true)) {
                self.group = group;
                return sent;
            }
            self.last_sent = Some(Instant::now());
        }
        for (number, notification) in &group {
            self.filter.done(notification);
            if *number > self.read {
                self.cursor.early.insert(*number);
            }
        }
        if self.cursor.done < self.read {
            self.cursor.done = self.read;
            self.save()?;
        }
        Ok(true)
    }

    /// Tries to send `group` until it is accepted or abandoned. Returns false in the same cases as
    /// [`flush`](Self::flush).
    fn send(&mut self, group: &[NumberedNotification]) -> Result<bool> {
        let mut attempts = 0;
        loop {
            let error = match self.channel.send_all(group) {
                Ok(_answer) => {
                    self.cursor.sent += group.len() as i64;
                    self.record_success();
                    return Ok(true);
                }
                Err(Failure::Refused(error)) => {
                    self.give_up(group, &error);
                    return Ok(true);
                }
                Err(Failure::Failed(error)) => error,
            };
            self.cursor.failed += 1;
            attempts += 1;
            if self.attempts.is_some_and(|most| attempts >= most) {
                self.give_up(group, &error);
                return Ok(true);
            }
            self.record_failure(&error);
            self.update_overview(self.store.last() - self.cursor.done);
            if self.is_late() {
                self.save()?;
                return Ok(false);
            }
            self.back_off();
            // Too many notifications may have arrived in the meantime.
            if self.store.last() - self.cursor.done > self.queue {
                return Ok(false);
            }
        }
    }

    /// Reports the notifications that the rate limit suppressed or holds, if a report is due at `now_ms`. If sending
    /// fails, it is tried again later. If the report is rejected, it is dropped.
    fn report_suppressed(&mut self, now_ms: u64) {
        let Some(report) = self.filter.report(now_ms) else { return };
        match self.channel.report_suppressed(&report) {
            Err(Failure::Failed(error)) => {
                self.cursor.failed += 1;
                self.record_failure(&error);
                self.back_off();
                return;
            }
            Err(Failure::Refused(error)) => {
                warn!("sink {}: cannot report suppressed notifications: {error:#}", self.name);
            }
            Ok(()) => self.record_success(),
        }
        self.last_sent = Some(Instant::now());
        warn!("sink {}: {}", self.name, report.text());
        self.filter.reported(now_ms);
    }

    /// Waits before the next attempt.
    fn back_off(&mut self) {
        self.wake.pause(self.backoff.delay());
    }

    fn drop_oldest(&mut self, count: i64) -> Result<()> {
        let done = self.cursor.done + count;
        let read = self.group.extract_if(.., |(number, _)| *number <= done);
        let read = read.filter(|(number, _)| *number <= self.read).count() as i64;
        let early = self.cursor.early.split_off(&(done + 1));
        let early = std::mem::replace(&mut self.cursor.early, early).len() as i64;
        let unread = (done - self.read).max(0);
        self.read += unread;
        self.cursor.dropped += read + unread - early;
        self.cursor.done = done;
        self.filter.dropped(&self.store, &self.cursor)?;
        self.save()?;
        self.filter.mark_sent(self.group.iter().map(|(_, notification)| notification.id).collect());
        if self.log_dropped.is_due() {
            warn!(
                "sink {}: the queue is full with {} notifications; the oldest are dropped ({} dropped, rejected or suppressed so far)",
                self.name, self.queue, self.cursor.dropped
            );
        }
        Ok(())
    }

    fn give_up(&mut self, group: &[NumberedNotification], error: &anyhow::Error) {
        self.cursor.dropped += group.len() as i64;
        for (_, Notification { id, status, .. }) in group {
            warn!("sink {}: {status} notification of incident {id} dropped: {error:#}", self.name);
        }
    }

    /// Stores the last failure, and logs the first one after a success.
    fn record_failure(&mut self, error: &anyhow::Error) {
        if self.error.replace(format!("{error:#}")).is_none() {
            warn!("sink {}: cannot send, retrying: {error:#}", self.name);
        }
    }

    /// Clears the last failure, and logs the first success after it.
    fn record_success(&mut self) {
        self.backoff.reset();
        if self.error.take().is_some() {
            info!("sink {}: sending works again", self.name);
        }
    }

    fn update_overview(&self, queue: i64) {
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        self.wake.set_overview(SinkOverview {
            name: self.name.clone(),
            sent: count(self.cursor.sent),
            failed: count(self.cursor.failed),
            dropped: count(self.cursor.dropped),
            suppressed: self.filter.recently_suppressed(now_ms()),
            held: self.filter.held_len() as u64,
            queue: count(queue),
            error: self.error.clone(),
        });
    }
}

/// The state that the thread of a sink shares with other threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Wake(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    is_woken: bool,
    until: Option<Instant>,
    overview: SinkOverview,
}

impl Wake {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
        self.lock().is_woken = true;
        self.0.1.notify_all();
    }

    /// Requests that the thread stop when no notifications are waiting, and at `until` at the latest.
    pub(super) fn stop(&self, until: Instant) {
        self.lock().until = Some(until);
        self.0.1.notify_all();
    }

    pub(super) fn wait(&self, most: Duration) {
        let is_calm = |state: &mut State| !state.is_woken && state.until.is_none();
        let wait = self.0.1.wait_timeout_while(self.lock(), most, is_calm);
        wait.unwrap_or_else(PoisonError::into_inner).0.is_woken = false;
    }

    /// Waits for `most`, or until [`stop`](Self::stop) is called. After a call of `stop`, waits until its deadline at
    /// the latest.
    pub(super) fn pause(&self, most: Duration) {
        let state = self.lock();
        let most = state
            .until
            .map_or(most, |until| most.min(until.saturating_duration_since(Instant::now())));
        let had_end = state.until.is_some();
        let wait =
            self.0.1.wait_timeout_while(state, most, |state| state.until.is_some() == had_end);
        drop(wait);
    }

    /// Returns the time at which the thread must stop, or `None` if [`stop`](Self::stop) was not called.
    pub(super) fn until(&self) -> Option<Instant> {
        self.lock().until
    }

    pub(super) fn overview(&self) -> SinkOverview {
        self.lock().overview.clone()
    }

    pub(super) fn set_overview(&self, overview: SinkOverview) {
        self.lock().overview = overview;
    }
}
