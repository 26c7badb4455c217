//! Notifications that are not in the database yet, because writing them failed.
//!
//! Invariant: sinks read the waiting notifications after the notifications in the database, with the numbers that they
//! will have in the database.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cursor, NumberedNotification};
use srlg_alerts::notification::Notification;
use srlg_alerts::{AlertId, Status};

/// Notifications and sink positions that could not be stored yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Number of the last notification that the database has stored. This notification may have been pruned since.
    pub(super) stored: i64,
    /// Notifications after number `stored`, in ascending order.
    pub(super) notifications: Vec<NumberedNotification>,
    /// Positions of sinks.
    pub(super) cursors: BTreeMap<String, Cursor>,
}

impl Waiting {
    /// Returns the number of the last notification, whether it is stored or waiting.
    pub(super) fn last(&self) -> i64 {
        self.notifications.last().map_or(self.stored, |(number, _)| *number)
    }

    pub(super) fn extend(&mut self, notifications: &[Notification]) {
        for notification in notifications {
            let number = self.last() + 1;
            self.notifications.push((number, notification.clone()));
        }
    }

    /// Removes all notifications and positions, because they have been stored.
    pub(super) fn clear(&mut self) {
        self.stored = self.last();
        self.notifications.clear();
        self.cursors.clear();
    }

    /// Appends waiting notifications after `number` to `found`, until `found` contains `most` notifications.
    pub(super) fn append_after(
        &self,
        number: i64,
        most: usize,
        found: &mut Vec<NumberedNotification>,
    ) {
        let after = self.notifications.iter().filter(|(of, _)| *of > number);
        found.extend(after.take(most.saturating_sub(found.len())).cloned());
    }

    /// Updates `open`, the last notification of each active alert, with the waiting notifications.
    pub(super) fn update_open(&self, open: &mut Vec<NumberedNotification>) {
        let last = last_of_each(&self.notifications);
        open.retain(|(_, other)| !last.contains_key(&other.id));
        let mut active: Vec<_> =
            last.into_values().filter(|it| it.1.status != Status::End).collect();
        active.sort_by_key(|(number, _)| *number);
        open.extend(active.into_iter().cloned());
    }

    /// Updates `open` with the waiting notifications up to `number`. `open` contains the alerts that were active at
    /// notification `number` and for which a notification may have been sent.
    pub(super) fn update_open_at(&self, number: i64, open: &mut Vec<AlertId>) {
        let before = || self.notifications.iter().take_while(|(of, _)| *of <= number);
        let last = last_of_each(before());
        let unsilenced = before().filter(|(_, notification)| notification.silence.is_none());
        let notified =
            unsilenced.map(|(_, notification)| notification.id).chain(open.iter().copied());
        let notified: BTreeSet<AlertId> = notified.collect();
        open.retain(|id| !last.contains_key(id));
        let is_open = |notification: &Notification| {
            notification.status != Status::End && notified.contains(&notification.id)
        };
        let active = last.into_values().filter(|(_, notification)| is_open(notification));
        open.extend(active.map(|(_, notification)| notification.id));
    }
}

/// Returns the last notification of each alert in `notifications`, which must be in ascending order.
fn last_of_each<'a>(
    notifications: impl IntoIterator<Item = &'a NumberedNotification>,
) -> BTreeMap<AlertId, &'a NumberedNotification> {
    notifications.into_iter().map(|numbered| (numbered.1.id, numbered)).collect()
}
