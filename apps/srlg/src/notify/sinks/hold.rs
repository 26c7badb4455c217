//! Which notices a sink is told of, and how many it is not.
//!
//! Invariant: the end of an alert passes, and does not count, if anything of that alert came through, before a restart
//! too; so nobody waits for an end. The end of an alert of which nothing came through is counted as any notice.

use std::collections::HashSet;

use crate::alerts::{AlertId, Gate, Status};
use anyhow::Result;

use crate::notify::notice::Notice;
use crate::notify::store::Store;

pub(super) struct Hold {
    /// Absent where everything passes.
    gate: Option<Gate>,
    /// Alerts that go on of which something came through.
    passed: HashSet<AlertId>,
}

impl Hold {
    /// Makes the hold of a sink that is done with notices of `store` up to number `done`. Which of those were held is not
    /// known, so the ends of all of their alerts pass.
    pub(super) fn new(gate: Option<Gate>, store: &Store, done: i64) -> Result<Self> {
        Ok(Self { gate, passed: open_ids(store, done)? })
    }

    /// Asks whether `notice` may pass at `now_ms`.
    pub(super) fn may_pass(&mut self, notice: &Notice, now_ms: u64) -> bool {
        let Some(gate) = &mut self.gate else { return true };
        let is_end = notice.status == Status::End;
        if is_end && self.passed.contains(&notice.id) {
            return true;
        }
        let passes = gate.admit(now_ms);
        if passes && !is_end {
            self.passed.insert(notice.id);
        }
        passes
    }

    /// Notes that `notice` is done.
    pub(super) fn done(&mut self, notice: &Notice) {
        if notice.status == Status::End {
            self.passed.remove(&notice.id);
        }
    }

    /// Notes that `alerts` were told by other means than notices.
    pub(super) fn told(&mut self, alerts: Vec<AlertId>) {
        if self.gate.is_some() {
            self.passed.extend(alerts);
        }
    }

    /// Notes that notices of `store` were dropped up to number `done`, ends among them.
    pub(super) fn dropped(&mut self, store: &Store, done: i64) -> Result<()> {
        let open = open_ids(store, done)?;
        self.passed.retain(|id| open.contains(id));
        Ok(())
    }

    /// Returns how many notices were held back in minutes that are over at `now_ms`, again and again until that is told.
    pub(super) fn held(&mut self, now_ms: u64) -> u64 {
        self.gate.as_mut().map_or(0, |gate| gate.held_until(now_ms))
    }

    /// Notes that the number of those held back was told.
    pub(super) fn told_held(&mut self) {
        self.gate.iter_mut().for_each(Gate::forget_held);
    }
}

/// Alerts that had not ended at the notice `number`.
fn open_ids(store: &Store, number: i64) -> Result<HashSet<AlertId>> {
    Ok(store.open_at(number)?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use crate::alerts::Gate;

    use super::Hold;
    use crate::notify::store::{Store, tests::notices};

    #[test]
    fn an_end_passes_if_and_only_if_anything_before_it_came_through() {
        let store = Store::open(None).unwrap();
        // The starts of three alerts, their updates, their ends.
        let told = notices(3);
        store.add(&told[..1], &[]).unwrap();
        let mut hold = Hold::new(Some(Gate::new(1)), &store, 1).unwrap();
        let mut may_pass = |at: usize| {
            let passes = hold.may_pass(&told[at], 1_000_000);
            hold.done(&told[at]);
            passes
        };
        // Of the first one nothing has come but before the restart; of the third nothing has come.
        assert_eq!([1, 2, 4, 5].map(&mut may_pass), [true, false, false, false]);
        assert_eq!([6, 7, 8].map(&mut may_pass), [true, true, false]);
        assert_eq!([6, 7].map(&mut may_pass), [false, false], "an end is told once");
        assert_eq!((hold.held(1_059_999), hold.held(1_060_000), hold.held(1_060_001)), (0, 6, 6));
        hold.told_held();
        assert_eq!(hold.held(1_060_002), 0);
    }

    #[test]
    fn what_was_told_otherwise_has_an_end_and_what_was_dropped_has_none() {
        let store = Store::open(None).unwrap();
        let told = notices(2);
        let mut hold = Hold::new(Some(Gate::new(0)), &store, 0).unwrap();
        hold.told(vec![told[0].id, told[1].id]);
        store.add(&told[..5], &[]).unwrap();
        hold.dropped(&store, 5).unwrap();
        assert!(!hold.may_pass(&told[4], 0) && hold.may_pass(&told[5], 0));
    }
}
