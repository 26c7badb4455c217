//! [`Touch`]: the change that a pair makes in the array of lines, computed before any recorder is read.
//!
//! Computing a touch is pure arithmetic, which vectorises, so [`Touches`] computes a whole batch. Most of the time for
//! applying the touches is then spent waiting for memory. With compare-and-swap, any number of threads may apply
//! touches concurrently. A thread with exclusive access to the recorders avoids compare-and-swap, which takes as long
//! as all other work for a touch.

use super::line::HostLayout;
use super::params::TaggedParams;
use crate::counter::TouchBatch;
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::packed::Packed;
use crate::pair::BATCH;
use crate::recorder::Recorder16;

/// The change that a pair makes in an array of lines: two recorders of one line, and the words of the touch and its
/// echo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    pub(super) places: [u32; 2],
    /// Word of the touch in the low half and word of the echo in the high half, so that only one value is passed on.
    words: u32,
}

impl Touch {
    /// Creates the touch of `pair`. `aged` is the word of the contact's age, without a tag.
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, pair: &impl PairIds, aged: u32) -> Self {
        let HostLayout { places, tagger } = HostLayout::new(params, pair.host());
        let position = places.own_position(params.position(pair.peer()));
        let tags = tagger.tags(position as u16);
        let delay = params.step(params.echo_delay);
        let word = |aged: u32, tag| (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
        let words =
            u32::from(word(aged, tags.touch)) | u32::from(word(aged + delay, tags.echo)) << 16;
        Self { places: places.of(params, position), words }
    }

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
}

/// The touches of a batch of pairs.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Touches {
    places: [[u32; BATCH]; 2],
    /// One entry per pair: the word of its touch in the low half, and the word of its echo in the high half.
    words: [u32; BATCH],
}

impl Touches {
    /// Creates the touches of `pairs` in the lines of `params`, for contacts `age` epochs ago.
    #[inline(always)]
    #[allow(
        clippy::needless_range_loop,
        reason = "a loop with one index into several arrays vectorises"
    )]
    #[must_use]
    pub fn new(params: &TaggedParams, pairs: &impl Batch, age: u32) -> Self {
        let aged = params.step(age);
        by_family!(params, |params| {
            let mut touches = Self { places: [[0; BATCH]; 2], words: [0; BATCH] };
            for i in 0..BATCH {
                let touch = Touch::new(params, &pairs.get(i), aged);
                [touches.places[0][i], touches.places[1][i]] = touch.places;
                touches.words[i] = touch.words;
            }
            touches
        })
    }
}

impl TouchBatch for Touches {
    type Touch = Touch;

    #[inline(always)]
    fn touch(&self, i: usize) -> Touch {
        Touch { places: [self.places[0][i], self.places[1][i]], words: self.words[i] }
    }
}

/// Applies the touch of `pair` and its echo to the recorders, for a contact `age` epochs ago. The recorders are packed
/// in `words`. Other threads may touch recorders at the same time.
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
    let touch = Touch::new(params, pair, params.step(age));
    let (places, touched) = (touch.places, touch.words());
    // Both words are read before either is written, so that neither load waits for the other.
    let looks = places.map(|place| Packed::look(words, place as usize));
    for kind in 0..2 {
        let (packed, seen) = looks[kind];
        packed.fetch_min_seen(seen, places[kind] as usize, touched[kind]);
    }
}
