//! [`Parts`]: a delta as several that are small enough for a message.
//!
//! Recorders are numbered over all arrays, in the order of the sections.
//! A part is a range of these numbers, and a delta like any other.

use std::ops::Range;

use srlg_core::ARRAYS;

use super::section::Section;
use super::words::{StateWord, Words, with_width};
use super::{Delta, FormatError};
use crate::error::Error;

/// Recorders of an array, and their words.
type List = (Vec<u32>, Words);

/// A delta on its way to parts.
struct Parts<'a> {
    whole: &'a Delta,
    lists: [List; ARRAYS],
    max_bytes: usize,
    parts: Vec<Vec<u8>>,
}

impl Delta {
    /// Returns the delta as bytes of deltas, each of which has a range of its recorders and no more than
    /// `max_bytes`: merging all of them, in any order, is merging the whole. Where the whole fits
    /// it is the only one.
    ///
    /// # Errors
    /// [`Error::PartSize`] where not even a single recorder fits, and as [`to_bytes`](Self::to_bytes).
    pub fn into_parts(self, max_bytes: usize) -> Result<Vec<Vec<u8>>, Error> {
        let bytes = self.to_bytes()?;
        if bytes.len() <= max_bytes {
            return Ok(vec![bytes]);
        }
        let [finder, counter] = self.sections().map(list);
        let lists = [finder?, counter?];
        let mut parts = Parts { whole: &self, lists, max_bytes, parts: Vec::new() };
        parts.split(0..self.recorders(), bytes.len())?;
        Ok(parts.parts)
    }
}

impl Parts<'_> {
    /// Splits a `range` of the recorders of the whole, whose `bytes` are too many.
    fn split(&mut self, range: Range<usize>, bytes: usize) -> Result<(), Error> {
        if range.len() < 2 {
            return Err(Error::PartSize { max_bytes: self.max_bytes, least: bytes });
        }
        // As many as it takes if all recorders take as many bytes, and more where they do not.
        let pieces = bytes.div_ceil(self.max_bytes.max(1)).clamp(2, range.len());
        let len = range.len().div_ceil(pieces);
        for first in range.clone().step_by(len) {
            let piece = first..range.end.min(first + len);
            let bytes = self.part(piece.clone()).to_bytes()?;
            match bytes.len() <= self.max_bytes {
                true => self.parts.push(bytes),
                false => self.split(piece, bytes.len())?,
            }
        }
        Ok(())
    }

    /// The delta of a range of recorders.
    fn part(&self, range: Range<usize>) -> Delta {
        let (mut coders, mut first) = (self.whole.coders(), 0);
        for (coder, (places, words)) in coders.iter_mut().zip(&self.lists) {
            let place = |number: usize| number.saturating_sub(first).min(places.len());
            let part = place(range.start)..place(range.end);
            with_width!(coder.shape().width, W => {
                coder.append(&places[part.clone()], &W::of(words)[part]);
            });
            first += places.len();
        }
        self.whole.with(coders)
    }
}

fn list(section: Section<'_>) -> Result<List, FormatError> {
    with_width!(section.shape().width, W => {
        let (places, words) = section.list::<W>()?;
        Ok((places, W::wrap(words)))
    })
}
