//! [`CloseRule`]: which slice may close, and what becomes of every delta. No input or output, no clock.
//!
//! Shape: [`deliver`](CloseRule::deliver) takes what arrives and says what to do with it,
//! [`step`](CloseRule::step) says what may happen next; both are told the time. Slices close in ascending
//! order, each once:
//!
//! - when every probe has delivered all parts of it,
//! - or the deadline has passed since the network's [`Front`] reached it,
//! - or deltas of later slices, which have to wait for it, fill the memory that is set aside.
//!
//! A delta of the running slice is merged at once. One of a later slice is held until that slice
//! runs, for a detector cannot merge what is ahead of it. One of an earlier slice is late: it is
//! merged into its own slice while this is in the window.
//!
//! Invariant: whatever was delivered of slices that are not closed is at or after the message
//! that [`replay_after`](CloseRule::replay_after) names. So a collector that is restored from a
//! checkpoint and reads on from there gets to the same state, and needs to remember none of it.

mod closing;
mod front;
mod memory;
mod slot;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use front::Front;
pub(super) use memory::RuleState;
use slot::{Parts, Slot};
pub(super) use terms::{Arrival, Cause, Close, Limits, Moment, Refusal, Step, Verdict};

/// The rule by which slices close.
#[derive(Debug)]
pub(super) struct CloseRule<T> {
    limits: Limits,
    front: Front,
    /// The running slice; none until there is a first one.
    running: Option<u64>,
    /// What arrived before there was a running slice.
    waiting: Vec<Arrival<T>>,
    /// When the first of these did.
    waiting_since: Option<Moment>,
    /// What was delivered of slices that are not closed.
    open: BTreeMap<u64, Slot<T>>,
    /// Bytes of all that waits.
    pending: usize,
    /// What closed slices of the window still lack, by slice and probe.
    owed: BTreeMap<(u64, usize), Parts>,
    /// Per probe the first slice since which `owed` is known.
    known_from: Vec<u64>,
    /// Slices that closed recently without a word of anybody.
    silent: u64,
}

impl<T> CloseRule<T> {
    /// A rule for so many probes that knows nothing.
    pub(super) fn new(probes: usize, limits: Limits) -> Self {
        Self {
            limits,
            front: Front::new(probes, limits.quiet),
            running: None,
            waiting: Vec::new(),
            waiting_since: None,
            open: BTreeMap::new(),
            pending: 0,
            owed: BTreeMap::new(),
            known_from: vec![0; probes],
            silent: 0,
        }
    }

    /// Takes what has arrived.
    pub(super) fn deliver(&mut self, now: Moment, arrival: Arrival<T>) -> Verdict<T> {
        self.front.hear(arrival.probe, arrival.slice, now);
        let Some(running) = self.running else { return self.wait(now, arrival) };
        let Arrival { slice, part, .. } = arrival;
        let refused = if slice.saturating_add(self.limits.window) <= running {
            Some(Refusal::Old { slice, running })
        } else {
            slot::check(part).err().or_else(|| self.too_far_ahead(now, slice))
        };
        match refused {
            Some(refusal) => Verdict::Refused(refusal),
            None if slice < running => self.deliver_late(running, arrival),
            None => self.deliver_open(running, arrival),
        }
    }

    fn wait(&mut self, now: Moment, arrival: Arrival<T>) -> Verdict<T> {
        self.waiting_since.get_or_insert(now);
        self.pending += arrival.bytes;
        self.waiting.push(arrival);
        Verdict::Held
    }

    fn too_far_ahead(&self, now: Moment, slice: u64) -> Option<Refusal> {
        let front = self.front.at(now)?;
        let skew = slice.saturating_sub(front);
        let Limits { max_skew, window, max_pending, .. } = self.limits;
        // A probe that is far ahead leaves the others the room that they need.
        let takes_room = skew > window && self.pending > max_pending / 2;
        (skew > max_skew || takes_room).then_some(Refusal::Ahead { slice, skew, front })
    }

    fn deliver_late(&mut self, running: u64, arrival: Arrival<T>) -> Verdict<T> {
        let Arrival { probe, slice, part, delta, .. } = arrival;
        let late = running - slice;
        if slice < self.known_from[probe] {
            return Verdict::Merge { delta, late };
        }
        let Some(parts) = self.owed.get_mut(&(slice, probe)) else { return Verdict::Repeated };
        let is_new = parts.add(part);
        if parts.are_complete() {
            self.owed.remove(&(slice, probe));
        }
        if is_new { Verdict::Merge { delta, late } } else { Verdict::Repeated }
    }

    fn deliver_open(&mut self, running: u64, arrival: Arrival<T>) -> Verdict<T> {
        let Arrival { probe, slice, part, sequence, bytes, delta } = arrival;
        let slot = self.open.entry(slice).or_default();
        if !slot.add(probe, part, sequence) {
            return Verdict::Repeated;
        }
        if slice == running {
            return Verdict::Merge { delta, late: 0 };
        }
        slot.hold(delta, bytes);
        self.pending += bytes;
        Verdict::Held
    }

    /// The message after which a collector that is restored has to read on, where `last` is the last
    /// one that was delivered.
    pub(super) fn replay_after(&self, last: u64) -> u64 {
        let open = self.open.values().map(|slot| slot.lowest);
        let waiting = self.waiting.iter().map(|arrival| arrival.sequence);
        open.chain(waiting).min().map_or(last, |lowest| last.min(lowest - 1))
    }

    /// The stream begins anew, with other numbers: what was delivered of open slices may be anywhere in it.
    pub(super) fn renumber(&mut self) {
        self.open.values_mut().for_each(|slot| slot.lowest = 1);
        self.waiting.iter_mut().for_each(|arrival| arrival.sequence = 1);
    }

    /// The running slice, once there is one.
    pub(super) fn running(&self) -> Option<u64> {
        self.running
    }

    /// Where the network is.
    pub(super) fn front(&self, now: Moment) -> Option<u64> {
        self.front.at(now)
    }

    /// The slice that `probe` spoke of last, and whether it is silent by now.
    pub(super) fn heard(&self, probe: usize, now: Moment) -> (Option<u64>, bool) {
        (self.front.newest(probe), self.front.is_silent(probe, now))
    }

    /// Bytes of deltas that wait.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }
}
