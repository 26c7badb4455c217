//! Notices that the database has not taken yet, because its disk is full.
//!
//! Invariant: sinks read them behind those of the database, by the numbers that they will have there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cursor, NumberedNotice};
use crate::alerts::{AlertId, Status};
use crate::notify::notice::Notice;

/// What waits for room on the disk.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The number of the last notice in the database, which may be forgotten.
    pub(super) stored: i64,
    /// Notices after that one, in their order.
    pub(super) notices: Vec<NumberedNotice>,
    /// Positions of sinks.
    pub(super) cursors: BTreeMap<String, Cursor>,
}

impl Waiting {
    /// Returns the number of the last notice.
    pub(super) fn last(&self) -> i64 {
        self.notices.last().map_or(self.stored, |(number, _)| *number)
    }

    /// Adds notices, with the next numbers.
    pub(super) fn extend(&mut self, notices: &[Notice]) {
        for notice in notices {
            let number = self.last() + 1;
            self.notices.push((number, notice.clone()));
        }
    }

    /// Notes that the database has everything.
    pub(super) fn clear(&mut self) {
        self.stored = self.last();
        self.notices.clear();
        self.cursors.clear();
    }

    /// Appends to `found`, which has notices of the database after `number`, those that wait, up to `most` in all.
    pub(super) fn append_after(&self, number: i64, most: usize, found: &mut Vec<NumberedNotice>) {
        let after = self.notices.iter().filter(|(of, _)| *of > number);
        found.extend(after.take(most.saturating_sub(found.len())).cloned());
    }

    /// Brings the last notices of active alerts up to date.
    pub(super) fn update_open(&self, open: &mut Vec<NumberedNotice>) {
        let last = last_of_each(&self.notices);
        open.retain(|(_, other)| !last.contains_key(&other.id));
        let mut active: Vec<_> =
            last.into_values().filter(|it| it.1.status != Status::End).collect();
        active.sort_by_key(|(number, _)| *number);
        open.extend(active.into_iter().cloned());
    }

    /// Brings the alerts that were active at the notice `number` up to date.
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

/// Returns the last one of each alert of `notices`, which are in their order.
fn last_of_each<'a>(
    notices: impl IntoIterator<Item = &'a NumberedNotice>,
) -> BTreeMap<AlertId, &'a NumberedNotice> {
    notices.into_iter().map(|numbered| (numbered.1.id, numbered)).collect()
}
