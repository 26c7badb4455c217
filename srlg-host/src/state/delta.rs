//! [`Delta`]: what the last slices of a detector touched.

use std::ops::Range;

use srlg_core::{ARRAYS, ArrayShape, Params};

use super::coder::Coder;
use super::envelope::{Contents, open};
use super::section::{self, Section};
use super::words::{StateWord, Words, with_width};
use super::{Fingerprints, StateKind};
use crate::error::{Error, FormatError, wrong};

/// What the last slices of a detector touched: the recorders and their words.
///
/// A detector that merges the deltas of all slices of another one, each in its slice or later,
/// has the recorders that it would have had it merged the snapshots. One that begins with a later slice estimates
/// alike once it has two windows, each in whole epochs: a touch of the window before this one still hides echoes, and
/// what is older hides none that is read.
/// What the other one reported is not in a delta: a detector keeps the super points of its own reports.
///
/// A delta has what was touched, by whatever came in: pairs, and deltas and snapshots that
/// were merged. So nodes that merge each other's deltas do this in every slice:
///
/// ```text
/// ingest         what the node sees
/// delta(1)       its own touches, to be sent
/// merge_delta    those of the others
/// close_slice    all of them are a slice older
/// ```
///
/// In another order, with deltas of more slices, or where an epoch has several slices, a node forwards what the
/// others sent, as collectors of collectors do on purpose.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, IpPair, SlidingDetector};
/// use srlg::state::Delta;
///
/// let mut router = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut collector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let pairs: Vec<IpPair> = (0..5000).map(|opposite| IpPair { inside: 7, opposite }).collect();
/// router.ingest(&pairs)?;
/// let message = router.delta(1)?.to_bytes()?; // at the end of each slice
/// collector.merge_delta(&Delta::from_bytes(&message, collector.params())?)?;
/// assert_eq!(collector.close_slice()?, router.close_slice()?);
/// # Ok::<(), srlg::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub(crate) fingerprints: Fingerprints,
    slice: u64,
    slices: u32,
    shapes: [ArrayShape; ARRAYS],
    /// A section per array, which was walked over without a fault.
    body: Vec<u8>,
}

impl Delta {
    /// The delta of what the last `slices`, up to `slice`, touched of each array.
    pub(crate) fn new(params: &Params, slice: u64, slices: u32, touched: [Coder; ARRAYS]) -> Self {
        let mut body = Vec::new();
        touched.into_iter().for_each(|coder| coder.finish(&mut body));
        let (fingerprints, shapes) = (Fingerprints::of(params), params.arrays());
        Self { fingerprints, slice, slices, shapes, body }
    }

    /// Returns the slice that was running when the delta was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Returns the number of slices that the delta has, the last of which is [`slice`](Self::slice).
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// Returns the number of recorders in the delta.
    #[must_use]
    pub fn recorders(&self) -> usize {
        self.sections().iter().map(Section::len).sum()
    }

    /// Returns the number of bytes in memory that hold its recorders.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Its recorders of each array.
    pub(crate) fn sections(&self) -> [Section<'_>; ARRAYS] {
        sections(&self.body, self.shapes).expect("a body that was read or written before").0
    }

    /// Writes the delta as bytes, for [`from_bytes`](Self::from_bytes); docs/format.md has each of them.
    ///
    /// # Errors
    /// [`Error::Compress`] where there is no memory to compress them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, slice, slices, .. } = *self;
        let kind = StateKind::Delta;
        Contents { kind, fingerprints, slice, slices, sizes: &[], attachment: &[] }.seal(&self.body)
    }

    /// Returns the [`slice`](Self::slice) of the delta in `bytes`, without reading its recorders.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), but for errors of the body.
    pub fn slice_of(bytes: &[u8], params: &Params) -> Result<u64, Error> {
        Ok(open(bytes, StateKind::Delta, params)?.contents.slice)
    }

    /// Reads the delta in `bytes`, for a detector with `params`. Allocates no more than
    /// docs/format.md says, whatever the bytes are.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Version`], [`Error::FormerVersion`], [`Error::OtherSizes`], [`Error::OtherSeed`].
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, StateKind::Delta, params)?;
        let shapes = params.arrays();
        let body = opened.body(shapes.map(section::most).iter().sum())?;
        let Contents { fingerprints, slice, slices, attachment, .. } = opened.contents;
        if slices == 0 || !attachment.is_empty() {
            return Err(wrong("a delta has no slice, or an attachment").into());
        }
        let (sections, rest) = sections(&body, shapes)?;
        if !rest.is_empty() {
            return Err(wrong("a delta has more than two sections").into());
        }
        for section in sections {
            with_width!(section.shape().width, W => section.walk(|_, _: W| ()))?;
        }
        Ok(Self { fingerprints, slice, slices, shapes, body })
    }

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

/// Recorders of an array, and their words.
type List = (Vec<u32>, Words);

/// A delta on its way to parts that are small enough for a message, each a delta like any other.
///
/// Recorders are numbered over all arrays, in the order of the sections. A part is a range of these numbers.
struct Parts<'a> {
    whole: &'a Delta,
    lists: [List; ARRAYS],
    max_bytes: usize,
    parts: Vec<Vec<u8>>,
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
        let (mut body, mut first) = (Vec::new(), 0);
        for (section, (places, words)) in self.whole.sections().iter().zip(&self.lists) {
            let mut coder = Coder::new(section.shape(), section.fold());
            let place = |number: usize| number.saturating_sub(first).min(places.len());
            let part = place(range.start)..place(range.end);
            with_width!(section.shape().width, W => {
                coder.append(&places[part.clone()], &W::of(words)[part]);
            });
            coder.finish(&mut body);
            first += places.len();
        }
        Delta { body, ..*self.whole }
    }
}

fn list(section: Section<'_>) -> Result<List, FormatError> {
    with_width!(section.shape().width, W => {
        let (places, words) = section.list::<W>()?;
        Ok((places, W::wrap(words)))
    })
}

/// The sections that `body` begins with, and the rest.
pub(super) fn sections(
    body: &[u8],
    [finder, counter]: [ArrayShape; ARRAYS],
) -> Result<([Section<'_>; ARRAYS], &[u8]), FormatError> {
    let mut rest = body;
    let sections = [Section::take(&mut rest, finder)?, Section::take(&mut rest, counter)?];
    Ok((sections, rest))
}
