//! Packets and bytes of a host within the last minute, counted from its contacts that one exporter reported.
//!
//! Counts are summed in slots of 5 s. The slots are aligned to the Unix epoch, so the slots of different threads and
//! sites can be added. A contact counts at its own time or at the end of the last closed slice, whichever is later.
//! Exporters report a flow some seconds after its last packet, so the newest seconds would otherwise always be
//! incomplete.
//!
//! Invariant: there are at most 16 slots, and no sum overflows.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use srlg_input::contact::Contact;

use crate::notification::Rates;
use crate::top::at_most;

const SLOT_MS: u64 = 5_000;

/// Number of slots in a mean. The newest slot may be incomplete.
const MEAN: u64 = 12;

/// Maximum delay of a contact, from its own time to the end of the last closed slice, in milliseconds. Contacts that
/// have a longer delay are not counted.
pub(super) const MOST_LATE_MS: u64 = MEAN * SLOT_MS;

/// Maximum number of stored slots. It exceeds [`MEAN`], because contacts may be newer than the closing slice.
const SLOTS: usize = 16;

/// Minimum period of a mean, and maximum accepted difference between the start times of sources, in milliseconds.
const LEAST_MS: u64 = 1_000;

/// Packets and bytes of a host in recent slots, according to one exporter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// Time from which at least one merged source counts contacts, in milliseconds since the Unix epoch.
    since_ms: Option<u64>,
    /// Time from which all merged sources count contacts, in milliseconds since the Unix epoch.
    whole_since_ms: Option<u64>,
    #[serde(deserialize_with = "at_most::<SLOTS, _, _>")]
    slots: Vec<Slot>,
    last: LastTimes,
    /// Whether other exporters reported the host too, so that the rates are lower bounds.
    #[serde(default)]
    is_partial: bool,
}

/// Packets and bytes of a slot. The counts of each contact are multiplied by its sampling rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Slot {
    /// Number of the slot, counted from the Unix epoch.
    number: u64,
    packets: u64,
    octets: u64,
}

impl Slot {
    fn plus(self, other: &Self) -> Self {
        let packets = self.packets.saturating_add(other.packets);
        let octets = self.octets.saturating_add(other.octets);
        Self { packets, octets, ..self }
    }
}

/// Time of the last contact of each kind, in milliseconds since the Unix epoch; 0 if there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LastTimes {
    any_ms: u64,
    sampled_ms: u64,
    /// Time of the last contact that was too late, or whose size or sampling rate is unknown.
    unknown_ms: u64,
    /// Time of the last contact that may be a flow of several packets.
    flow_ms: u64,
}

impl LastTimes {
    fn merge(&mut self, other: &Self) {
        self.any_ms = self.any_ms.max(other.any_ms);
        self.sampled_ms = self.sampled_ms.max(other.sampled_ms);
        self.unknown_ms = self.unknown_ms.max(other.unknown_ms);
        self.flow_ms = self.flow_ms.max(other.flow_ms);
    }
}

impl Volume {
    pub(crate) fn new(since_ms: u64) -> Self {
        Self { since_ms: Some(since_ms), whole_since_ms: Some(since_ms), ..Self::default() }
    }

    /// Returns an empty volume for later contacts, with the start times of this volume.
    pub(crate) fn rest(&self) -> Self {
        let Self { since_ms, whole_since_ms, .. } = *self;
        let last = LastTimes { any_ms: self.last.any_ms, ..LastTimes::default() };
        Self { since_ms, whole_since_ms, last, ..Self::default() }
    }

    /// Returns this volume as one of several exporters.
    pub(super) fn into_partial(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// Returns the time of the last contact, in milliseconds since the Unix epoch; 0 if there was none.
    pub(super) const fn last_ms(&self) -> u64 {
        self.last.any_ms
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a contact; `closed_ms` is the end of the last closed slice.
    pub(crate) fn add(&mut self, contact: &Contact, closed_ms: u64) {
        let own_ms = contact.time_ns / 1_000_000;
        let time_ms = own_ms.max(closed_ms);
        if time_ms - own_ms > MOST_LATE_MS {
            self.last.unknown_ms = self.last.unknown_ms.max(time_ms);
            return;
        }
        if self.last.any_ms == 0 {
            self.start(time_ms);
        }
        // A contact without an exporter was captured, so every packet was seen.
        let sampling = contact.sampling.map_or(1, |rate| u64::from(rate.get()));
        let is_sampling_known = contact.sampling.is_some() || contact.exporter.is_none();
        let is_known = contact.packets.is_some() && contact.octets.is_some() && is_sampling_known;
        let is_packet = contact.packets == Some(NonZeroU64::MIN);
        let when = |is_so: bool| if is_so { time_ms } else { 0 };
        self.last.merge(&LastTimes {
            any_ms: time_ms,
            sampled_ms: when(sampling > 1),
            unknown_ms: when(!is_known),
            flow_ms: when(!is_packet),
        });
        let scaled =
            |count: Option<NonZeroU64>| count.map_or(0, NonZeroU64::get).saturating_mul(sampling);
        let [packets, octets] = [contact.packets, contact.octets].map(scaled);
        self.add_slot(Slot { number: time_ms / SLOT_MS, packets, octets });
    }

    /// Sets the start to the time of the first contact, unless the known start is more than one slot earlier. A slice
    /// closes shortly after its end, and contacts between its end and its close may not have been counted.
    fn start(&mut self, time_ms: u64) {
        let is_long_before = |since_ms: &u64| time_ms.saturating_sub(*since_ms) > SLOT_MS;
        let since_ms = self.since_ms.filter(is_long_before).unwrap_or(time_ms);
        (self.since_ms, self.whole_since_ms) = (Some(since_ms), Some(since_ms));
    }

    /// Merges `other`, which comes from another thread or site.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.last.any_ms == 0 {
            (self.since_ms, self.whole_since_ms) = (other.since_ms, other.whole_since_ms);
        } else if other.last.any_ms > 0 {
            self.since_ms = self.since_ms.into_iter().chain(other.since_ms).min();
            self.whole_since_ms = self.whole_since_ms.max(other.whole_since_ms);
        }
        other.slots.iter().for_each(|slot| self.add_slot(*slot));
        self.last.merge(&other.last);
        self.is_partial |= other.is_partial;
    }

    fn add_slot(&mut self, slot: Slot) {
        if let Some(sum) = self.slots.iter_mut().find(|sum| sum.number == slot.number) {
            *sum = sum.plus(&slot);
        } else if self.slots.len() < SLOTS {
            self.slots.push(slot);
        } else if let Some(oldest) = self.slots.iter_mut().min_by_key(|sum| sum.number)
            && oldest.number < slot.number
        {
            *oldest = slot;
        }
    }

    /// Returns the mean rates in the minute before `now_ms`. If only single packets were counted and the start is less
    /// than a minute ago, the means cover only the time since the start.
    pub fn rates(&self, now_ms: u64) -> Rates {
        let current = now_ms.saturating_sub(1) / SLOT_MS;
        let first = (current + 1).saturating_sub(MEAN);
        let in_mean = self.slots.iter().filter(|slot| (first..=current).contains(&slot.number));
        let sums = in_mean.fold(Slot::default(), Slot::plus);
        // Contacts arrive before their slice closes.
        let end_ms = now_ms.max(self.last.any_ms.min((current + 1).saturating_mul(SLOT_MS)));
        let first_ms = first.saturating_mul(SLOT_MS);
        let is_in_mean = |time_ms: u64| time_ms > 0 && time_ms >= first_ms;
        // A flow that has just been reported may have lasted a minute, so flows need a whole minute for a mean.
        let is_of_flows = is_in_mean(self.last.flow_ms);
        let since_ms = self.since_ms.unwrap_or(now_ms);
        let start_ms = if is_of_flows { first_ms } else { first_ms.max(since_ms) };
        let seconds = end_ms.saturating_sub(start_ms).max(LEAST_MS) as f64 / 1e3;
        let whole_since_ms = self.whole_since_ms.unwrap_or(now_ms);
        let is_one_later = whole_since_ms.saturating_sub(since_ms) > LEAST_MS;
        let is_incomplete = whole_since_ms > first_ms && (is_of_flows || is_one_later);
        // Contacts that were far ahead may have replaced the first slots of the mean.
        let oldest = self.slots.iter().map(|slot| slot.number).min().unwrap_or(0);
        let is_cut = self.slots.len() == SLOTS && oldest > first;
        let rate = |sum: u64, per: f64| (sum as f64 * per / seconds).round() as u64;
        let is_any = |count: fn(&Slot) -> u64| self.slots.iter().any(|slot| count(slot) > 0);
        Rates {
            packets_per_second: is_any(|slot| slot.packets).then(|| rate(sums.packets, 1.0)),
            bits_per_second: is_any(|slot| slot.octets).then(|| rate(sums.octets, 8.0)),
            is_rate_scaled: is_in_mean(self.last.sampled_ms),
            is_rate_lower_bound: self.is_partial
                || is_incomplete
                || is_cut
                || is_in_mean(self.last.unknown_ms),
            is_rate_upper_bound: false,
        }
    }
}

#[cfg(test)]
mod tests;
