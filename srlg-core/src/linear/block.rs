//! A block of the cells of one host, as vectors of 16 bits.

use super::{AGES, LINE};
use crate::params::Params;
use crate::recorder::Reading;
use crate::tag::Tagger;

/// Lines that are looked at together: few enough for the first cache, many enough for their
/// loads to be under way at once.
pub(super) const LINES: usize = 32;

/// Cells of a block.
pub(super) const LEN: usize = LINES * LINE as usize;

/// Bins of a block: [`AGES`] of each kind; two kinds there are not.
pub(super) const BINS: usize = 8 * AGES;

/// No own touch of that age can be there.
pub(super) const EXCLUDED: usize = 0;
/// An own touch of that age might be hidden.
pub(super) const HIDDEN: usize = 1;
/// An own touch of that age is visible.
pub(super) const OWN: usize = 2;
/// Not in the window.
const OUTSIDE: usize = 3;
/// [`EXCLUDED`] by both places, which have one age.
pub(super) const EXCLUDED_TWICE: usize = 4;
/// [`HIDDEN`] in both places, which have one age.
pub(super) const HIDDEN_TWICE: usize = 5;

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

    /// Per cell its bin: the age, below `ages`, plus [`AGES`] times the kind; cells outside are
    /// spread over the bins of their kind, so that none of these waits for itself.
    ///
    /// All values are 16 bits wide and all choices are selections, so that this vectorises.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into three arrays vectorises")]
    pub(super) fn bins(&self, params: &Params, host: Host, start: u16, ages: u16) -> [u16; LEN] {
        let mut echoes = [[0; LINE as usize]; LINES];
        for line in 0..LINES {
            echoes[line] = twisted(self.0[line], host.twist);
        }
        let (touches, echoes) = (self.0.as_flattened(), echoes.as_flattened());
        let tags = params.tags as u16;
        // Multiplying by it divides by `tags`, or is one short.
        let reciprocal = ((1u32 << 16) / params.tags) as u16;
        let delay = params.step(params.echo_delay) as u16;
        let mut bins = [0; LEN];
        for place in 0..LEN {
            let (touch, echo) = (touches[place], echoes[place]);
            let oldest = touch.max(echo.saturating_sub(delay));
            let short = ((u32::from(oldest) * u32::from(reciprocal)) >> 16) as u16;
            let rest = oldest.wrapping_sub(short.wrapping_mul(tags));
            let is_short = rest >= tags;
            let age = short + u16::from(is_short);
            let base = oldest - if is_short { rest.wrapping_sub(tags) } else { rest };
            let (tag, echo_tag) = host.tagger.tags(start.wrapping_add(place as u16));
            let own = base.saturating_add(tag);
            let echo_base = base.saturating_add(delay);
            let own_echo = echo_base.saturating_add(echo_tag);
            let shown = (touch == own) | (echo == own_echo);
            let (excludes, echo_excludes) = (touch > own, echo > own_echo);
            let allowed = !(excludes | echo_excludes);
            let of_one_age = (touch >= base) & (echo >= echo_base);
            let twice = of_one_age & ((excludes & echo_excludes) | (allowed & !shown));
            let kind = u16::from(allowed) + u16::from(allowed & shown) + 4 * u16::from(twice);
            let outside = (OUTSIDE * AGES) as u16 | (place % AGES) as u16;
            bins[place] = if age < ages { age + kind * AGES as u16 } else { outside };
        }
        bins
    }
}

/// How the words of one host's cells are read.
#[derive(Clone, Copy)]
pub(super) struct Host {
    pub(super) twist: u32,
    pub(super) tagger: Tagger,
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
