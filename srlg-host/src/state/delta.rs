//! [`Delta`]: what the last slices of a detector touched.

use srlg_core::Params;

use super::envelope::{Contents, Kind, open};
use super::{Fingerprints, FormatError, section, shapes};
use crate::error::Error;

/// What the last slices of a detector touched: the recorders and their words.
///
/// A detector that merges the deltas of all slices of another one, each in its slice or later,
/// gives the answers that it would give had it merged the snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) slice: u64,
    pub(crate) slices: u32,
    pub(crate) touched: Touched,
}

/// Some recorders of both arrays: number above word, 32 bits each, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Of the RSRA.
    pub(crate) rough: Vec<u64>,
    /// Of the SLEA.
    pub(crate) linear: Vec<u64>,
}

/// A recorder and its word, as in [`Touched`].
pub(crate) fn entry(recorder: usize, word: u32) -> u64 {
    (recorder as u64) << 32 | u64::from(word)
}

impl Delta {
    /// The slice that was running when the delta was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// How many slices it has, the last of which is [`slice`](Self::slice).
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// Recorders in it.
    #[must_use]
    pub fn recorders(&self) -> usize {
        self.touched.rough.len() + self.touched.linear.len()
    }

    /// The delta as bytes, for [`from_bytes`](Self::from_bytes); docs/format.md has each of them.
    ///
    /// # Errors
    /// [`Error::Compress`] where there is no memory to compress them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.bytes_of(&self.touched.rough, &self.touched.linear)
    }

    fn bytes_of(&self, rough: &[u64], linear: &[u64]) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, slice, slices, .. } = *self;
        let mut body = Vec::new();
        section::write(rough, &mut body);
        section::write(linear, &mut body);
        let kind = Kind::Delta;
        Contents { kind, fingerprints, slice, slices, sizes: &[], attachment: &[] }.seal(&body)
    }

    /// The delta of such bytes, for a detector with `params`. It allocates no more than
    /// docs/format.md says, whatever the bytes are.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Version`], [`Error::OtherSizes`], [`Error::OtherSeed`].
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, Kind::Delta, 0, params)?;
        let [rough, linear] = shapes(params);
        let body = opened.body(section::most(rough) + section::most(linear))?;
        let mut rest = &body[..];
        let rough = section::read(&mut rest, rough)?;
        let linear = section::read(&mut rest, linear)?;
        if !rest.is_empty() || !opened.contents.attachment.is_empty() {
            return Err(FormatError::Contents { what: "a delta has more than two sections" }.into());
        }
        let Contents { fingerprints, slice, slices, .. } = opened.contents;
        Ok(Self { fingerprints, slice, slices, touched: Touched { rough, linear } })
    }

    /// The delta as bytes of deltas, each of which has a range of its recorders and no more than
    /// `max_bytes`: merging all of them, in any order, is merging the whole. Where the whole fits
    /// it is the only one.
    ///
    /// # Errors
    /// [`Error::PartSize`] where not even a single recorder fits, and as [`to_bytes`](Self::to_bytes).
    pub fn into_parts(self, max_bytes: usize) -> Result<Vec<Vec<u8>>, Error> {
        let mut parts = Vec::new();
        self.part(&self.touched.rough, &self.touched.linear, max_bytes, &mut parts)?;
        Ok(parts)
    }

    fn part(
        &self,
        rough: &[u64],
        linear: &[u64],
        max_bytes: usize,
        parts: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        let bytes = self.bytes_of(rough, linear)?;
        if bytes.len() <= max_bytes {
            parts.push(bytes);
            return Ok(());
        }
        let recorders = rough.len() + linear.len();
        if recorders < 2 {
            return Err(Error::PartSize { max_bytes, least: bytes.len() });
        }
        // In halves until they fit would compress everything once more per halving.
        let pieces = bytes.len().div_ceil(max_bytes.max(1)).clamp(2, recorders);
        let len = recorders.div_ceil(pieces);
        for first in (0..recorders).step_by(len) {
            let (from, to) = (first, recorders.min(first + len));
            let of_rough = &rough[from.min(rough.len())..to.min(rough.len())];
            let of_linear =
                &linear[from.saturating_sub(rough.len())..to.saturating_sub(rough.len())];
            self.part(of_rough, of_linear, max_bytes, parts)?;
        }
        Ok(())
    }
}
