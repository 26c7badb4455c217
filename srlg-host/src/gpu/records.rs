//! What comes back of hosts that may be super points: [`Totals`], then [`Records`], in turns. While the host reads the
//! records of one turn from one copy, the device writes those of the next, which go to the other copy.

use std::net::IpAddr;
use std::ops::Range;
use std::slice::from_ref;
use std::sync::Mutex;

use srlg_core::counter::tagged::{Grouping, Histograms};
use srlg_core::finder::cells::SLOTS;
use srlg_core::{Span, Tally};

use super::device::{Gpu, Pinned, values};
use super::looks::HostLook;
use crate::backend::{HostTallies, TallyVisitor};
use crate::error::Error;

/// Hosts of a part.
pub(super) const PART: usize = if cfg!(test) { 4 } else { 1024 };

/// A number that is counted on the device: a word each.
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
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) listed: usize,
    pub(super) held: usize,
    pub(super) left: usize,
    pub(super) reached: usize,
}

impl Totals {
    /// Reads the totals at the beginning of `bytes`.
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

/// A part of the hosts that the glimpses left, and a run of records of those of them that may be super points.
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
    /// Returns the turn after this one, where glimpses left `left` hosts, and `reached` of its part may be super points.
    fn next(self, left: usize, reached: usize) -> Option<Self> {
        let (first, skip) = (self.first + self.records, self.skip + PART);
        if first < reached {
            return Some(Self { skip: self.skip, first, records: (reached - first).min(PART) });
        }
        (skip < left).then(|| Self { skip, first: 0, records: (left - skip).min(PART) })
    }
}

/// A host that needs all of its regions. Its tally of 10 kB is not kept: there may be as many giants as hosts of a list.
pub(super) struct Giant {
    pub(super) host: IpAddr,
    /// The words of its cells.
    pub(super) words: Vec<u64>,
}

impl<G: Gpu> HostLook<'_, G> {
    /// Starts the look from the beginning, and bringing the records of `turn` to the first copy.
    pub(super) fn start(&self, turn: Turn) -> Result<(), Error> {
        if let Some(positions) = self.ctx.params.glimpse_positions() {
            self.glimpse(positions)?;
        }
        self.part(turn.skip)?;
        self.bring(turn, 0)
    }

    /// Starts bringing the records of `turn` to the copy of that number.
    fn bring(&self, turn: Turn, copy: usize) -> Result<(), Error> {
        let copy = &self.memory.copies[copy];
        self.ctx.download(self.record(turn)?, copy, TOTALS_BYTES)?;
        self.ctx.download(self.memory.totals(), copy, 0)
    }

    /// Calls `visit` for those of `hosts`, the hosts of the list, that may be super points, and returns the giants instead.
    /// The records of `turn` are on their way to the first copy.
    pub(super) fn finish(
        &self,
        hosts: &[IpAddr],
        mut turn: Turn,
        visit: &TallyVisitor<'_>,
    ) -> Result<Vec<Giant>, Error> {
        let (copies, giants) = (&self.memory.copies, Mutex::new(Vec::new()));
        for copy in [0, 1].into_iter().cycle() {
            let Totals { left, reached, .. } = copies[copy].read(Totals::new)?;
            let has_glimpses = self.ctx.params.glimpse_positions().is_some();
            let next = turn.next(if has_glimpses { left } else { hosts.len() }, reached);
            if let Some(next) = next {
                if next.skip > turn.skip {
                    self.part(next.skip)?;
                }
                self.bring(next, 1 - copy)?;
            }
            let count = turn.records.min(reached - turn.first);
            copies[copy].read(|bytes| {
                let records = Records::new(bytes, self.span, turn.records);
                self.memory.threads.share(count, |number| {
                    self.pass(hosts, &records.get(number), &giants, visit);
                });
            })?;
            match next {
                Some(next) => turn = next,
                None => break,
            }
        }
        Ok(giants.into_inner().expect("nobody panics with it"))
    }

    /// Calls `visit` for the host of `record`, one of `hosts`, or adds it to `giants`.
    fn pass(
        &self,
        hosts: &[IpAddr],
        record: &HostRecord<'_>,
        giants: &Mutex<Vec<Giant>>,
        visit: &TallyVisitor<'_>,
    ) {
        let (host, words) = (hosts[record.number], record.words);
        let tally = Tally::Visible(Histograms::of_bins(self.span, record.bins));
        if self.ctx.params.needs_coarse(&tally, self.span) {
            let giant = Giant { host, words: words.to_vec() };
            giants.lock().expect("nobody panics with it").push(giant);
        } else {
            visit(&HostTallies { host, tallies: from_ref(&tally), words: Some(words) });
        }
    }
}

/// Returns the bytes of the bins of one host.
pub(super) fn bin_bytes(grouping: Grouping) -> usize {
    grouping.bin_words() * size_of::<u32>()
}

/// Returns the bytes of `records` records over `span`, whole words of 8 bytes.
pub(super) fn record_bytes(span: Span, records: usize) -> usize {
    let [.., recorded] = record_parts(span, records);
    recorded.end.next_multiple_of(size_of::<u64>())
}

/// Returns where peers, tallies and numbers of `records` records over `span` are.
pub(super) fn record_parts(span: Span, records: usize) -> [Range<usize>; 3] {
    let peers = records * SLOTS as usize * size_of::<u64>();
    let tallies = peers + records * bin_bytes(Grouping::of_ages(span));
    [0..peers, peers..tallies, tallies..tallies + records * size_of::<u32>()]
}

/// Returns where `records` records over `span` are in a copy.
pub(super) fn records_in(span: Span, records: usize) -> Range<usize> {
    TOTALS_BYTES..TOTALS_BYTES + record_bytes(span, records)
}

/// Records as they come back.
struct Records<'a> {
    peers: &'a [u64],
    tallies: &'a [u32],
    recorded: &'a [u32],
}

/// What comes back of one host.
struct HostRecord<'a> {
    /// The number of the host in its list.
    number: usize,
    /// Its bins by age.
    bins: &'a [u32],
    /// The words of its cells.
    words: &'a [u64],
}

impl<'a> Records<'a> {
    /// Finds the records over `span` in `copy`, which has room for `records` of them.
    fn new(copy: &'a [u8], span: Span, records: usize) -> Self {
        let bytes = &copy[records_in(span, records)];
        let [peers, tallies, recorded] = record_parts(span, records).map(|part| &bytes[part]);
        Self { peers: values(peers), tallies: values(tallies), recorded: values(recorded) }
    }

    /// Returns the record of that number.
    fn get(&self, record: usize) -> HostRecord<'a> {
        let (words, slots) = (self.tallies.len() / self.recorded.len(), SLOTS as usize);
        HostRecord {
            number: self.recorded[record] as usize,
            bins: &self.tallies[record * words..][..words],
            words: &self.peers[record * slots..][..slots],
        }
    }
}
