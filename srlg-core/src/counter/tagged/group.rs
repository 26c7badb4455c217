//! The selection of the positions in the window from a group of lines.

use super::decoder::PositionDecoder;
use super::sizes::LINE;

/// Number of lines whose positions are selected together.
pub const GROUP: usize = 8;

/// Distance from the line that is read to the line that is prefetched, in lines. This number of lines fits into the L1
/// cache, and each line arrives before it is read.
pub(super) const LINES: usize = 8 * GROUP;

pub(super) const POSITIONS: usize = LINES * LINE as usize;

/// Number of positions that are counted in one step. A vector instruction may store up to this number of words after
/// the last position.
pub const STEP: usize = 32;

/// Capacity of each array in `InWindow`: the positions of a group, the remaining positions of the previous group, and
/// one vector.
const ROOM: usize = GROUP * LINE as usize + 2 * STEP;

/// The words of a line.
pub type Words = [u16; LINE as usize];

/// The criteria for selecting positions from a group of lines.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Number of lines in the group, at most [`GROUP`].
    pub lines: usize,
    /// Index of the first position of the group.
    pub first: u16,
    /// Twist of the host, from 1 to 31. The echo of the touch in place i is in place `i ^ twist` of the same line.
    pub twist: u32,
    /// Difference between the word of an echo and the word of its touch, without the tags.
    pub delay: u16,
    /// Exclusive upper bound on the words of touches in the window. It is at least 1.
    pub limit: u16,
}

/// The positions in the window: their indices, and the words in both places of each position.
#[derive(Clone, Debug)]
pub struct InWindow {
    /// Number of positions in the arrays.
    pub count: usize,
    /// Indices of the positions. After the last position, each array has room for [`STEP`] more words.
    pub positions: [u16; ROOM],
    /// Words in the places of the touches.
    pub touches: [u16; ROOM],
    /// Words in the places of the echoes.
    pub echoes: [u16; ROOM],
    /// Indices of the positions' bins, which are set when the positions are counted.
    pub(super) bins: [u16; ROOM],
}

impl InWindow {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        let none = [0; ROOM];
        Self { count: 0, positions: none, touches: none, echoes: none, bins: none }
    }

    /// Removes the first `first` positions. Fewer than [`STEP`] positions must remain.
    #[inline(always)]
    pub(super) fn keep_from(&mut self, first: usize) {
        for words in [&mut self.positions, &mut self.touches, &mut self.echoes] {
            let rest: [u16; STEP] = *words[first..].first_chunk().expect("room for a step");
            words[..STEP].copy_from_slice(&rest);
        }
        self.count -= first;
    }
}

/// Adds the `wanted` positions of `group` to `found`, in any order. A position is wanted if two values are below the
/// limit: the word in the place of its touch, and the word in the place of its echo, minus the delay.
///
/// A caller may use an equivalent function for a specific CPU instead.
#[inline(always)]
pub fn pick(group: &[Words; GROUP], wanted: Selection, found: &mut InWindow) {
    let Selection { lines, first, twist, delay, limit } = wanted;
    // Bit i of byte j represents place j of line i, so no bit changes its place in a vector.
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
            found.positions[at] = first.wrapping_add((LINE as usize * line + place) as u16);
            found.touches[at] = group[line][place];
            found.echoes[at] = group[line][(place ^ twist as usize) % LINE as usize];
            found.count += 1;
            left &= left - 1;
        }
    }
}

/// Returns the words of a line in a different order: the result has the word of place `i ^ twist` at place i.
#[inline(always)]
fn twisted(words: Words, twist: u32) -> Words {
    let mut out: [u64; 8] = zerocopy::transmute!(words);
    // Each bit of the twist swaps halves, quarters or eighths of the line. `array::map` might not be compiled for the
    // vector instructions of the caller.
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
    // Within a quad, the halves are swapped, then the words of each half. Both steps are the same for either byte
    // order.
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
