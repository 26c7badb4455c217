//! [`Slot`]: what was delivered of one open slice. [`Parts`]: of one probe.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::network::subjects::Part;

/// Most parts of a delta: one of all recorders of a default detector has a tenth of them, at the
/// smallest size of parts.
const MOST_PARTS: u32 = 1 << 16;

/// The parts that a probe has delivered of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parts {
    count: u32,
    numbers: BTreeSet<u32>,
}

/// A slice that is not closed.
#[derive(Debug)]
pub(super) struct Slot<T> {
    parts: BTreeMap<usize, Parts>,
    held: Vec<T>,
    bytes: usize,
    /// The first message of the slice.
    pub(super) lowest: u64,
}

/// Whether a delta can have so many parts.
pub(super) fn check(part: Part) -> Result<(), Refusal> {
    let (count, most) = (part.count, MOST_PARTS);
    if count > most { Err(Refusal::Parts { count, most }) } else { Ok(()) }
}

impl Parts {
    /// Adds `part`, and returns whether it is new.
    pub(super) fn add(&mut self, part: Part) -> bool {
        // The delta was cut anew, into parts of another size: all of them come again.
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
    /// Adds a part of `probe`, and returns whether it is new.
    pub(super) fn add(&mut self, probe: usize, part: Part, sequence: u64) -> bool {
        // Also for what is repeated: it may be the first one of a stream that begins anew.
        self.lowest = self.lowest.min(sequence);
        let parts = self.parts.entry(probe).or_default();
        // What is complete stays so, however it is cut when it comes again.
        !parts.are_complete() && parts.add(part)
    }

    pub(super) fn hold(&mut self, delta: T, bytes: usize) {
        self.held.push(delta);
        self.bytes += bytes;
    }

    /// What is held, and its bytes; nothing is held any longer.
    pub(super) fn release(&mut self) -> (Vec<T>, usize) {
        (std::mem::take(&mut self.held), std::mem::take(&mut self.bytes))
    }

    /// How many probes have delivered all of their parts.
    pub(super) fn complete(&self) -> usize {
        self.parts.values().filter(|parts| parts.are_complete()).count()
    }

    /// Nobody has delivered anything.
    pub(super) fn is_silent(&self) -> bool {
        self.parts.is_empty()
    }

    /// The parts of `probe`.
    pub(super) fn take(&mut self, probe: usize) -> Parts {
        self.parts.remove(&probe).unwrap_or_default()
    }
}
