//! A block of the positions of one host, as vectors of 16 bits.

use super::decoder::PositionDecoder;
use super::histograms::KINDS;
use super::line::{HostLayout, TouchLayout};
use super::params::{AGES, LINE, TaggedParams};
use crate::recorder::ReadRecorder;

/// Lines that are looked at together: few enough for the first cache, many enough for their
/// loads to be under way at once.
pub(super) const LINES: usize = 32;

/// Positions of a block.
pub(super) const LEN: usize = LINES * LINE as usize;

/// Length of a table of bins, a power of 2.
pub(super) const TABLE: usize = (KINDS * AGES).next_power_of_two();

/// Positions whose bins are made together: a full vector.
const WIDTH: usize = 32;

/// The words of a line.
type Words = [u16; LINE as usize];

/// Per position the words in the places of its touch and of its echo.
pub(super) struct Block {
    touches: [Words; LINES],
    echoes: [Words; LINES],
}

/// The positions of a block that are in the window.
struct InWindow {
    count: usize,
    /// Their numbers.
    positions: [u16; LEN],
}

impl Block {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { touches: [[0; LINE as usize]; LINES], echoes: [[0; LINE as usize]; LINES] }
    }

    /// Loads the recorders of line number `line` of the block.
    #[inline(always)]
    pub(super) fn load<R: ReadRecorder<Word = u16>>(
        &mut self,
        line: usize,
        recorders: &[R],
        places: TouchLayout,
    ) {
        for (word, recorder) in self.touches[line].iter_mut().zip(recorders) {
            *word = recorder.word();
        }
        self.echoes[line] = twisted(self.touches[line], places.twist);
    }

    /// Counts the positions of the first `lines` that are below `ages` by their bins, the age plus
    /// [`AGES`] times the kind; `start` is the number of the first position.
    ///
    /// Few positions are in the window, and to tell which takes two comparisons: they are picked
    /// first. All values are 16 bits wide and all choices are selections, so that this vectorises.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into several arrays vectorises")]
    pub(super) fn count(
        &self,
        params: &TaggedParams,
        host: HostLayout,
        (start, lines): (u16, usize),
        ages: u32,
        tables: &mut [[u16; TABLE]; 2],
        meanwhile: impl Fn(usize),
    ) {
        let decoder = PositionDecoder::new(params);
        let kept = self.kept(decoder, params.step(ages) as u16, lines, meanwhile);
        let (touches, echoes) = (self.touches.as_flattened(), self.echoes.as_flattened());
        for first in (0..kept.count).step_by(WIDTH) {
            let mut words = [[0; WIDTH]; 2];
            for at in 0..WIDTH {
                let position = usize::from(kept.positions[(first + at) % LEN]) % LEN;
                (words[0][at], words[1][at]) = (touches[position], echoes[position]);
            }
            let mut bins = [0; WIDTH];
            for at in 0..WIDTH {
                let position = start.wrapping_add(kept.positions[(first + at) % LEN]);
                let tags = host.tagger.tags(position);
                let (age, kind) = decoder.age_and_kind(words[0][at], words[1][at], tags);
                bins[at] = kind * AGES as u16 + age;
            }
            for (number, &bin) in bins[..WIDTH.min(kept.count - first)].iter().enumerate() {
                tables[number % 2][usize::from(bin) % TABLE] += 1;
            }
        }
    }

    /// The positions of the first `lines` whose words are below `limit`, that of the echo by its delay.
    #[inline(always)]
    fn kept(
        &self,
        decoder: PositionDecoder,
        limit: u16,
        lines: usize,
        meanwhile: impl Fn(usize),
    ) -> InWindow {
        // Bit i of byte j: place j of the i-th of eight lines. So no bit changes its place in a vector.
        let mut within = [[0u8; LINE as usize]; LINES / 8];
        for line in 0..lines {
            let (touches, echoes) = (&self.touches[line], &self.echoes[line]);
            let places = &mut within[line / 8];
            for place in 0..LINE as usize {
                let is_within = decoder.oldest(touches[place], echoes[place]) < limit;
                places[place] |= u8::from(is_within) << (line % 8);
            }
        }
        let mut kept = InWindow { count: 0, positions: [0; LEN] };
        for (number, places) in (0u16..).zip(within.as_flattened().as_chunks().0) {
            meanwhile(usize::from(number));
            let mut left = u64::from_le_bytes(*places);
            while left != 0 {
                kept.positions[kept.count % LEN] = number * 64 + left.trailing_zeros() as u16;
                kept.count += 1;
                left &= left - 1;
            }
        }
        // Of a number, bits 0 to 2 are of the line and bits 3 to 7 are the place in it.
        for position in &mut kept.positions[..kept.count] {
            *position = *position & !0xff | (*position & 7) << 5 | *position >> 3 & 31;
        }
        kept
    }
}

/// The words of a line, that of place `i ^ twist` at place i.
#[inline(always)]
fn twisted(words: Words, twist: u32) -> Words {
    let mut out: [u64; 8] = zerocopy::transmute!(words);
    // Bit by bit: halves, quarters and eighths of the line change places. (By patterns: whether an
    // array's `map` is compiled for the vectors of the caller is up to the compiler.)
    if twist & 16 != 0 {
        let [a, b, c, d, e, f, g, h] = out;
        out = [e, f, g, h, a, b, c, d];
    }
    if twist & 8 != 0 {
        let [a, b, c, d, e, f, g, h] = out;
        out = [c, d, a, b, g, h, e, f];
    }
    if twist & 4 != 0 {
        let [a, b, c, d, e, f, g, h] = out;
        out = [b, a, d, c, f, e, h, g];
    }
    // Within a quad: halves change places, then the words of a half. Both are the same
    // whichever end of a quad comes first in memory.
    if twist & 2 != 0 {
        for quad in &mut out {
            *quad = quad.rotate_left(32);
        }
    }
    if twist & 1 != 0 {
        const ODD: u64 = 0xffff_0000_ffff_0000;
        for quad in &mut out {
            *quad = (*quad << 16 & ODD) | (*quad >> 16 & !ODD);
        }
    }
    zerocopy::transmute!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twisted_line_has_the_word_of_place_i_at_place_i_xor_twist() {
        let words = core::array::from_fn(|place| place as u16);
        for twist in 0..LINE {
            let expected = core::array::from_fn(|place| place as u16 ^ twist as u16);
            assert_eq!(twisted(words, twist), expected, "{twist}");
        }
    }
}
