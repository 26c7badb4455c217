//! Picks the recorders of an array that were touched of late, in a pass over all of it.
//!
//! Blocks of recorders become bits, one per recorder, without a branch; then there is a step per
//! bit that is set. Where few are, the pass is as fast as the memory.

use srlg_core::{Frozen16, Params, Reading, Span};
use zerocopy::{FromBytes, IntoBytes};

use super::coder::Coder;
use super::section::Fold;
use super::shapes;
use crate::vectors::for_wider_vectors;

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
    fn of(params: &Params, span: Span) -> [Self; 2] {
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

/// What is near within `span`, of the RSRA and of the SLEA, and where to write it.
pub(crate) fn coders(params: &Params, span: Span) -> [(Near, Coder); 2] {
    let ([rough, linear], [of_rough, of_linear]) = (shapes(params), Near::of(params, span));
    let linear_coder = Coder::new(linear, Fold::of(of_linear));
    [(of_rough, Coder::new(rough, Fold::default())), (of_linear, linear_coder)]
}

/// Writes those of `recorders` whose words are near.
pub(crate) fn code<R: Reading>(recorders: &[R], near: Near, coder: &mut Coder) {
    let mut tray = Tray::new();
    for (run, first) in recorders.chunks(RUN).zip((0..).step_by(RUN)) {
        tray.len = 0;
        pick(run, near, first, &mut tray);
        coder.append(&tray.places[..tray.len], &tray.words[..tray.len]);
    }
}

/// The same, of an array with these `words`.
pub(crate) fn code_words(words: &[u16], near: Near, coder: &mut Coder) {
    code(<[Frozen16]>::ref_from_bytes(words.as_bytes()).expect("as many bytes"), near, coder);
}

/// Recorders that are picked before any of them is written: so many are in the second cache.
const RUN: usize = 1 << 16;

/// Recorders that are looked at together.
const BLOCK: usize = 64;

/// Recorders that are picked without asking whether there are so many.
const STEP: usize = 8;

/// Recorders on their way from an array to a section, of which no more than [`RUN`] come at once.
struct Tray {
    /// Blocks with a near recorder: their numbers in the run, and a bit for each recorder.
    blocks: Vec<u32>,
    bits: Vec<u64>,
    places: Vec<u32>,
    words: Vec<u16>,
    len: usize,
}

for_wider_vectors! {
    /// Picks those of `recorders`, the first of which has the number `first`, whose words are near.
    fn pick<R: Reading>(recorders: &[R], near: Near, first: u32, tray: &mut Tray) {
        let (blocks, rest) = recorders.as_chunks::<BLOCK>();
        let mut found = 0;
        let (numbers, bits) = (&mut tray.blocks[..], &mut tray.bits[..]);
        for (number, block) in (0..).zip(blocks) {
            let hits = hits(block, near);
            numbers[found] = number;
            bits[found] = hits;
            // No branch: it could not be foreseen.
            found += usize::from(hits != 0);
        }
        for at in 0..found {
            tray.pick(blocks, at, first);
        }
        let behind = first + (blocks.len() * BLOCK) as u32;
        for (recorder, place) in rest.iter().zip(behind..) {
            if near.holds(short(recorder)) {
                tray.places[tray.len] = place;
                tray.words[tray.len] = short(recorder);
                tray.len += 1;
            }
        }
    }
}

/// The word of `recorder`, which has 16 bits at most.
#[inline(always)]
fn short<R: Reading>(recorder: &R) -> u16 {
    let word: u32 = recorder.word().into();
    word as u16
}

/// Bit i for recorder i.
#[inline(always)]
fn hits<R: Reading>(block: &[R; BLOCK], near: Near) -> u64 {
    let mut hits = 0;
    for (i, recorder) in block.iter().enumerate() {
        hits |= u64::from(near.holds(short(recorder))) << i;
    }
    hits
}

impl Tray {
    fn new() -> Self {
        let blocks = RUN / BLOCK + 1;
        let (blocks, bits) = (vec![0; blocks], vec![0; blocks]);
        Self { blocks, bits, places: vec![0; RUN + BLOCK], words: vec![0; RUN + BLOCK], len: 0 }
    }

    /// Picks the recorders of the block that was found as number `at`.
    #[inline(always)]
    fn pick<R: Reading>(&mut self, blocks: &[[R; BLOCK]], at: usize, first: u32) {
        let (number, mut hits) = (self.blocks[at], self.bits[at]);
        let (block, first) = (&blocks[number as usize], first + number * BLOCK as u32);
        let places = &mut self.places[self.len..self.len + BLOCK];
        let words = &mut self.words[self.len..self.len + BLOCK];
        let count = hits.count_ones() as usize;
        self.len += count;
        // What is behind the last one is written over.
        for i in (0..count).step_by(STEP) {
            for i in i..i + STEP {
                let at = hits.trailing_zeros();
                places[i % BLOCK] = first.wrapping_add(at);
                words[i % BLOCK] = short(&block[at as usize % BLOCK]);
                hits &= hits.wrapping_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod vector_tests;

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
            let (places, words): (Vec<u32>, Vec<u16>) = expected.unzip();
            let mut tray = Tray::new();
            pick(&recorders, near, 0, &mut tray);
            prop_assert_eq!(&tray.places[..tray.len], places);
            prop_assert_eq!(&tray.words[..tray.len], words);
        }
    }
}
