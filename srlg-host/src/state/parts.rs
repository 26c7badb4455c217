//! [`Parts`]: a delta as several that are small enough for a message.
//!
//! Recorders are numbered over both arrays, those of the RSRA first, in the order of the sections.
//! A part is a range of these numbers, and a delta like any other.

use std::ops::Range;

use super::Delta;
use crate::error::Error;

/// Recorders, and their words.
type List = (Vec<u32>, Vec<u16>);

/// A delta on its way to parts.
pub(super) struct Parts<'a> {
    whole: &'a Delta,
    rough: List,
    linear: List,
    max_bytes: usize,
    parts: Vec<Vec<u8>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(whole: &'a Delta, max_bytes: usize) -> Result<Self, Error> {
        let [rough, linear] = whole.sections();
        let (rough, linear) = (rough.list()?, linear.list()?);
        Ok(Self { whole, rough, linear, max_bytes, parts: Vec::new() })
    }

    /// The parts of the whole, which has so many `bytes`, and too many.
    pub(super) fn split(mut self, bytes: usize) -> Result<Vec<Vec<u8>>, Error> {
        self.split_range(0..self.rough.0.len() + self.linear.0.len(), bytes)?;
        Ok(self.parts)
    }

    /// The same for a range of its recorders.
    fn split_range(&mut self, range: Range<usize>, bytes: usize) -> Result<(), Error> {
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
                false => self.split_range(piece, bytes.len())?,
            }
        }
        Ok(())
    }

    /// The delta of a range of recorders.
    fn part(&self, range: Range<usize>) -> Delta {
        let rough_len = self.rough.0.len();
        let of_rough = range.start.min(rough_len)..range.end.min(rough_len);
        let of_linear =
            range.start.max(rough_len) - rough_len..range.end.max(rough_len) - rough_len;
        let [mut rough, mut linear] = self.whole.coders();
        rough.append(&self.rough.0[of_rough.clone()], &self.rough.1[of_rough]);
        linear.append(&self.linear.0[of_linear.clone()], &self.linear.1[of_linear]);
        self.whole.with([rough, linear])
    }
}
