//! The rule that decides when slices close and what happens to each message. The rule does no I/O and reads no clock.
//!
//! [`deliver`](CloseRule::deliver) takes an arriving message and returns the verdict on it. [`step`](CloseRule::step)
//! returns the next step. Both functions receive the current time. Slices close in ascending order, and no slice closes
//! twice. The running slice closes as soon as one of these conditions is met:
//!
//! - Every probe has delivered all parts of the slice.
//! - The deadline, counted from the time at which the network's [`Front`] reached the slice, has expired.
//! - Held messages of later slices exceed the memory reserved for them.
//!
//! A message of the running slice is merged immediately. A message of a later slice is held until that slice opens, because
//! a detector cannot merge future slices. A message of a slice before the running one is late, and it is merged into its
//! own slice while that slice is in the window.
//!
//! Invariant: all messages of slices that have not closed follow the message that
//! [`replay_after`](CloseRule::replay_after) returns. Therefore a collector reaches the same state again if it restores
//! a checkpoint and continues reading after that message.

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

#[derive(Debug)]
pub(super) struct CloseRule<T> {
    pub(super) limits: Limits,
    front: Front,
    /// Running slice, or `None` before the first slice.
    running: Option<u64>,
    /// Messages that are held until the first slice is known.
    waiting: Vec<Arrival<T>>,
    waiting_since: Option<Moment>,
    /// Slices that have messages and have not closed, by slice number.
    open: BTreeMap<u64, Slot<T>>,
    /// Memory of all held messages, in bytes.
    pending: usize,
    /// Delivered parts of the incomplete closed slices in the window, by slice and probe.
    owed: BTreeMap<(u64, usize), Parts>,
    /// First slice from which `owed` is complete, for each probe. Repeated messages of earlier slices are not recognised.
    known_from: Vec<u64>,
    /// Number of slices closed since the last slice with a message.
    silent: u64,
}

impl<T> CloseRule<T> {
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

    pub(super) fn deliver(&mut self, now: Moment, arrival: Arrival<T>) -> Verdict<T> {
        let Arrival { probe, slice, part, .. } = arrival;
        if let Some(refusal) = self.judge(now, probe, slice, part) {
            return Verdict::Refused(refusal);
        }
        match self.running {
            None => self.wait(now, arrival),
            Some(running) if slice < running => self.deliver_late(running, arrival),
            Some(running) => self.deliver_open(running, arrival),
        }
    }

    /// Notes that `probe` has reached `slice`. If the slice or the `part` must be refused, returns the reason.
    pub(super) fn judge(
        &mut self,
        now: Moment,
        probe: usize,
        slice: u64,
        part: Part,
    ) -> Option<Refusal> {
        self.front.record(probe, slice, now);
        let running = self.running?;
        if slice.saturating_add(self.limits.window) <= running {
            return Some(Refusal::Old { slice, running });
        }
        slot::check(part).err().or_else(|| self.too_far_ahead(now, slice))
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
        // A probe that is far ahead must leave memory for the other probes.
        let takes_room = skew > window && self.pending > max_pending / 2;
        (skew > max_skew || takes_room).then_some(Refusal::Ahead { slice, skew, front })
    }

    fn deliver_late(&mut self, running: u64, arrival: Arrival<T>) -> Verdict<T> {
        let Arrival { probe, slice, part, content, .. } = arrival;
        let late = running - slice;
        if slice < self.known_from[probe] {
            return Verdict::Merge { content, late };
        }
        let Some(parts) = self.owed.get_mut(&(slice, probe)) else { return Verdict::Repeated };
        let is_new = parts.add(part);
        if parts.are_complete() {
            self.owed.remove(&(slice, probe));
        }
        if is_new { Verdict::Merge { content, late } } else { Verdict::Repeated }
    }

    fn deliver_open(&mut self, running: u64, arrival: Arrival<T>) -> Verdict<T> {
        let Arrival { probe, slice, part, sequence, bytes, content } = arrival;
        let slot = self.open.entry(slice).or_default();
        if !slot.add(probe, part, sequence) {
            return Verdict::Repeated;
        }
        if slice == running {
            return Verdict::Merge { content, late: 0 };
        }
        slot.hold(content, bytes);
        self.pending += bytes;
        Verdict::Held
    }

    /// Returns the sequence number of the message after which a restored collector must continue reading. `last` is the
    /// sequence number of the last message that was read.
    pub(super) fn replay_after(&self, last: u64) -> u64 {
        let open = self.open.values().map(|slot| slot.lowest);
        let waiting = self.waiting.iter().map(|arrival| arrival.sequence);
        open.chain(waiting).min().map_or(last, |lowest| last.min(lowest - 1))
    }

    /// Notes that the stream starts again with new sequence numbers. Messages of slices that have not closed may be
    /// anywhere in the new stream.
    pub(super) fn renumber(&mut self) {
        self.open.values_mut().for_each(|slot| slot.lowest = 1);
        self.waiting.iter_mut().for_each(|arrival| arrival.sequence = 1);
    }

    pub(super) fn running(&self) -> Option<u64> {
        self.running
    }

    /// Returns the front of the network at `now`, or `None` if all probes are silent.
    pub(super) fn front(&self, now: Moment) -> Option<u64> {
        self.front.at(now)
    }

    /// Returns the last slice that `probe` sent, and whether the probe is silent at `now`.
    pub(super) fn heard(&self, probe: usize, now: Moment) -> (Option<u64>, bool) {
        (self.front.newest(probe), self.front.is_silent(probe, now))
    }

    pub(super) fn pending(&self) -> usize {
        self.pending
    }
}

/// State of a rule in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RuleState {
    pub(super) running: Option<u64>,
    silent: u64,
    probes: BTreeMap<String, ProbeState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeState {
    /// Last slice that the probe sent.
    newest: Option<u64>,
    known_from: u64,
    /// Closed slices in the window that the probe has not delivered completely, with the delivered parts.
    owed: BTreeMap<u64, Parts>,
}

impl<T> CloseRule<T> {
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

    pub(super) fn restore(names: &[String], limits: Limits, state: &RuleState) -> Self {
        let mut rule = Self::new(names.len(), limits);
        rule.running = state.running;
        rule.silent = state.silent;
        for (probe, name) in names.iter().enumerate() {
            let Some(kept) = state.probes.get(name) else {
                // Earlier messages of a new probe are unknown, so none of its messages counts as a repetition.
                rule.known_from[probe] = state.running.unwrap_or(0);
                continue;
            };
            rule.known_from[probe] = kept.known_from;
            let owed = kept.owed.iter().map(|(&slice, parts)| ((slice, probe), parts.clone()));
            rule.owed.extend(owed);
            // A known probe counts until it has had time to send, so that the first probe to send does not set the
            // front alone.
            if let Some(slice) = kept.newest {
                rule.front.record(probe, slice, Moment::ZERO);
            }
        }
        rule
    }

    /// Returns the last closed slice up to which `probe` has delivered all slices completely.
    pub(super) fn covered(&self, probe: usize) -> Option<u64> {
        let first_owed = self.owed.keys().find(|&&(_, owing)| owing == probe);
        let covered = match first_owed {
            Some(&(slice, _)) => slice.checked_sub(1)?,
            None => self.running?.checked_sub(1)?,
        };
        (covered >= self.known_from[probe]).then_some(covered)
    }
}

/// Time that the collector has spent waiting while the stream had no unread messages.
pub(super) type Moment = Duration;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Time for which a slice waits for the last probes after the front has reached it.
    pub(super) deadline: Duration,
    /// Time without a message after which a probe is silent and no longer affects the front.
    pub(super) quiet: Duration,
    /// Maximum number of slices by which a message may be ahead of the front.
    pub(super) max_skew: u64,
    /// Maximum memory of held messages, in bytes. Messages that are more than a window ahead of the front are refused while
    /// more than half of this memory is in use.
    pub(super) max_pending: usize,
    /// Length of the window, in slices. Messages about slices that have left the window are refused.
    pub(super) window: u64,
}

/// An arriving message: a part of a probe's slice. `T` is its content, which the rule never inspects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrival<T> {
    pub(super) probe: usize,
    pub(super) slice: u64,
    pub(super) part: Part,
    pub(super) sequence: u64,
    /// Memory of the part, in bytes.
    pub(super) bytes: usize,
    pub(super) content: T,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict<T> {
    /// The message must be merged. Its slice is `late` slices before the running one.
    Merge {
        content: T,
        late: u64,
    },
    /// The message is held until its slice opens.
    Held,
    /// The message is ignored because it was delivered before.
    Repeated,
    Refused(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("slice {slice} has left the window; the running slice is {running}")]
    Old { slice: u64, running: u64 },
    #[error(
        "slice {slice} is {skew} slices ahead of most probes, which are at slice {front}; correct the clock of the probe, or set pace for a file"
    )]
    Ahead { slice: u64, skew: u64, front: u64 },
    #[error("the slice has {count} parts, more than the maximum of {most}")]
    Parts { count: u32, most: u32 },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CollectorStep<T> {
    /// Skip to the first slice, then deliver the messages that were held until it was known.
    Begin { slice: u64, waiting: Vec<Arrival<T>> },
    /// Skip to the first slice after a long silence, then merge its messages.
    Skip { slice: u64, merge: Vec<T> },
    /// Close the running slice, then merge the messages of the next one.
    Close { close: Close, merge: Vec<T> },
}

/// A closed slice. Each list contains probe numbers in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Close {
    pub(super) slice: u64,
    pub(super) cause: Cause,
    /// Probes that delivered the whole slice.
    pub(super) delivered: Vec<usize>,
    /// Probes that did not deliver the whole slice, but were heard from recently.
    pub(super) late: Vec<usize>,
    /// Probes that did not deliver the whole slice and are silent.
    pub(super) missing: Vec<usize>,
    /// Number of consecutive complete slices up to and including this slice. Slices that have left the window count as
    /// complete.
    pub(super) whole_slices: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Complete,
    Deadline,
    /// Held messages of later slices exceeded the memory reserved for them.
    Crowded,
}
