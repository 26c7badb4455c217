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
mod slot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::network::subjects::Part;
use front::Front;
use slot::{Parts, Slot};

/// The rule by which slices close.
#[derive(Debug)]
pub(super) struct CloseRule<T> {
    limits: Limits,
    front: Front,
    /// The running slice; none until there is a first one.
    running: Option<u64>,
    /// Deltas that arrived before there was a running slice.
    waiting: Vec<DeltaArrival<T>>,
    /// When the first of these did.
    waiting_since: Option<Moment>,
    /// Deltas of slices that are not closed.
    open: BTreeMap<u64, Slot<T>>,
    /// Bytes of all that waits.
    pending: usize,
    /// Parts that closed slices of the window still lack, by slice and probe.
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
    pub(super) fn deliver(&mut self, now: Moment, arrival: DeltaArrival<T>) -> Verdict<T> {
        let DeltaArrival { probe, slice, part, .. } = arrival;
        if let Some(refusal) = self.judge(now, probe, slice, part) {
            return Verdict::Refused(refusal);
        }
        match self.running {
            None => self.wait(now, arrival),
            Some(running) if slice < running => self.deliver_late(running, arrival),
            Some(running) => self.deliver_open(running, arrival),
        }
    }

    /// Hears that `probe` has come to `slice`, and returns why a `part` of its delta is refused, if it is.
    pub(super) fn judge(
        &mut self,
        now: Moment,
        probe: usize,
        slice: u64,
        part: Part,
    ) -> Option<Refusal> {
        self.front.hear(probe, slice, now);
        let running = self.running?;
        if slice.saturating_add(self.limits.window) <= running {
            return Some(Refusal::Old { slice, running });
        }
        slot::check(part).err().or_else(|| self.too_far_ahead(now, slice))
    }

    fn wait(&mut self, now: Moment, arrival: DeltaArrival<T>) -> Verdict<T> {
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

    fn deliver_late(&mut self, running: u64, arrival: DeltaArrival<T>) -> Verdict<T> {
        let DeltaArrival { probe, slice, part, delta, .. } = arrival;
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

    fn deliver_open(&mut self, running: u64, arrival: DeltaArrival<T>) -> Verdict<T> {
        let DeltaArrival { probe, slice, part, sequence, bytes, delta } = arrival;
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

/// The state of a rule in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RuleState {
    /// The running slice, once there is one.
    pub(super) running: Option<u64>,
    silent: u64,
    probes: BTreeMap<String, ProbeState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeState {
    /// The slice that it spoke of last.
    newest: Option<u64>,
    known_from: u64,
    /// Closed slices of the window that it has not delivered, and what it has of them.
    owed: BTreeMap<u64, Parts>,
}

impl<T> CloseRule<T> {
    /// Returns the state for a checkpoint, with the names of the probes.
    pub(super) fn state(&self, names: &[String]) -> RuleState {
        let mut owed = vec![BTreeMap::new(); names.len()];
        for (&(slice, probe), parts) in &self.owed {
            owed[probe].insert(slice, parts.clone());
        }
        let of_probe = |(probe, owed)| ProbeState {
            newest: self.front.newest(probe),
            known_from: self.known_from[probe],
            owed,
        };
        let probes = owed.into_iter().enumerate().map(of_probe);
        let probes = names.iter().cloned().zip(probes).collect();
        RuleState { running: self.running, silent: self.silent, probes }
    }

    /// The rule that `state` is of.
    pub(super) fn restore(names: &[String], limits: Limits, state: &RuleState) -> Self {
        let mut rule = Self::new(names.len(), limits);
        rule.running = state.running;
        rule.silent = state.silent;
        for (probe, name) in names.iter().enumerate() {
            let Some(kept) = state.probes.get(name) else {
                // Nothing is known of what a new probe delivered before: nothing it says is a repetition.
                rule.known_from[probe] = state.running.unwrap_or(0);
                continue;
            };
            rule.known_from[probe] = kept.known_from;
            let owed = kept.owed.iter().map(|(&slice, parts)| ((slice, probe), parts.clone()));
            rule.owed.extend(owed);
            // It has a say until it had the time to speak: else the first to speak would be the network.
            if let Some(slice) = kept.newest {
                rule.front.hear(probe, slice, Moment::ZERO);
            }
        }
        rule
    }

    /// The last slice up to which everything of `probe` was delivered, of those that are closed.
    pub(super) fn covered(&self, probe: usize) -> Option<u64> {
        let first_owed = self.owed.keys().find(|&&(_, owing)| owing == probe);
        let covered = match first_owed {
            Some(&(slice, _)) => slice.checked_sub(1)?,
            None => self.running?.checked_sub(1)?,
        };
        (covered >= self.known_from[probe]).then_some(covered)
    }
}

/// A point in time, since the collector was started; time rests while it catches up.
pub(super) type Moment = Duration;

/// The bounds of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How long a slice waits for the last probes once the front has reached it.
    pub(super) deadline: Duration,
    /// A probe that was not heard for so long is silent: it has no say in where the front is.
    pub(super) quiet: Duration,
    /// A delta more slices than this ahead of the front is refused.
    pub(super) max_skew: u64,
    /// Bytes of deltas that wait for their slice; those of more than a window ahead get half of it.
    pub(super) max_pending: usize,
    /// Slices in the window: older deltas are of no use.
    pub(super) window: u64,
}

/// A part of a delta, as it arrives. `T` is the delta itself: the rule never looks into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeltaArrival<T> {
    /// Number of the probe.
    pub(super) probe: usize,
    pub(super) slice: u64,
    pub(super) part: Part,
    /// Sequence number of the message in its stream.
    pub(super) sequence: u64,
    /// Bytes of memory that the part occupies.
    pub(super) bytes: usize,
    pub(super) delta: T,
}

/// The decision about an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict<T> {
    /// Merge it: it is of the running slice, or so many slices late.
    Merge {
        delta: T,
        late: u64,
    },
    /// It waits for its slice.
    Held,
    /// It was delivered before: there is nothing to do.
    Repeated,
    Refused(Refusal),
}

/// The reason why an arrival is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("slice {slice} has left the window, {running} is running")]
    Old { slice: u64, running: u64 },
    #[error(
        "slice {slice} is {skew} slices ahead of most probes, which are in slice {front}: set the clock of the probe, or let a probe of a file run at --pace real"
    )]
    Ahead { slice: u64, skew: u64, front: u64 },
    #[error("a delta of {count} parts was announced: no delta has more than {most}")]
    Parts { count: u32, most: u32 },
}

/// The next step of a collector.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CollectorStep<T> {
    /// The first slice runs: skip to it, and deliver what waited for it.
    Begin { slice: u64, waiting: Vec<DeltaArrival<T>> },
    /// The first slice after a long silence runs: skip to it, and `merge`.
    Skip { slice: u64, merge: Vec<T> },
    /// The running slice closes; then `merge` is of the next one.
    Close { close: Close, merge: Vec<T> },
}

/// The close of a slice, with the numbers of probes in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Close {
    pub(super) slice: u64,
    pub(super) cause: Cause,
    /// Delivered all of it.
    pub(super) delivered: Vec<usize>,
    /// Did not, and were heard of recently.
    pub(super) late: Vec<usize>,
    /// Did not, and are silent.
    pub(super) missing: Vec<usize>,
    /// The number of the last slices, this one included, that every probe has delivered, as far as the window reaches.
    pub(super) whole_slices: u32,
}

/// The reason why a slice closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Complete,
    Deadline,
    /// The parts that wait for it fill the memory.
    Crowded,
}
