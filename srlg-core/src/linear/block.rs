//! A block of the positions of one host, as vectors of 16 bits.

use super::{AGES, LINE};
use crate::params::Params;
use crate::recorder::Reading;
use crate::tag::Tagger;

/// Positions that are looked at together: few enough for the first cache, many enough for
/// full vectors.
pub(super) const LEN: usize = 1024;

/// Four words of a line, which is eight of these.
type Quad = u64;

/// Per position the words in the places of its touch and of its echo.
pub(super) struct Block {
    touches: [u16; LEN],
    echoes: [u16; LEN],
}

impl Block {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { touches: [0; LEN], echoes: [0; LEN] }
    }

    /// Adds the recorders of line number `line` of the block.
    #[inline(always)]
    pub(super) fn add_line<R: Reading<Word = u16>>(
        &mut self,
        line: usize,
        recorders: &[R],
        twist: u32,
    ) {
        let mut words = [0; LINE as usize];
        for (word, recorder) in words.iter_mut().zip(recorders) {
            *word = recorder.word();
        }
        let places = line * LINE as usize..(line + 1) * LINE as usize;
        self.touches[places.clone()].copy_from_slice(&words);
        self.echoes[places].copy_from_slice(&twisted(words, twist));
    }

    /// Per position its age, plus [`AGES`] times its kind: 0 where no touch of the host itself
    /// can be that recent, 1 where one may be hidden, 2 where one is visible.
    ///
    /// All values are 16 bits wide and all choices are selections, so that this vectorises.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "one index into three arrays vectorises")]
    pub(super) fn bins(&self, params: &Params, tagger: Tagger, start: u16) -> [u16; LEN] {
        let tags = params.tags as u16;
        // Multiplying by it divides by `tags`, or is one short.
        let reciprocal = ((1u32 << 16) / params.tags) as u16;
        let delay = params.step(params.echo_delay) as u16;
        let mut bins = [0; LEN];
        for place in 0..LEN {
            let (touch, echo) = (self.touches[place], self.echoes[place]);
            let oldest = touch.max(echo.saturating_sub(delay));
            let short = ((u32::from(oldest) * u32::from(reciprocal)) >> 16) as u16;
            let rest = oldest.wrapping_sub(short.wrapping_mul(tags));
            let is_short = rest >= tags;
            let age = short + u16::from(is_short);
            let base = oldest - if is_short { rest.wrapping_sub(tags) } else { rest };
            let (tag, echo_tag) = tagger.tags(start.wrapping_add(place as u16));
            let own = base.saturating_add(tag);
            let own_echo = base.saturating_add(delay).saturating_add(echo_tag);
            let shown = (touch == own) | (echo == own_echo);
            let allowed = (touch <= own) & (echo <= own_echo);
            let kind = u16::from(allowed) + u16::from(allowed & shown);
            bins[place] = age.min(AGES as u16 - 1) + kind * AGES as u16;
        }
        bins
    }
}

/// The words of a line, that of place `i ^ twist` at place i.
#[inline(always)]
fn twisted(words: [u16; LINE as usize], twist: u32) -> [u16; LINE as usize] {
    let quads: [Quad; 8] = zerocopy::transmute!(words);
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
        const ODD: Quad = 0xffff_0000_ffff_0000;
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
