//! [`Picked`]: some recorders of an array, and their words.
//!
//! They are picked in a pass over the whole array, at the speed of the memory where there are few;
//! so that a delta is taken in a few milliseconds.

use srlg_core::{Frozen16, Params, Reading, Span};
use zerocopy::{FromBytes, IntoBytes};

use crate::vectors::for_wider_vectors;

/// Some recorders of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picked {
    /// Their numbers, ascending.
    pub(crate) places: Vec<u32>,
    /// Their words, in the same order.
    pub(crate) words: Vec<u16>,
}

/// Which words are picked: those below `recent`, and those that are below it after `echo` is taken
/// off, which may be 0. The sum of both is below 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    pub(crate) recent: u16,
    pub(crate) echo: u16,
}

impl Near {
    /// The words of the RSRA, and those of the SLEA, that were touched within `span`, as
    /// [`Params::is_recent`] has it.
    pub(crate) fn of(params: &Params, span: Span) -> [Self; 2] {
        // The words of a window and of its echoes fit below the largest.
        let [recent, echo] = [span.ages, params.echo_delay()].map(|ages| params.step(ages) as u16);
        [Self { recent: span.rough_ages as u16, echo: 0 }, Self { recent, echo }]
    }

    #[inline(always)]
    fn holds(self, word: u16) -> bool {
        // No branch: it could not be foreseen.
        (word < self.recent) | (word.wrapping_sub(self.echo) < self.recent)
    }
}

impl Picked {
    /// Those of an array with these `words` that are near.
    pub(crate) fn of_words(words: &[u16], near: Near) -> Self {
        pick(<[Frozen16]>::ref_from_bytes(words.as_bytes()).expect("as many bytes"), near)
    }
}

/// Recorders that are looked at together.
const BLOCK: usize = 64;

/// Recorders that are picked without asking whether there are so many.
const STEP: usize = 8;

/// Picked recorders that wait to be appended.
const ROOM: usize = 4096;

/// A place to pick to that is in the first cache.
struct Tray {
    places: [u32; ROOM],
    words: [u16; ROOM],
    len: usize,
}

for_wider_vectors! {
    /// Those of `recorders` whose words are near.
    pub(crate) fn pick<R: Reading>(recorders: &[R], near: Near) -> Picked {
        let mut picked = Picked::default();
        let mut tray = Tray { places: [0; ROOM], words: [0; ROOM], len: 0 };
        let (blocks, rest) = recorders.as_chunks::<BLOCK>();
        for (block, first) in blocks.iter().zip((0..).step_by(BLOCK)) {
            let mut words = [0; BLOCK];
            for i in 0..BLOCK {
                words[i] = short(&block[i]);
            }
            tray.pick(&words, near, first, &mut picked);
        }
        // No largest word is near.
        let mut words = [u16::MAX; BLOCK];
        for i in 0..rest.len() {
            words[i] = short(&rest[i]);
        }
        tray.pick(&words, near, (blocks.len() * BLOCK) as u32, &mut picked);
        tray.empty(&mut picked);
        picked
    }
}

/// The word of `recorder`, which has 16 bits at most.
#[inline(always)]
fn short<R: Reading>(recorder: &R) -> u16 {
    let word: u32 = recorder.word().into();
    word as u16
}

impl Tray {
    /// Picks those of `words` that are near, which are of the recorders from `first` on.
    #[inline(always)]
    fn pick(&mut self, words: &[u16; BLOCK], near: Near, first: u32, picked: &mut Picked) {
        let mut hits = hits(words, near);
        while hits != 0 {
            if self.len > ROOM - STEP {
                self.empty(picked);
            }
            let places = &mut self.places[self.len..self.len + STEP];
            let to = &mut self.words[self.len..self.len + STEP];
            self.len += STEP.min(hits.count_ones() as usize);
            // What is behind the last hit is written over by the next.
            for i in 0..STEP {
                let at = hits.trailing_zeros();
                places[i] = first.wrapping_add(at);
                to[i] = words[at as usize % BLOCK];
                hits &= hits.wrapping_sub(1);
            }
        }
    }

    #[inline(never)]
    fn empty(&mut self, picked: &mut Picked) {
        picked.places.extend_from_slice(&self.places[..self.len]);
        picked.words.extend_from_slice(&self.words[..self.len]);
        self.len = 0;
    }
}

/// Bit i for word i.
#[inline(always)]
fn hits(words: &[u16; BLOCK], near: Near) -> u64 {
    let (mut bytes, mut any) = ([0u8; BLOCK], 0);
    for i in 0..BLOCK {
        bytes[i] = u8::from(near.holds(words[i])) << (i % 8);
    }
    for i in 0..BLOCK {
        any |= bytes[i];
    }
    if any == 0 {
        return 0;
    }
    // Eight bytes of a bit each become one, in eight lanes of a vector.
    let (eights, mut ones) = (bytes.as_chunks().0, [0u8; 8]);
    for i in 0..8 {
        let mut eight = u64::from_le_bytes(eights[i]);
        eight |= eight >> 32;
        eight |= eight >> 16;
        eight |= eight >> 8;
        ones[i] = eight as u8;
    }
    u64::from_le_bytes(ones)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use srlg_core::{Config, Recorder16};

    #[test]
    fn near_words_are_the_recent_ones_of_the_estimator_maths() {
        let longer = Config { window: 1000, ..Config::default() };
        for config in [Config::default(), longer, Config::paper()] {
            let params = config.validate().unwrap();
            for slices in [1, 2, config.window] {
                let span = params.span(77, slices);
                let [rough, linear] = Near::of(&params, span);
                for word in 0..=u16::MAX {
                    assert_eq!(linear.holds(word), params.is_recent(word, span.ages), "{word}");
                    assert_eq!(rough.holds(word), u32::from(word) < span.rough_ages, "{word}");
                }
            }
        }
    }

    proptest! {
        // Asked one by one.
        #[test]
        fn picked_are_the_near_ones_in_their_order(
            words in prop::collection::vec(prop_oneof![0u16..20, 1000u16..1020, Just(u16::MAX)], 0..9000),
            recent in 0u16..25,
            echo in prop_oneof![Just(0u16), Just(1000)],
        ) {
            use srlg_core::Recorder;
            let near = Near { recent, echo };
            let recorders: Vec<Recorder16> = words.iter().map(|&word| Recorder16::new(word)).collect();
            let expected = (0..).zip(&words).filter(|&(_, &word)| {
                word < recent || (echo..echo + recent).contains(&word)
            });
            let (places, words) = expected.unzip();
            prop_assert_eq!(pick(&recorders, near), Picked { places, words });
        }
    }
}
