//! What comes back of hosts that may be super points: [`Totals`], then [`Records`].

use std::ops::Range;

use srlg_core::Span;
use srlg_core::counter::tagged::Grouping;
use srlg_core::finder::cells::SLOTS;

use super::device::values;

/// Hosts of a part.
pub(super) const PART: usize = if cfg!(test) { 4 } else { 1024 };

/// Says what is counted on the device: a word each.
#[derive(Clone, Copy)]
pub(super) enum Total {
    /// Hosts that the search listed.
    Listed,
    /// Cells of IPv6 hosts that the search listed.
    Held,
    /// Hosts that the glimpses leave.
    Left,
    /// Hosts of a part that may reach the threshold.
    Reached,
}

/// Bytes of all totals.
pub(super) const TOTALS_BYTES: usize = 4 * size_of::<u32>();

/// The totals as they come back.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    pub(super) listed: usize,
    pub(super) held: usize,
    pub(super) left: usize,
    pub(super) reached: usize,
}

impl Totals {
    /// The totals at the beginning of `bytes`.
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

/// Where a part of the hosts begins that glimpses left, and a run of records of those of them that may be super points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// The first host of the part.
    pub(super) skip: usize,
    /// The first record.
    pub(super) first: usize,
    /// Records that there is room for.
    pub(super) records: usize,
}

impl Turn {
    /// The turn after this one, where glimpses left `left` hosts, and `reached` of its part may be super points.
    pub(super) fn next(self, left: usize, reached: usize) -> Option<Self> {
        let (first, skip) = (self.first + self.records, self.skip + PART);
        if first < reached {
            return Some(Self { skip: self.skip, first, records: (reached - first).min(PART) });
        }
        (skip < left).then(|| Self { skip, first: 0, records: (left - skip).min(PART) })
    }
}

/// Bytes of the bins of one host.
pub(super) fn bytes(grouping: Grouping) -> usize {
    grouping.bin_words() * size_of::<u32>()
}

/// Bytes of `records` records over `span`, whole words of 8 bytes.
pub(super) fn record_bytes(span: Span, records: usize) -> usize {
    let [.., recorded] = record_parts(span, records);
    recorded.end.next_multiple_of(size_of::<u64>())
}

/// Where peers, tallies and numbers of records are.
pub(super) fn record_parts(span: Span, records: usize) -> [Range<usize>; 3] {
    let peers = records * SLOTS as usize * size_of::<u64>();
    let tallies = peers + records * bytes(Grouping::of_ages(span));
    [0..peers, peers..tallies, tallies..tallies + records * size_of::<u32>()]
}

/// Where records are in a copy.
pub(super) fn records_in(span: Span, records: usize) -> Range<usize> {
    TOTALS_BYTES..TOTALS_BYTES + record_bytes(span, records)
}

/// Records as they come back.
pub(super) struct Records<'a> {
    peers: &'a [u64],
    tallies: &'a [u32],
    recorded: &'a [u32],
}

impl<'a> Records<'a> {
    /// The records in `bytes`, over `span`, which have room for so many.
    pub(super) fn new(bytes: &'a [u8], span: Span, records: usize) -> Self {
        let [peers, tallies, recorded] = record_parts(span, records);
        Self {
            peers: values(&bytes[peers]),
            tallies: values(&bytes[tallies]),
            recorded: values(&bytes[recorded]),
        }
    }

    /// The number of a host in its list, its bins by age, and the words of its cells.
    pub(super) fn get(&self, record: usize) -> (usize, &'a [u32], &'a [u64]) {
        let (words, slots) = (self.tallies.len() / self.recorded.len(), SLOTS as usize);
        (
            self.recorded[record] as usize,
            &self.tallies[record * words..][..words],
            &self.peers[record * slots..][..slots],
        )
    }
}
