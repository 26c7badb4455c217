//! [`Coder`]: writes a section, recorder by recorder.
//!
//! Recorders come in runs, in their order, and go at once into what will be written: gaps, as long as
//! these are no longer than the largest bitmap of the array would be, and planes of words.

use zerocopy::IntoBytes;

use super::section::{DENSE, Fold, HIGH, Head, LOW, SPARSE};
use super::{Shape, leb128};
use crate::vectors::for_wider_vectors;

/// A section that is being written.
#[derive(Debug)]
pub(crate) struct Coder {
    shape: Shape,
    fold: Fold,
    /// The first recorder and the last one, if there is any.
    ends: Option<(u32, u32)>,
    count: u32,
    places: Places,
    low: Vec<u8>,
    /// Nothing, as long as all are 0.
    high: Vec<u8>,
}

#[derive(Debug)]
enum Places {
    Gaps(Vec<u8>),
    Bits(Vec<u8>),
}

impl Coder {
    /// A section without any recorder, of an array of that shape.
    pub(crate) fn new(shape: Shape, fold: Fold) -> Self {
        let (low, high) = (Vec::new(), Vec::new());
        Self { shape, fold, ends: None, count: 0, places: Places::Gaps(Vec::new()), low, high }
    }

    /// Appends recorders behind the last one: their numbers, ascending, and as many words.
    pub(crate) fn append(&mut self, places: &[u32], words: &[u16]) {
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

    fn append_words(&mut self, words: &[u16]) {
        append_plane(words, self.fold, 0, &mut self.low);
        if !self.high.is_empty() || ones(words, self.fold) > u8::MAX.into() {
            self.high.resize(self.count as usize, 0);
            append_plane(words, self.fold, 8, &mut self.high);
        }
        self.count += words.len() as u32;
    }

    /// Appends the section to `body`.
    pub(super) fn finish(self, body: &mut Vec<u8>) {
        let (first, last) = self.ends.unwrap_or_default();
        let dense = if self.count == 0 { 0 } else { dense(first, last) };
        let (layout, places) = match self.places {
            Places::Gaps(gaps) if gaps.len() <= dense => (SPARSE, gaps),
            Places::Gaps(gaps) => (DENSE, bits_of(first, last, &gaps)),
            Places::Bits(bits) => (DENSE, bits),
        };
        let low = if self.low.iter().all(|&byte| byte == 0) { Vec::new() } else { self.low };
        let plane = |bytes: &[u8], plane| if bytes.is_empty() { 0 } else { plane };
        let head = Head {
            count: self.count.into(),
            first: first.into(),
            places: (places.len() as u32).into(),
            fold: self.fold,
            layout,
            planes: plane(&low, LOW) | plane(&self.high, HIGH),
            reserved: 0.into(),
        };
        body.reserve(size_of::<Head>() + places.len() + low.len() + self.high.len());
        for bytes in [head.as_bytes(), &places, &low, &self.high] {
            body.extend_from_slice(bytes);
        }
    }
}

/// The bit of recorder `place` in a bitmap, whose first byte has the bit of recorder `first`.
fn bit_of(first: u32, place: u32) -> usize {
    (place - first / 8 * 8) as usize
}

/// Bytes of a bitmap of recorders from `first` to `last`.
fn dense(first: u32, last: u32) -> usize {
    bit_of(first, last) / 8 + 1
}

fn set_bit(bits: &mut [u8], first: u32, place: u32) {
    let bit = bit_of(first, place);
    bits[bit / 8] |= 1 << (bit % 8);
}

/// The bitmap of `first` and of what is behind it by `gaps`, up to `last`.
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
    /// The bits that any of `words` has, as it is written.
    fn ones(words: &[u16], fold: Fold) -> u16 {
        let (folded, mut ones) = (fold.folded(), 0);
        for &word in words {
            ones |= folded(word);
        }
        ones
    }

    /// Appends the low or high bytes of `words`, as they are written.
    fn append_plane(words: &[u16], fold: Fold, shift: u32, plane: &mut Vec<u8>) {
        let (folded, start) = (fold.folded(), plane.len());
        plane.resize(start + words.len(), 0);
        let bytes = &mut plane[start..];
        let words = &words[..bytes.len()];
        for i in 0..bytes.len() {
            bytes[i] = (folded(words[i]) >> shift) as u8;
        }
    }
}

#[cfg(test)]
mod vector_tests;
