//! Picks the recorders of an array that were touched recently, in a pass over all of it.
//!
//! Blocks of recorders become bits, one per recorder, without a branch; then there is a step per
//! bit that is set. Where few are, the pass is as fast as the memory.

use srlg_core::{RecentRange, Word};

use super::coder::Coder;
use crate::vectors::for_wider_vectors;

/// Writes those recorders of an array with these `words` whose words are in `range`.
pub(crate) fn code<W: Word>(words: &[W], range: RecentRange, coder: &mut Coder) {
    let mut buffer = PickBuffer::new();
    let runs = words.chunks(RECORDERS_PER_RUN).zip((0..).step_by(RECORDERS_PER_RUN));
    for (run, first) in runs {
        buffer.len = 0;
        pick(run, range.of_width(), first, &mut buffer);
        coder.append(&buffer.places[..buffer.len], &buffer.words[..buffer.len]);
    }
}

/// Recorders that are picked before any of them is written: they stay in the second cache.
const RECORDERS_PER_RUN: usize = 1 << 16;

/// Recorders that are looked at together, with a bit for each.
const RECORDERS_PER_BLOCK: usize = 64;

/// Recorders that are picked without asking whether there are as many.
const RECORDERS_PER_STEP: usize = 8;

/// Recorders on their way from an array to a section: no more than [`RECORDERS_PER_RUN`] at once.
struct PickBuffer<W> {
    /// Blocks with a recent recorder: their numbers in the run, and a bit for each recorder.
    blocks: Vec<u32>,
    bits: Vec<u64>,
    places: Vec<u32>,
    words: Vec<W>,
    len: usize,
}

for_wider_vectors! {
    /// Picks the recorders whose words are in `range`; the first of `words` is that of recorder
    /// number `first`.
    fn pick<W: Word>(
        words: &[W],
        range: RecentRange<W>,
        first: u32,
        buffer: &mut PickBuffer<W>,
    ) {
        let (blocks, rest) = words.as_chunks::<RECORDERS_PER_BLOCK>();
        let mut found = 0;
        let (numbers, bits) = (&mut buffer.blocks[..], &mut buffer.bits[..]);
        for (number, block) in (0..).zip(blocks) {
            let hits = hits(block, range);
            numbers[found] = number;
            bits[found] = hits;
            // No branch: it could not be foreseen.
            found += usize::from(hits != 0);
        }
        for at in 0..found {
            buffer.pick(blocks, at, first);
        }
        let behind = first + (blocks.len() * RECORDERS_PER_BLOCK) as u32;
        for (&word, place) in rest.iter().zip(behind..) {
            if range.holds(word) {
                buffer.places[buffer.len] = place;
                buffer.words[buffer.len] = word;
                buffer.len += 1;
            }
        }
    }
}

/// Bit i for word i.
#[inline(always)]
fn hits<W: Word>(block: &[W; RECORDERS_PER_BLOCK], range: RecentRange<W>) -> u64 {
    let mut hits = 0;
    for (i, &word) in block.iter().enumerate() {
        hits |= u64::from(range.holds(word)) << i;
    }
    hits
}

impl<W: Word> PickBuffer<W> {
    fn new() -> Self {
        let blocks = RECORDERS_PER_RUN / RECORDERS_PER_BLOCK + 1;
        let (blocks, bits) = (vec![0; blocks], vec![0; blocks]);
        let room = RECORDERS_PER_RUN + RECORDERS_PER_BLOCK;
        Self { blocks, bits, places: vec![0; room], words: vec![W::default(); room], len: 0 }
    }

    /// Picks the recorders of the block that was found as number `at`.
    #[inline(always)]
    fn pick(&mut self, blocks: &[[W; RECORDERS_PER_BLOCK]], at: usize, first: u32) {
        let (number, mut hits) = (self.blocks[at], self.bits[at]);
        let (block, first) =
            (&blocks[number as usize], first + number * RECORDERS_PER_BLOCK as u32);
        let places = &mut self.places[self.len..self.len + RECORDERS_PER_BLOCK];
        let words = &mut self.words[self.len..self.len + RECORDERS_PER_BLOCK];
        let count = hits.count_ones() as usize;
        self.len += count;
        // What is behind the last one is written over.
        for i in (0..count).step_by(RECORDERS_PER_STEP) {
            for i in i..i + RECORDERS_PER_STEP {
                let at = hits.trailing_zeros();
                places[i % RECORDERS_PER_BLOCK] = first.wrapping_add(at);
                words[i % RECORDERS_PER_BLOCK] = block[at as usize % RECORDERS_PER_BLOCK];
                hits &= hits.wrapping_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Asked one by one.
        #[test]
        fn picked_are_the_recent_ones_in_their_order(
            words in prop::collection::vec(prop_oneof![0u16..20, 1000u16..1020, Just(u16::MAX)], 0..9000),
            recent in 0u16..25,
            echo in prop_oneof![Just(0u16), Just(1000)],
        ) {
            let expected = (0..).zip(&words).filter(|&(_, &word)| {
                word < recent || (echo..echo + recent).contains(&word)
            });
            let (places, expected): (Vec<u32>, Vec<u16>) = expected.unzip();
            let mut buffer = PickBuffer::new();
            pick(&words, RecentRange { recent, echo }, 0, &mut buffer);
            prop_assert_eq!(&buffer.places[..buffer.len], places);
            prop_assert_eq!(&buffer.words[..buffer.len], expected);
        }
    }
}
