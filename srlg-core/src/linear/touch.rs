//! [`Touch`]: what a pair leaves in the tagged SLEA, found before any recorder is looked at.
//!
//! Finding is arithmetic alone, which vectorises: [`Touches`] does it for a batch. Touching
//! then waits for little more than the memory. Any threads may touch at once by swapping
//! words; a thread that knows that no other touches the same recorders spares the swaps, each
//! of which takes as long as all the rest.

use super::Slea;
use super::lines::Host;
use crate::hash::by_family;
use crate::packed::Packed;
use crate::pair::IpPair;
use crate::params::Params;
use crate::recorder::{Recorder, Recorder16};

/// Pairs whose touches are found together.
pub const BATCH: usize = 64;

/// What a pair leaves in the SLEA: two recorders of one line and their words, of the touch and
/// of its echo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    places: [u32; 2],
    /// That of the echo in the high half: one value to pass on, not two.
    words: u32,
}

impl Touch {
    /// The touch of `pair`, `aged` being the word of its age.
    #[inline(always)]
    pub(super) fn new(params: &Params, pair: IpPair, aged: u32) -> Self {
        let Host { places, tagger } = Host::new(params, pair.aip);
        let cell = places.cell(params.linear_position(pair.bip));
        let (tag, echo_tag) = tagger.tags(cell as u16);
        let delay = params.step(params.echo_delay);
        let word = |aged: u32, tag| (aged + u32::from(tag)).min(u16::MAX.into()) as u16;
        let words = u32::from(word(aged, tag)) | u32::from(word(aged + delay, echo_tag)) << 16;
        Self { places: places.of(params, cell), words }
    }

    /// The words of the touch and of its echo.
    #[inline(always)]
    fn words(self) -> [u16; 2] {
        [self.words as u16, (self.words >> 16) as u16]
    }

    /// The number of the recorder that the touch goes to; the echo's is of the same line.
    #[inline(always)]
    #[must_use]
    pub fn place(self) -> u32 {
        self.places[0]
    }
}

/// The touches of a batch.
#[derive(Debug)]
pub struct Touches {
    places: [[u32; BATCH]; 2],
    /// That of the echo in the high half.
    words: [u32; BATCH],
}

impl Touches {
    /// The touches of `pairs`, `age` epochs ago; of the tagged scheme alone.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
    #[must_use]
    pub fn new(params: &Params, pairs: &[IpPair; BATCH], age: u32) -> Self {
        debug_assert!(params.is_tagged(), "touches and echoes are of the tagged scheme");
        let aged = params.step(age);
        by_family!(params, |params| {
            let mut touches = Self { places: [[0; BATCH]; 2], words: [0; BATCH] };
            for i in 0..BATCH {
                let touch = Touch::new(params, pairs[i], aged);
                [touches.places[0][i], touches.places[1][i]] = touch.places;
                touches.words[i] = touch.words;
            }
            touches
        })
    }

    /// That of pair number `i`.
    ///
    /// # Panics
    /// When `i` is not below [`BATCH`].
    #[inline(always)]
    #[must_use]
    pub fn touch(&self, i: usize) -> Touch {
        Touch { places: [self.places[0][i], self.places[1][i]], words: self.words[i] }
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Leaves `touch`, while any other threads may leave theirs, but no thread leaves any alone.
    #[inline(always)]
    pub(super) fn leave(self, touch: Touch) {
        for (place, word) in touch.places.into_iter().zip(touch.words()) {
            self.recorders[place as usize].most_recent(word);
        }
    }

    /// Leaves `touches`, while no other thread changes recorders of their lines.
    #[inline(always)]
    pub fn leave_alone(self, touches: &[Touch]) {
        for touch in touches {
            for (place, word) in touch.places.into_iter().zip(touch.words()) {
                let recorder = &self.recorders[place as usize];
                recorder.set(recorder.word().min(word));
            }
        }
    }
}

/// Touches the recorder of `pair`, and its echo, `age` epochs ago in the SLEA of `params`, whose
/// recorders are packed in `words`: the work of one thread among many, in the tagged scheme.
///
/// # Panics
/// When `words` do not hold all recorders of the SLEA.
#[inline(always)]
pub fn touch_lines(params: &Params, words: &[Packed<Recorder16>], pair: IpPair, age: u32) {
    let touch = Touch::new(params, pair, params.step(age));
    let (places, touched) = (touch.places, touch.words());
    // Both are read before either is written: neither load waits for the other.
    let looks = places.map(|place| Packed::look(words, place as usize));
    for kind in 0..2 {
        let (packed, seen) = looks[kind];
        packed.keep_min_of(seen, places[kind] as usize, touched[kind]);
    }
}
