//! A block of the cells of one host, as vectors of 16 bits.

use super::LINE;
use super::cells::Sorter;
use super::histograms::{AGES, KINDS};
use super::lines::Host;
use crate::params::Params;
use crate::recorder::Reading;

/// Lines that are looked at together: few enough for the first cache, many enough for their
/// loads to be under way at once.
pub(super) const LINES: usize = 32;

/// Cells of a block.
pub(super) const LEN: usize = LINES * LINE as usize;

/// Length of a table of bins, a power of 2: all bins of cells in the window, and those of cells
/// outside.
pub(super) const TABLE: usize = ((KINDS + 1) * AGES).next_power_of_two();

/// The words of a line.
type Words = [u16; LINE as usize];

/// Per cell the word in the place of its touch.
pub(super) struct Block([Words; LINES]);

impl Block {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([[0; LINE as usize]; LINES])
    }

    /// Loads the recorders of line number `line` of the block.
    #[inline(always)]
    pub(super) fn load<R: Reading<Word = u16>>(&mut self, line: usize, recorders: &[R]) {
        for (word, recorder) in self.0[line].iter_mut().zip(recorders) {
            *word = recorder.word();
        }
    }

    /// Per cell its bin, the age plus [`AGES`] times the kind; cells that are not below `ages` are
    /// spread over the bins of a kind of their own, so that none of these waits for itself.
    ///
    /// All values are 16 bits wide and all choices are selections, so that this vectorises.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into three arrays vectorises")]
    pub(super) fn bins(&self, params: &Params, host: Host, start: u16, ages: u16) -> [u16; LEN] {
        let mut echoes = [[0; LINE as usize]; LINES];
        for line in 0..LINES {
            echoes[line] = twisted(self.0[line], host.places.twist);
        }
        let (touches, echoes) = (self.0.as_flattened(), echoes.as_flattened());
        let sorter = Sorter::new(params);
        let mut bins = [0; LEN];
        for place in 0..LEN {
            let tags = host.tagger.tags(start.wrapping_add(place as u16));
            let (age, kind) = sorter.age_and_kind(touches[place], echoes[place], tags);
            let outside = (KINDS * AGES) as u16 + (place % AGES) as u16;
            bins[place] = if age < ages { kind * AGES as u16 + age } else { outside };
        }
        bins
    }
}

/// The words of a line, that of place `i ^ twist` at place i.
#[inline(always)]
fn twisted(words: Words, twist: u32) -> Words {
    let quads: [u64; 8] = zerocopy::transmute!(words);
    let mut out = [0; 8];
    for (place, quad) in out.iter_mut().enumerate() {
        *quad = quads[(place ^ (twist >> 2) as usize) % 8];
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
