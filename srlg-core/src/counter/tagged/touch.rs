//! [`Touch`]: the change that a pair makes in the array of lines, computed before any recorder is read.
//!
//! Computing a touch is pure arithmetic, which vectorises, so [`Touches`] computes a whole batch. Most of the time for
//! applying the touches is then spent waiting for memory. With compare-and-swap, any number of threads may apply
//! touches concurrently. A thread with exclusive access to the recorders avoids compare-and-swap, which takes as long
//! as all other work for a touch.

use super::line::HostLayout;
use super::params::TaggedParams;
use super::region::Region;
use crate::counter::TouchBatch;
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::packed::Packed;
use crate::pair::BATCH;
use crate::recorder::Recorder16;

/// The change that a pair makes to one region of its host: two recorders of one line, and the words of the touch and
/// its echo. The change is empty if the pair is not counted there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    pub(super) places: [u32; 2],
    /// Word of the touch in the low half and word of the echo in the high half, so that only one value is passed on.
    words: u32,
}

impl Touch {
    #[inline(always)]
    pub(super) fn words(self) -> [u16; 2] {
        [self.words as u16, (self.words >> 16) as u16]
    }

    /// Returns the index of the recorder of the touch. The recorder of the echo is in the same line.
    #[inline(always)]
    #[must_use]
    pub fn place(self) -> u32 {
        self.places[0]
    }

    /// Returns whether the touch cannot change any recorder.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.words == u32::MAX
    }
}

/// A contact: the layout of its host, and the hash of its peer in the estimator of this host.
#[derive(Clone, Copy)]
pub(super) struct Contact {
    host: HostLayout,
    hash: u32,
}

impl Contact {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, pair: &impl PairIds) -> Self {
        let host = HostLayout::new(params, pair.host());
        Self { host, hash: host.places.hash_of(params, pair.peer()) }
    }

    #[inline(always)]
    pub(super) const fn hash(self) -> u32 {
        self.hash
    }

    /// Returns the touch in the fine region. `aged` is the word of the contact's age, without a tag.
    #[inline(always)]
    pub(super) fn fine(self, params: &TaggedParams, aged: u32) -> Touch {
        self.touch::<false>(params, params.regions.fine(), aged)
    }

    /// Returns the touch in a coarse region, or `None` if the peer does not belong to one.
    #[inline(always)]
    pub(super) fn coarse(self, params: &TaggedParams, aged: u32) -> Option<Touch> {
        let regions = &params.regions;
        let is_coarse = regions.is_coarse(self.hash);
        is_coarse.then(|| self.touch::<false>(params, regions.coarse(self.hash), aged))
    }

    /// Returns the touch in `region`, which is empty if the position of the peer is not in use. If `ALL` is true, all
    /// positions must be in use.
    #[inline(always)]
    fn touch<const ALL: bool>(self, params: &TaggedParams, region: &Region, aged: u32) -> Touch {
        let HostLayout { places, tagger } = self.host;
        let found = region.position(self.hash);
        let position = if ALL { region.selected(self.hash) } else { found.unwrap_or(0) };
        let tags = tagger.tags(position as u16);
        let delay = params.step(params.echo_delay);
        let word = |aged: u32, tag| (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
        let words =
            u32::from(word(aged, tags.touch)) | u32::from(word(aged + delay, tags.echo)) << 16;
        let places = places.of(params, position);
        // Selections vectorise, and branches do not. The line of an empty touch stays in the caches.
        let is_used = ALL || found.is_some();
        Touch {
            places: places.map(|place| if is_used { place } else { 0 }),
            words: if is_used { words } else { u32::MAX },
        }
    }
}

impl TaggedParams {
    /// Returns the fine position of its host that `pair` touches, or `None` if the pair is not counted.
    #[must_use]
    pub fn position(&self, pair: &impl PairIds) -> Option<u32> {
        self.regions.fine().position(Contact::new(self, pair).hash())
    }
}

/// The touches of a batch of pairs in the fine region.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Touches {
    places: [[u32; BATCH]; 2],
    /// One entry per pair: the word of its touch in the low half, and the word of its echo in the high half.
    words: [u32; BATCH],
    /// Bit i is set if pair i also touches a coarse region.
    coarse: u64,
}

impl Touches {
    /// Creates the touches of `pairs` in the lines of `params`, for contacts `age` epochs ago.
    #[inline(always)]
    #[must_use]
    pub fn new(params: &TaggedParams, pairs: &impl Batch, age: u32) -> Self {
        // If all positions are in use, the loop needs no selections.
        match params.regions.fine().touched == params.regions.fine().full {
            true => Self::of_positions::<true>(params, pairs, age),
            false => Self::of_positions::<false>(params, pairs, age),
        }
    }

    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into several arrays vectorises"
    )]
    fn of_positions<const ALL: bool>(params: &TaggedParams, pairs: &impl Batch, age: u32) -> Self {
        let aged = params.step(age);
        by_family!(params, |params| {
            let mut touches = Self { places: [[0; BATCH]; 2], words: [0; BATCH], coarse: 0 };
            let mut hashes = [0; BATCH];
            for i in 0..BATCH {
                let contact = Contact::new(params, &pairs.get(i));
                let touch = contact.touch::<ALL>(params, params.regions.fine(), aged);
                [touches.places[0][i], touches.places[1][i]] = touch.places;
                touches.words[i] = touch.words;
                hashes[i] = contact.hash;
            }
            // Halves of 32 bits vectorise better than all bits.
            for (half, hashes) in hashes.as_chunks::<32>().0.iter().enumerate() {
                let mut bits = 0u32;
                for i in 0..32 {
                    bits |= u32::from(params.regions.is_coarse(hashes[i])) << i;
                }
                touches.coarse |= u64::from(bits) << (32 * half);
            }
            touches
        })
    }

    /// Calls `each` with the touches of `pairs` in coarse regions. The arguments must be those of [`new`](Self::new).
    #[inline(always)]
    pub fn coarse(
        &self,
        params: &TaggedParams,
        pairs: &impl Batch,
        age: u32,
        mut each: impl FnMut(Touch),
    ) {
        let (aged, mut left) = (params.step(age), self.coarse);
        while left != 0 {
            let pair = pairs.get(left.trailing_zeros() as usize);
            Contact::new(params, &pair).coarse(params, aged).into_iter().for_each(&mut each);
            left &= left - 1;
        }
    }
}

impl TouchBatch for Touches {
    type Touch = Touch;

    #[inline(always)]
    fn touch(&self, i: usize) -> Touch {
        Touch { places: [self.places[0][i], self.places[1][i]], words: self.words[i] }
    }
}

/// Applies the touches of `pair` and their echoes to the recorders, for a contact `age` epochs ago. The recorders are
/// packed in `words`. Other threads may touch recorders at the same time.
///
/// # Panics
/// Panics if `words` does not contain a recorder that the pair touches.
#[inline(always)]
pub fn touch_lines(
    params: &TaggedParams,
    words: &[Packed<Recorder16>],
    pair: &impl PairIds,
    age: u32,
) {
    let (contact, aged) = (Contact::new(params, pair), params.step(age));
    apply(words, contact.fine(params, aged));
    if let Some(touch) = contact.coarse(params, aged) {
        apply(words, touch);
    }
}

#[inline(always)]
fn apply(words: &[Packed<Recorder16>], touch: Touch) {
    if touch.is_empty() {
        return;
    }
    let (places, touched) = (touch.places, touch.words());
    // Both words are read before either is written, so that neither load waits for the other.
    let looks = places.map(|place| Packed::look(words, place as usize));
    for kind in 0..2 {
        let (packed, seen) = looks[kind];
        packed.fetch_min_seen(seen, places[kind] as usize, touched[kind]);
    }
}
