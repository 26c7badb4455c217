//! Notifications that are not in the database yet, because writing them failed.
//!
//! Invariant: sinks read the waiting notifications after the notifications in the database, with the numbers that they
//! will have in the database.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cursor, NumberedNotice};
use srlg_alerts::notice::Notice;
use srlg_alerts::{AlertId, Status};

/// Notifications and sink positions that could not be stored yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Number of the last notification that the database has stored. This notification may have been pruned since.
    pub(super) stored: i64,
    /// Notifications after number `stored`, in ascending order.
    pub(super) notices: Vec<NumberedNotice>,
    /// Positions of sinks.
    pub(super) cursors: BTreeMap<String, Cursor>,
}

impl Waiting {
    /// Returns the number of the last notification, whether it is stored or waiting.
    pub(super) fn last(&self) -> i64 {
        self.notices.last().map_or(self.stored, |(number, _)| *number)
    }

    pub(super) fn extend(&mut self, notices: &[Notice]) {
        for notice in notices {
            let number = self.last() + 1;
            self.notices.push((number, notice.clone()));
        }
    }

    /// Removes all notifications and positions, because they have been stored.
    pub(super) fn clear(&mut self) {
        self.stored = self.last();
        self.notices.clear();
        self.cursors.clear();
    }

    /// Appends waiting notifications after `number` to `found`, until `found` contains `most` notifications.
    pub(super) fn append_after(&self, number: i64, most: usize, found: &mut Vec<NumberedNotice>) {
        let after = self.notices.iter().filter(|(of, _)| *of > number);
        found.extend(after.take(most.saturating_sub(found.len())).cloned());
    }

    /// Updates `open`, the last notification of each active alert, with the waiting notifications.
    pub(super) fn update_open(&self, open: &mut Vec<NumberedNotice>) {
        let last = last_of_each(&self.notices);
        open.retain(|(_, other)| !last.contains_key(&other.id));
        let mut active: Vec<_> =
            last.into_values().filter(|it| it.1.status != Status::End).collect();
        active.sort_by_key(|(number, _)| *number);
        open.extend(active.into_iter().cloned());
    }

    /// Updates `open` with the waiting notifications up to `number`. `open` contains the alerts that were active at
    /// notification `number` and for which a notification may have been sent.
    pub(super) fn update_open_at(&self, number: i64, open: &mut Vec<AlertId>) {
        let before = || self.notices.iter().take_while(|(of, _)| *of <= number);
        let last = last_of_each(before());
        let unsilenced = before().filter(|(_, notice)| notice.silence.is_none());
        let told = unsilenced.map(|(_, notice)| notice.id).chain(open.iter().copied());
        let told: BTreeSet<AlertId> = told.collect();
        open.retain(|id| !last.contains_key(id));
        let is_open = |notice: &Notice| notice.status != Status::End && told.contains(&notice.id);
        let active = last.into_values().filter(|(_, notice)| is_open(notice));
        open.extend(active.map(|(_, notice)| notice.id));
    }
}

/// Returns the last notification of each alert in `notices`, which must be in ascending order.
fn last_of_each<'a>(
    notices: impl IntoIterator<Item = &'a NumberedNotice>,
) -> BTreeMap<AlertId, &'a NumberedNotice> {
    notices.into_iter().map(|numbered| (numbered.1.id, numbered)).collect()
}
