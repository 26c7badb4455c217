//! [`Touch`]: what a pair leaves in the tagged SLEA, found before any recorder is looked at.
//!
//! Finding is arithmetic alone, which vectorises: [`Touches`] does it for a batch. Touching
//! then waits for little more than the memory. Any threads may touch at once by swapping
//! words; a thread that knows that no other touches the same recorders spares the swaps, each
//! of which takes as long as all the rest.

use super::Slea;
use super::lines::Host;
use crate::hash::by_family;
use crate::pair::IpPair;
use crate::params::Params;
use crate::recorder::Recorder;
use crate::twin::Twin;

/// Pairs whose touches are found together.
pub const BATCH: usize = 64;

/// What a pair leaves in the SLEA: two recorders of one line and their words, of the touch and
/// of its echo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    places: [u32; 2],
    words: [u16; 2],
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
        let words = [word(aged, tag), word(aged + delay, echo_tag)];
        Self { places: places.of(params, cell), words }
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
    words: [[u16; BATCH]; 2],
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
            let mut touches = Self { places: [[0; BATCH]; 2], words: [[0; BATCH]; 2] };
            for i in 0..BATCH {
                let touch = Touch::new(params, pairs[i], aged);
                [touches.places[0][i], touches.places[1][i]] = touch.places;
                [touches.words[0][i], touches.words[1][i]] = touch.words;
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
        Touch {
            places: [self.places[0][i], self.places[1][i]],
            words: [self.words[0][i], self.words[1][i]],
        }
    }
}

impl<R: Recorder<Word = u16>> Slea<'_, R> {
    /// Leaves `touches`, while any other threads may do so.
    #[inline(always)]
    pub(super) fn leave(self, touch: Touch) {
        for kind in 0..2 {
            self.recorders[touch.places[kind] as usize].most_recent(touch.words[kind]);
        }
    }

    /// Leaves `touches`, while no other thread changes recorders of their lines.
    #[inline(always)]
    pub fn leave_alone(self, touches: &[Touch]) {
        for touch in touches {
            for kind in 0..2 {
                let recorder = &self.recorders[touch.places[kind] as usize];
                recorder.set(recorder.word().min(touch.words[kind]));
            }
        }
    }
}

/// Touches the recorder of `pair`, and its echo, `age` epochs ago in the SLEA of `params`, which
/// `twins` are; the work of one thread among many; of the tagged scheme alone.
///
/// # Panics
/// When `twins` are fewer than half of [`Params::linear_recorders`].
#[inline(always)]
pub fn touch_twins(params: &Params, twins: &[Twin], pair: IpPair, age: u32) {
    let Touch { places, words } = Touch::new(params, pair, params.step(age));
    // Both are read before either is written: neither load waits for the other.
    let looks = places.map(|place| Twin::look(twins, place));
    for kind in 0..2 {
        let (twin, seen) = looks[kind];
        twin.most_recent_of(seen, places[kind], words[kind]);
    }
}
