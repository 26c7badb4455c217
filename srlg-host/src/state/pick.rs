//! Selection of recently touched recorders in one pass over an array.
//!
//! Each line of recorders is converted to a bit mask, without branches. Lines without a recent touch have no recent
//! recorders and are skipped. A loop then visits the bits that are set. If few bits are set, the pass is limited only
//! by memory bandwidth.

use srlg_core::counter::tagged::LINE;
use srlg_core::{RecentRange, Word};

use super::coder::Coder;
use crate::vectors::for_wider_vectors;

/// Appends the recorders within `range` to `coder`. `words` contains the words of a whole array.
pub(crate) fn code<W: Word>(words: &[W], range: RecentRange, coder: &mut Coder) {
    let mut buffer = PickBuffer::new();
    let runs = words.chunks(RECORDERS_PER_RUN).zip((0..).step_by(RECORDERS_PER_RUN));
    for (run, first) in runs {
        buffer.len = 0;
        pick(run, range.of_width(), first, &mut buffer);
        coder.append(&buffer.places[..buffer.len], &buffer.words[..buffer.len]);
    }
}

/// Number of recorders that are examined before the picked ones are written. Their words fit into the L2 cache.
const RECORDERS_PER_RUN: usize = 1 << 16;

/// Number of recorders per bit mask, which is the length of a line. Arrays without lines are split in the same way.
const RECORDERS_PER_LINE: usize = LINE as usize;

/// Number of recorders that are copied together, even if fewer remain.
const RECORDERS_PER_STEP: usize = 4;

/// Recorders that are copied from an array to a section, at most [`RECORDERS_PER_RUN`] at a time.
struct PickBuffer<W> {
    /// Indices, within the run, of the lines that contain a recent touch. `bits` contains the bit mask of each of these
    /// lines.
    lines: Vec<u32>,
    bits: Vec<u32>,
    places: Vec<u32>,
    words: Vec<W>,
    len: usize,
}

for_wider_vectors! {
    /// Picks the recorders within `range`.
    ///
    /// `words` starts at the beginning of a line. `first` is the index, in the array, of the first recorder in `words`.
    fn pick<W: Word>(
        words: &[W],
        range: RecentRange<W>,
        first: u32,
        buffer: &mut PickBuffer<W>,
    ) {
        let (lines, rest) = words.as_chunks();
        buffer.pick_lines(lines, range, first);
        // The rest of the line is filled with the largest word, which is not recent.
        let mut last = [W::MAX; RECORDERS_PER_LINE];
        last[..rest.len()].copy_from_slice(rest);
        buffer.pick_lines(&[last], range, first + (words.len() - rest.len()) as u32);
    }
}

impl<W: Word> PickBuffer<W> {
    fn new() -> Self {
        let lines = RECORDERS_PER_RUN / RECORDERS_PER_LINE + 1;
        let (lines, bits) = (vec![0; lines], vec![0; lines]);
        let room = RECORDERS_PER_RUN + RECORDERS_PER_LINE;
        Self { lines, bits, places: vec![0; room], words: vec![W::default(); room], len: 0 }
    }

    /// Picks the recorders within `range`. `first` is the index, in the array, of the first recorder in `lines`.
    #[inline(always)]
    fn pick_lines(&mut self, lines: &[[W; RECORDERS_PER_LINE]], range: RecentRange<W>, first: u32) {
        let mut found = 0;
        let (numbers, bits) = (&mut self.lines[..], &mut self.bits[..]);
        for (number, line) in (0..).zip(lines) {
            numbers[found] = number;
            bits[found] = bits_of(line, range);
            // The loop has no branch, because the processor could not predict it.
            found += usize::from(range.has_touch(line));
        }
        for at in 0..found {
            let (number, bits) = (self.lines[at], self.bits[at]);
            self.pick_bits(&lines[number as usize], bits, first + number * LINE);
        }
    }

    /// Picks the recorders whose bits are set. `first` is the index, in the array, of the first recorder in `line`.
    #[inline(always)]
    fn pick_bits(&mut self, line: &[W; RECORDERS_PER_LINE], mut bits: u32, first: u32) {
        let places = &mut self.places[self.len..self.len + RECORDERS_PER_LINE];
        let words = &mut self.words[self.len..self.len + RECORDERS_PER_LINE];
        let count = bits.count_ones() as usize;
        self.len += count;
        // Entries after the last one are overwritten later.
        for i in (0..count).step_by(RECORDERS_PER_STEP) {
            for i in i..i + RECORDERS_PER_STEP {
                let at = bits.trailing_zeros();
                places[i % RECORDERS_PER_LINE] = first.wrapping_add(at);
                words[i % RECORDERS_PER_LINE] = line[at as usize % RECORDERS_PER_LINE];
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}

/// Returns a bit mask of the words in `line` that look recent. It is valid only if the line contains a recent touch.
#[inline(always)]
fn bits_of<W: Word>(line: &[W; RECORDERS_PER_LINE], range: RecentRange<W>) -> u32 {
    let mut bits = 0;
    for (i, &word) in line.iter().enumerate() {
        bits |= u32::from(range.looks_recent(word)) << i;
    }
    bits
}

#[cfg(test)]
mod tests;
