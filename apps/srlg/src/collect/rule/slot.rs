//! Delivered parts of a slice that has not closed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::network::subjects::Part;

/// Maximum number of parts of a probe's slice. Even with parts of the minimum size, a delta that contains all recorders of a
/// default detector needs only a tenth of this number.
const MOST_PARTS: u32 = 1 << 16;

/// Parts that one probe has delivered for one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    count: u32,
    numbers: BTreeSet<u32>,
}

/// A slice that has not closed.
#[derive(Debug)]
pub(super) struct Slot<T> {
    parts: BTreeMap<usize, Parts>,
    held: Vec<T>,
    bytes: usize,
    /// Lowest sequence number of the messages of this slice.
    pub(super) lowest: u64,
}

/// Refuses a slice with more than [`MOST_PARTS`] parts.
pub(super) fn check(part: Part) -> Result<(), Refusal> {
    let (count, most) = (part.count, MOST_PARTS);
    if count > most { Err(Refusal::Parts { count, most }) } else { Ok(()) }
}

impl Parts {
    /// Adds `part` and returns whether it is new.
    pub(super) fn add(&mut self, part: Part) -> bool {
        // If the slice was split again with another part size, all parts arrive again.
        if self.count != part.count {
            self.numbers.clear();
            self.count = part.count;
        }
        self.numbers.insert(part.number)
    }

    pub(super) fn are_complete(&self) -> bool {
        self.count > 0 && self.numbers.len() == self.count as usize
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { parts: BTreeMap::new(), held: Vec::new(), bytes: 0, lowest: u64::MAX }
    }
}

impl<T> Slot<T> {
    /// Adds a part from `probe` and returns whether it is new.
    pub(super) fn add(&mut self, probe: usize, part: Part, sequence: u64) -> bool {
        // A repeated part counts too, because it may be the first message of a stream that starts again.
        self.lowest = self.lowest.min(sequence);
        let parts = self.parts.entry(probe).or_default();
        // A complete slice stays complete, even if it arrives again in different parts.
        !parts.are_complete() && parts.add(part)
    }

    pub(super) fn hold(&mut self, content: T, bytes: usize) {
        self.held.push(content);
        self.bytes += bytes;
    }

    pub(super) fn release(&mut self) -> (Vec<T>, usize) {
        (std::mem::take(&mut self.held), std::mem::take(&mut self.bytes))
    }

    /// Returns the number of probes that have delivered all parts.
    pub(super) fn complete(&self) -> usize {
        self.parts.values().filter(|parts| parts.are_complete()).count()
    }

    /// Returns whether no probe has delivered any part.
    pub(super) fn is_silent(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn take_parts(&mut self, probe: usize) -> Parts {
        self.parts.remove(&probe).unwrap_or_default()
    }
}
