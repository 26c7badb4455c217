//! [`RecentPairs`]: pairs that one thread has recently ingested, so that repeated pairs can be skipped.
//!
//! Most packets repeat a pair that was already seen in the same slice, and a repeated touch has no effect. Skipping a
//! known pair takes a tenth of the time needed to ingest it. A slot stores a whole pair, so a skipped pair has
//! certainly been ingested. If hardly any pair repeats, look-ups have no benefit. In that case, look-ups pause and are
//! tried again from time to time.

use std::fmt;

use srlg_core::{BATCH, Batch, Ip6Batch, IpPair, Ipv4Pair, Params};
use zerocopy::{Immutable, IntoBytes};

use crate::ingest::bytes::as_pairs;
use crate::ingest::pairs::Pair;

/// Number of slots. A slot takes 8 bytes for an [`Ipv4Pair`] and 32 bytes for an [`IpPair`].
///
/// All slots for `Ipv4Pair`s fit into the second-level cache of common processors. All slots for `IpPair`s fit only
/// into the larger second-level cache of newer processors.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 15;

/// Number of pairs in a trial. After each trial, look-ups either continue or pause.
const TRIAL: usize = 1 << 14;

/// Length of a pause after a trial that found too few known pairs, in multiples of [`TRIAL`].
const PAUSE: usize = 15;

/// A type of pair that a lane can ingest.
pub(super) trait LanePair: Pair {
    /// A form of the pair that can be stored and compared quickly. It contains all bits of the pair.
    type Note: Copy + fmt::Debug + Default + PartialEq + Send + IntoBytes + Immutable;

    /// The note that marks an empty slot if the default note belongs to that slot. `ELSEWHERE` belongs to a different
    /// slot, so no pair of the marked slot equals it.
    const ELSEWHERE: Self::Note;

    /// The pairs of a batch with their IDs.
    type Ids<'a>: Batch;

    /// Whether slots are prefetched before they are read. This is needed if not all slots fit into the second-level
    /// cache.
    const AHEAD: bool;

    /// Minimum share of known pairs at which look-ups continue: one in `LEAST`.
    const LEAST: usize;

    fn note(self) -> Self::Note;

    /// Returns the slot of a note. Any function with values below [`SLOTS`] is correct if it maps the default note and
    /// [`ELSEWHERE`](Self::ELSEWHERE) to different slots.
    fn slot(note: Self::Note) -> usize;

    /// Returns the pairs of `notes`.
    #[inline(always)]
    fn of(notes: &[Self::Note; BATCH]) -> &[Self; BATCH] {
        as_pairs(notes.as_bytes()).try_into().expect("a note is as long as its pair")
    }

    fn ids<'a>(params: &Params, pairs: &'a [Self; BATCH]) -> Self::Ids<'a>;
}

#[inline(always)]
fn high(product: u64) -> usize {
    (product >> (u64::BITS - SLOT_BITS)) as usize
}

/// Returns two adjacent words of a pair as they are in memory, so that the compiler loads both at once.
#[inline(always)]
fn word(first: u32, second: u32) -> u64 {
    zerocopy::transmute!([first, second])
}

/// Notes are 8-byte numbers, so that storing one takes a single instruction.
impl LanePair for Ipv4Pair {
    type Note = u64;
    const ELSEWHERE: u64 = 1;
    const AHEAD: bool = false;
    /// A look-up costs a tenth of the time it saves.
    const LEAST: usize = 8;
    type Ids<'a> = &'a [Self; BATCH];

    #[inline(always)]
    fn note(self) -> u64 {
        word(self.inside, self.peer)
    }

    #[inline(always)]
    fn slot(note: u64) -> usize {
        high(note.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[inline(always)]
    fn ids<'a>(_: &Params, pairs: &'a [Self; BATCH]) -> &'a [Self; BATCH] {
        pairs
    }
}

/// All words of a pair, aligned to stay within a cache line.
///
/// The words are compared in registers. A copy on the stack could cross a cache line, and loading it would wait for the
/// stores.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    zerocopy::FromBytes,
    zerocopy::IntoBytes,
    zerocopy::Immutable,
    zerocopy::KnownLayout,
)]
#[repr(C, align(32))]
pub(super) struct Note6([u64; 4]);

impl PartialEq for Note6 {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h) == 0
    }
}

impl LanePair for IpPair {
    type Note = Note6;
    const ELSEWHERE: Note6 = Note6([1, 0, 0, 0]);
    const AHEAD: bool = true;
    /// A look-up of a new pair waits for a slot that is in no near cache, and costs a third of the time it saves.
    const LEAST: usize = 4;
    type Ids<'a> = Ip6Batch<'a>;

    #[inline(always)]
    fn note(self) -> Note6 {
        let ([a, b, c, d], [e, f, g, h]) = (self.inside, self.peer);
        Note6([word(a, b), word(c, d), word(e, f), word(g, h)])
    }

    #[inline(always)]
    fn slot(Note6([a, b, c, d]): Note6) -> usize {
        // Networks and hosts mostly differ in the first and the last words.
        let spread = a.wrapping_add(b).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ c.wrapping_add(d);
        high(spread.wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    #[inline(always)]
    fn ids<'a>(params: &Params, pairs: &'a [Self; BATCH]) -> Ip6Batch<'a> {
        params.ids(pairs)
    }
}

/// The slots of up to [`BATCH`] pairs, which are computed one batch ahead.
pub(super) struct Slots {
    are_computed: bool,
    slots: [u16; BATCH],
}

impl Slots {
    pub(super) const fn new() -> Self {
        Self { are_computed: false, slots: [0; BATCH] }
    }

    #[inline(always)]
    fn compute<P: LanePair>(&mut self, pairs: &[P]) {
        for (slot, pair) in self.slots.iter_mut().zip(pairs) {
            *slot = P::slot(pair.note()) as u16;
        }
        self.are_computed = true;
    }
}

/// The last ingested pair of each slot.
pub(super) struct RecentPairs<P: LanePair> {
    slots: Box<[P::Note; SLOTS]>,
    /// Number of pairs until the end of the current trial or pause.
    left: usize,
    /// Number of known pairs in the current trial, or `None` while look-ups pause.
    known: Option<usize>,
}

impl<P: LanePair> RecentPairs<P> {
    pub(super) fn new() -> Self {
        let slots =
            vec![P::Note::default(); SLOTS].try_into().expect("the vector has the right length");
        let mut recent = Self { slots, left: TRIAL, known: Some(0) };
        recent.forget();
        recent
    }

    /// Forgets all pairs. This is needed whenever the recorders have been aged.
    pub(super) fn forget(&mut self) {
        // An empty slot contains a pair that belongs to another slot.
        self.slots.fill(P::Note::default());
        self.slots[P::slot(P::Note::default())] = P::ELSEWHERE;
    }

    #[inline(always)]
    pub(super) fn pauses(&self) -> bool {
        self.known.is_none()
    }

    /// Counts `pairs` pairs towards the end of the current trial or pause.
    #[inline(always)]
    pub(super) fn pass_over(&mut self, pairs: usize) {
        self.left = self.left.saturating_sub(pairs);
        if self.left == 0 {
            self.decide();
        }
    }

    /// Computes the `slots` of `pairs`, at most [`BATCH`], which are the pairs of the next call of
    /// [`sift`](Self::sift). Computes nothing while look-ups pause.
    ///
    /// Slots in distant caches are loaded while the pairs before `pairs` are looked up.
    #[inline(always)]
    pub(super) fn look_ahead(&self, pairs: &[P], slots: &mut Slots) {
        slots.are_computed = false;
        if self.pauses() {
            return;
        }
        slots.compute(pairs);
        if P::AHEAD {
            for &slot in &slots.slots {
                prefetch_index::prefetch_index(&self.slots[..], usize::from(slot));
            }
        }
    }

    /// Copies to the front of `unknown` all `pairs` that are not known to have been ingested. Unless look-ups pause,
    /// these pairs count as known from then on. If `slots` are computed, they must be those of `pairs`.
    ///
    /// Returns the number of copied pairs.
    ///
    /// # Panics
    /// Panics if `unknown` is shorter than `pairs`, or if there are more than [`BATCH`] pairs.
    #[inline(always)]
    pub(super) fn sift(
        &mut self,
        pairs: &[P],
        slots: &mut Slots,
        unknown: &mut [P::Note],
    ) -> usize {
        let unknown = &mut unknown[..pairs.len()];
        let count = match self.known {
            Some(known) => {
                let count = self.look_up(pairs, slots, unknown);
                self.known = Some(known + pairs.len() - count);
                count
            }
            None => {
                unknown.iter_mut().zip(pairs).for_each(|(unknown, pair)| *unknown = pair.note());
                pairs.len()
            }
        };
        self.pass_over(pairs.len());
        count
    }

    #[inline(always)]
    fn look_up(&mut self, pairs: &[P], slots: &mut Slots, unknown: &mut [P::Note]) -> usize {
        assert!(pairs.len() <= BATCH, "a batch has too many pairs");
        if !slots.are_computed {
            slots.compute(pairs);
        }
        // The loop has no branch on whether the pair is known, because the processor could not predict it. It stores
        // nothing, because look-ups could wait for stores whose addresses depend on earlier look-ups.
        let mut left = 0u64;
        for (i, (pair, &slot)) in pairs.iter().zip(&slots.slots).enumerate() {
            let is_unknown = self.slots[usize::from(slot) % SLOTS] != pair.note();
            left |= u64::from(is_unknown) << i;
        }
        let count = left.count_ones() as usize;
        for unknown in &mut unknown[..count] {
            let i = left.trailing_zeros() as usize % BATCH;
            left &= left - 1;
            *unknown = pairs[i].note();
            self.slots[usize::from(slots.slots[i]) % SLOTS] = *unknown;
        }
        count
    }

    #[cold]
    fn decide(&mut self) {
        let goes_on = self.known.is_none_or(|known| known >= TRIAL / P::LEAST);
        (self.left, self.known) = if goes_on { (TRIAL, Some(0)) } else { (PAUSE * TRIAL, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(numbers: impl Iterator<Item = u32>) -> Vec<Ipv4Pair> {
        numbers.map(|number| Ipv4Pair { inside: number % 7, peer: number }).collect()
    }

    fn sifted(recent: &mut RecentPairs<Ipv4Pair>, pairs: &[Ipv4Pair]) -> usize {
        let mut unknown = [0; 64];
        pairs.chunks(64).map(|pairs| recent.sift(pairs, &mut Slots::new(), &mut unknown)).sum()
    }

    #[test]
    fn pairs_are_let_through_once_per_slice_in_their_order() {
        let mut recent = RecentPairs::new();
        let few = pairs([5, 9, 0, 5, 5, 0, 1].into_iter());
        let (first, later) = few.split_at(3);
        let mut unknown = [0; 7];
        assert_eq!(recent.sift(first, &mut Slots::new(), &mut unknown), 3);
        assert_eq!(unknown[..3], [first[0], first[1], first[2]].map(Ipv4Pair::note));
        assert_eq!(recent.sift(later, &mut Slots::new(), &mut unknown), 1);
        assert_eq!(unknown[0], later[3].note());
        assert_eq!(sifted(&mut recent, &few), 0);
        recent.forget();
        assert_eq!(sifted(&mut recent, first), 3);
    }

    #[test]
    fn slots_computed_ahead_let_the_same_pairs_through() {
        let (mut ahead, mut expected) = (RecentPairs::new(), RecentPairs::new());
        let all = pairs((0..640).map(|number| number * number % 401));
        let mut slots = Slots::new();
        for pairs in all.chunks(BATCH) {
            let (mut ours, mut theirs) = ([0; BATCH], [0; BATCH]);
            ahead.look_ahead(pairs, &mut slots);
            let count = ahead.sift(pairs, &mut slots, &mut ours);
            assert_eq!(expected.sift(pairs, &mut Slots::new(), &mut theirs), count);
            assert_eq!(ours[..count], theirs[..count]);
        }
    }

    #[test]
    fn look_ups_pause_at_a_larger_share_of_known_ipv6_pairs() {
        // One pair in six repeats a pair of an earlier batch.
        let number = |i: u32| if i % 6 == 5 { i.saturating_sub(100) } else { i };
        let all = pairs((0..TRIAL as u32).map(number));
        let mut v4 = RecentPairs::new();
        sifted(&mut v4, &all);
        assert!(!v4.pauses());
        let mut v6 = RecentPairs::<IpPair>::new();
        let mut unknown = [Note6::default(); BATCH];
        let all: Vec<IpPair> = all.into_iter().map(IpPair::from).collect();
        for pairs in all.chunks(BATCH) {
            v6.sift(pairs, &mut Slots::new(), &mut unknown);
        }
        assert!(v6.pauses());
    }

    // The notes that mark empty slots are also notes of ordinary pairs.
    #[test]
    fn no_pair_is_known_before_it_comes() {
        for number in [0u64, 1, 1 << 32, u64::MAX] {
            let [inside, peer] = [number as u32, (number >> 32) as u32];
            assert_eq!(
                sifted(&mut RecentPairs::new(), &[Ipv4Pair { inside, peer }]),
                1,
                "{number}"
            );
        }
    }

    #[test]
    fn look_ups_pause_where_no_pair_repeats_and_come_back_when_pairs_do() {
        let mut recent = RecentPairs::new();
        assert_eq!(sifted(&mut recent, &pairs(0..TRIAL as u32)), TRIAL);
        assert!(recent.pauses());
        let few = pairs((0..(PAUSE * TRIAL) as u32).map(|number| number % 100));
        assert_eq!(sifted(&mut recent, &few), PAUSE * TRIAL);
        assert!(!recent.pauses());
        assert!(sifted(&mut recent, &few[..TRIAL]) <= 2 * 100);
        assert!(!recent.pauses());
    }
}
