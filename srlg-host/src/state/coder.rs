//! [`Coder`]: an incremental writer of a section.
//!
//! Recorders arrive in runs, in ascending order, and are immediately encoded as gaps and planes of words. If the gaps
//! become longer than the largest bitmap of the array, they are converted to a bitmap.

use srlg_core::{ArrayShape, RecentRange, Word};
use zerocopy::IntoBytes;

use super::leb128;
use super::section::{DENSE, Fold, MOST_PLANES, SPARSE, SectionHeader};
use crate::vectors::for_wider_vectors;

#[derive(Debug)]
pub(crate) struct Coder {
    shape: ArrayShape,
    fold: Fold,
    /// Numbers of the first and the last recorder, or `None` if the section is empty.
    ends: Option<(u32, u32)>,
    count: u32,
    places: Places,
    /// Bytes of the words. Plane `i` contains the bytes with place value `256^i`, and is empty while all these bytes
    /// are 0.
    planes: [Vec<u8>; MOST_PLANES],
}

#[derive(Debug)]
enum Places {
    Gaps(Vec<u8>),
    Bits(Vec<u8>),
}

impl Coder {
    pub(crate) fn for_range(shape: ArrayShape, range: RecentRange) -> Self {
        Self::new(shape, Fold::of(shape.width, range))
    }

    pub(super) fn new(shape: ArrayShape, fold: Fold) -> Self {
        let (places, planes) = (Places::Gaps(Vec::new()), Default::default());
        Self { shape, fold, ends: None, count: 0, places, planes }
    }

    /// Appends recorders with the numbers `places` and these `words`. The numbers must ascend and exceed all numbers
    /// already in the section.
    pub(crate) fn append<W: Word>(&mut self, places: &[u32], words: &[W]) {
        assert_eq!(W::WIDTH, self.shape.width, "the words differ in width from the array");
        let ([new_first, ..], [.., new_last]) = (places, places) else { return };
        let (first, last) = self.ends.unwrap_or((*new_first, *new_first));
        match &mut self.places {
            Places::Gaps(gaps) => {
                if self.ends.is_some() {
                    leb128::write_all(&[last, *new_first], gaps);
                }
                leb128::write_gaps(places, gaps);
                if gaps.len() > self.shape.recorders.div_ceil(8) {
                    self.places = Places::Bits(bits_of(first, *new_last, gaps));
                }
            }
            Places::Bits(bits) => {
                bits.resize(dense(first, *new_last), 0);
                places.iter().for_each(|&place| set_bit(bits, first, place));
            }
        }
        self.ends = Some((first, *new_last));
        self.append_words(words);
    }

    fn append_words<W: Word>(&mut self, words: &[W]) {
        let planes = &mut self.planes[..W::WIDTH.bytes()];
        let some_are_empty = planes.iter().any(Vec::is_empty);
        let ones = if some_are_empty { ones(words, self.fold) } else { W::default() };
        for (byte, plane) in planes.iter_mut().enumerate() {
            if !plane.is_empty() || ones.byte(byte) != 0 {
                plane.resize(self.count as usize, 0);
                append_plane(words, self.fold, byte, plane);
            }
        }
        self.count += words.len() as u32;
    }

    pub(super) fn finish(self, body: &mut Vec<u8>) {
        let (first, last) = self.ends.unwrap_or_default();
        let dense = if self.count == 0 { 0 } else { dense(first, last) };
        let (layout, places) = match self.places {
            Places::Gaps(gaps) if gaps.len() <= dense => (SPARSE, gaps),
            Places::Gaps(gaps) => (DENSE, bits_of(first, last, &gaps)),
            Places::Bits(bits) => (DENSE, bits),
        };
        let is_there = |(bit, plane): (u32, &Vec<u8>)| u8::from(!plane.is_empty()) << bit;
        let header = SectionHeader {
            count: self.count.into(),
            first: first.into(),
            places: (places.len() as u32).into(),
            fold: self.fold,
            layout,
            planes: (0..).zip(&self.planes).map(is_there).sum(),
            reserved: 0.into(),
        };
        let plane_bytes = self.planes.iter().map(Vec::len).sum::<usize>();
        body.reserve(size_of::<SectionHeader>() + places.len() + plane_bytes);
        body.extend_from_slice(header.as_bytes());
        body.extend_from_slice(&places);
        self.planes.iter().for_each(|plane| body.extend_from_slice(plane));
    }
}

/// Returns the bit index of recorder `place` in a bitmap whose first byte contains recorder `first`.
fn bit_of(first: u32, place: u32) -> usize {
    (place - first / 8 * 8) as usize
}

/// Returns the size, in bytes, of a bitmap for the recorders from `first` to `last`.
fn dense(first: u32, last: u32) -> usize {
    bit_of(first, last) / 8 + 1
}

fn set_bit(bits: &mut [u8], first: u32, place: u32) {
    let bit = bit_of(first, place);
    bits[bit / 8] |= 1 << (bit % 8);
}

/// Returns the bitmap of the recorders from `first` to `last`, decoded from `gaps`.
fn bits_of(first: u32, last: u32, gaps: &[u8]) -> Vec<u8> {
    let (mut bits, mut place, mut gaps) = (vec![0; dense(first, last)], first, gaps.iter());
    set_bit(&mut bits, first, place);
    while let Some(gap) = leb128::read(&mut gaps) {
        place += gap + 1;
        set_bit(&mut bits, first, place);
    }
    bits
}

for_wider_vectors! {
    /// Returns the bitwise OR of all `words` after folding.
    fn ones<W: Word>(words: &[W], fold: Fold) -> W {
        let (folded, mut ones) = (fold.folded(), W::default());
        for &word in words {
            ones = ones | folded(word);
        }
        ones
    }

    fn append_plane<W: Word>(words: &[W], fold: Fold, byte: usize, plane: &mut Vec<u8>) {
        let (folded, start) = (fold.folded(), plane.len());
        plane.resize(start + words.len(), 0);
        let bytes = &mut plane[start..];
        let words = &words[..bytes.len()];
        for i in 0..bytes.len() {
            bytes[i] = folded(words[i]).byte(byte);
        }
    }
}

#[cfg(test)]
mod vector_tests;
