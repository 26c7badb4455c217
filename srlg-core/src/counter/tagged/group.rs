//! Picking the positions of a group of lines that are in the window, and what is picked.

use super::decoder::PositionDecoder;
use super::params::LINE;

/// Lines whose positions are picked together.
pub const GROUP: usize = 8;

/// Lines that are asked for ahead of those that are read: few enough for the first cache, and enough for the memory to
/// bring each before it is read.
pub(super) const LINES: usize = 8 * GROUP;

/// Positions of so many lines.
pub(super) const POSITIONS: usize = LINES * LINE as usize;

/// Positions that are counted in one step, and words that a vector may store behind what was found.
pub const STEP: usize = 32;

/// Positions of a group, the rest of a step of the group before, and a vector.
const ROOM: usize = GROUP * LINE as usize + 2 * STEP;

/// The words of a line.
pub type Words = [u16; LINE as usize];

/// Says which positions of a group of lines are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Lines of the group, [`GROUP`] or fewer.
    pub lines: usize,
    /// The number of the first position.
    pub first: u16,
    /// The echo of the touch in place i is in place `i ^ twist` of the line, 1 to 31.
    pub twist: u32,
    /// What an echo's word has more than its touch's.
    pub delay: u16,
    /// Words of touches in the window are below it, and it is above 0.
    pub limit: u16,
}

/// Holds the positions that are in the window: their numbers and the words in the places of their touches and echoes.
#[derive(Clone, Debug)]
pub struct InWindow {
    /// Positions so far.
    pub count: usize,
    /// Their numbers. Behind the last one there is room for [`STEP`] words, here and below.
    pub positions: [u16; ROOM],
    /// The words in the places of their touches.
    pub touches: [u16; ROOM],
    /// The words in the places of their echoes.
    pub echoes: [u16; ROOM],
    /// Their bins, once they are counted.
    pub(super) bins: [u16; ROOM],
}

impl InWindow {
    /// None.
    #[inline(always)]
    pub(super) const fn new() -> Self {
        let none = [0; ROOM];
        Self { count: 0, positions: none, touches: none, echoes: none, bins: none }
    }

    /// Forgets all but those from number `first` on, fewer than a step.
    #[inline(always)]
    pub(super) fn keep_from(&mut self, first: usize) {
        for words in [&mut self.positions, &mut self.touches, &mut self.echoes] {
            let rest: [u16; STEP] = *words[first..].first_chunk().expect("room for a step");
            words[..STEP].copy_from_slice(&rest);
        }
        self.count -= first;
    }
}

/// Adds to `found` those positions of `group` that are `wanted`, in any order: neither the word in the place of
/// the touch nor, less the delay, that in the place of the echo reaches the limit.
///
/// A loop of its own for a processor may take its place: it has to add the same.
#[inline(always)]
pub fn pick(group: &[Words; GROUP], wanted: Selection, found: &mut InWindow) {
    let Selection { lines, first, twist, delay, limit } = wanted;
    // Bit i of byte j: place j of line i. So no bit changes its place in a vector.
    let mut within = [0u8; LINE as usize];
    for (line, words) in group[..lines].iter().enumerate() {
        let echoes = twisted(*words, twist);
        for place in 0..LINE as usize {
            let is_within = PositionDecoder::oldest(words[place], echoes[place], delay) < limit;
            within[place] |= u8::from(is_within) << line;
        }
    }
    for (eighth, places) in within.as_chunks().0.iter().enumerate() {
        let mut left = u64::from_le_bytes(*places);
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            let (line, place) = (bit % 8, 8 * eighth + bit / 8);
            let at = found.count % ROOM;
            found.positions[at] = first + (LINE as usize * line + place) as u16;
            found.touches[at] = group[line][place];
            found.echoes[at] = group[line][(place ^ twist as usize) % LINE as usize];
            found.count += 1;
            left &= left - 1;
        }
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
