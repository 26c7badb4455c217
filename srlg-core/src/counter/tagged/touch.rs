//! [`Touch`]: what a pair changes in the array of lines, found before any recorder is looked at.
//!
//! Finding is arithmetic alone, which vectorises: [`Touches`] does it for a batch. Touching
//! then waits for little more than the memory. Any threads may touch at once by swapping
//! words; a thread that knows that no other touches the same recorders spares the swaps, each
//! of which takes as long as all the rest.

use super::line::HostLayout;
use super::params::TaggedParams;
use crate::counter::TouchBatch;
use crate::hash::by_family;
use crate::ids::{Batch, PairIds};
use crate::packed::Packed;
use crate::pair::BATCH;
use crate::recorder::Recorder16;

/// Holds what a pair changes in an array of lines: two recorders of one line and their words, of the touch and
/// of its echo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    pub(super) places: [u32; 2],
    /// That of the echo in the high half: one value to pass on, not two.
    words: u32,
}

impl Touch {
    /// The touch of `pair`, `aged` being the word of its age.
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, pair: &impl PairIds, aged: u32) -> Self {
        let HostLayout { places, tagger } = HostLayout::new(params, pair.host());
        let position = places.own_position(params.position(pair.opposite()));
        let tags = tagger.tags(position as u16);
        let delay = params.step(params.echo_delay);
        let word = |aged: u32, tag| (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
        let words =
            u32::from(word(aged, tags.touch)) | u32::from(word(aged + delay, tags.echo)) << 16;
        Self { places: places.of(params, position), words }
    }

    /// The words of the touch and of its echo.
    #[inline(always)]
    pub(super) fn words(self) -> [u16; 2] {
        [self.words as u16, (self.words >> 16) as u16]
    }

    /// Returns the number of the recorder that the touch goes to; the echo's is of the same line.
    #[inline(always)]
    #[must_use]
    pub fn place(self) -> u32 {
        self.places[0]
    }
}

/// Holds the touches of a batch.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Touches {
    places: [[u32; BATCH]; 2],
    /// That of the echo in the high half.
    words: [u32; BATCH],
}

impl Touches {
    /// Returns the touches of `pairs`, `age` epochs ago in the lines of `params`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
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

/// Touches the recorder of `pair`, and its echo, `age` epochs ago in the lines of `params`, whose
/// recorders are packed in `words`: the work of one thread among many.
///
/// # Panics
/// When `words` do not hold all recorders.
#[inline(always)]
pub fn touch_lines(
    params: &TaggedParams,
    words: &[Packed<Recorder16>],
    pair: &impl PairIds,
    age: u32,
) {
    let touch = Touch::new(params, pair, params.step(age));
    let (places, touched) = (touch.places, touch.words());
    // Both are read before either is written: neither load waits for the other.
    let looks = places.map(|place| Packed::look(words, place as usize));
    for kind in 0..2 {
        let (packed, seen) = looks[kind];
        packed.fetch_min_seen(seen, places[kind] as usize, touched[kind]);
    }
}
