//! The layout of results for hosts that may be super points: [`Totals`], followed by the [`Records`] of one [`Turn`].

use std::ops::Range;

use srlg_core::Span;
use srlg_core::counter::tagged::Grouping;
use srlg_core::finder::cells::SLOTS;

use super::device::values;

/// Maximum number of hosts in a part.
pub(super) const PART: usize = if cfg!(test) { 4 } else { 1024 };

/// A 32-bit count that the device computes.
#[derive(Clone, Copy)]
pub(super) enum Total {
    Listed,
    /// Listed cells that are held by IPv6 hosts.
    Held,
    /// Hosts that no glimpse dismissed.
    Left,
    /// Hosts in the current part that may reach the threshold.
    Reached,
}

pub(super) const TOTALS_BYTES: usize = 4 * size_of::<u32>();

#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) listed: usize,
    pub(super) held: usize,
    pub(super) left: usize,
    pub(super) reached: usize,
}

impl Totals {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let count = |total: Total| values::<u32>(&bytes[..TOTALS_BYTES])[total as usize] as usize;
        Self {
            listed: count(Total::Listed),
            held: count(Total::Held),
            left: count(Total::Left),
            reached: count(Total::Reached),
        }
    }
}

/// A run of records that are copied together. Their hosts belong to the same part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// Number of hosts in earlier parts.
    pub(super) skip: usize,
    /// Index of the first record within the part.
    pub(super) first: usize,
    /// Maximum number of records in this turn.
    pub(super) records: usize,
}

impl Turn {
    /// Returns the following turn, or `None` after the last one.
    ///
    /// `left` is the number of hosts that no glimpse dismissed. `reached` is the number of hosts in this part that may
    /// be super points.
    pub(super) fn next(self, left: usize, reached: usize) -> Option<Self> {
        let (first, skip) = (self.first + self.records, self.skip + PART);
        if first < reached {
            return Some(Self { skip: self.skip, first, records: (reached - first).min(PART) });
        }
        (skip < left).then(|| Self { skip, first: 0, records: (left - skip).min(PART) })
    }
}

/// Returns the size of one host's bins, in bytes.
pub(super) fn bin_bytes(grouping: Grouping) -> usize {
    grouping.bin_words() * size_of::<u32>()
}

/// Returns the size of `records` records over `span`, in bytes, rounded up to a multiple of 8 bytes.
pub(super) fn record_bytes(span: Span, records: usize) -> usize {
    let [.., recorded] = record_parts(span, records);
    recorded.end.next_multiple_of(size_of::<u64>())
}

/// Returns the byte ranges of the peers, tallies and host indices in a run of `records` records over `span`.
pub(super) fn record_parts(span: Span, records: usize) -> [Range<usize>; 3] {
    let peers = records * SLOTS as usize * size_of::<u64>();
    let tallies = peers + records * bin_bytes(Grouping::of_ages(span));
    [0..peers, peers..tallies, tallies..tallies + records * size_of::<u32>()]
}

/// Returns the byte range of `records` records over `span` in a copy that starts with the totals.
pub(super) fn records_in(span: Span, records: usize) -> Range<usize> {
    TOTALS_BYTES..TOTALS_BYTES + record_bytes(span, records)
}

pub(super) struct Records<'a> {
    peers: &'a [u64],
    tallies: &'a [u32],
    recorded: &'a [u32],
}

pub(super) struct HostRecord<'a> {
    pub(super) number: usize,
    /// Bins of the host by age.
    pub(super) bins: &'a [u32],
    /// Words of the host's cells.
    pub(super) words: &'a [u64],
}

impl<'a> Records<'a> {
    /// Returns the records over `span` in `copy`, which has room for `records` records.
    pub(super) fn new(copy: &'a [u8], span: Span, records: usize) -> Self {
        let bytes = &copy[records_in(span, records)];
        let [peers, tallies, recorded] = record_parts(span, records).map(|part| &bytes[part]);
        Self { peers: values(peers), tallies: values(tallies), recorded: values(recorded) }
    }

    pub(super) fn get(&self, record: usize) -> HostRecord<'a> {
        let (words, slots) = (self.tallies.len() / self.recorded.len(), SLOTS as usize);
        HostRecord {
            number: self.recorded[record] as usize,
            bins: &self.tallies[record * words..][..words],
            words: &self.peers[record * slots..][..slots],
        }
    }
}
