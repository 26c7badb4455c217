//! [`Delta`]: the recorders touched in the last slices of a detector.

use std::ops::Range;

use srlg_core::{ARRAYS, ArrayShape, Params};

use super::coder::Coder;
#[cfg(feature = "state")]
use super::envelope::{Contents, open};
use super::section::{self, Section};
use super::words::{StateWord, Words, with_width};
use super::{Fingerprints, StateKind};
use crate::error::{Error, FormatError, wrong};
use crate::shares::{self, Shares};

/// The recorders touched in the last slices of a detector, and their words.
///
/// One detector (the sender) takes a delta in each slice, and another (the receiver) merges it, in the same slice or
/// later. If the receiver merges all deltas, its recorders are the same as after merging snapshots.
///
/// A receiver that starts to merge late catches up after two full windows, rounded up to whole epochs. After that, it
/// reports the same estimates as a receiver that has merged all deltas. Until then, estimates may differ, because older
/// touches that the receiver has not merged may hide echoes in the sender.
///
/// A delta does not contain super points. Unlike merging a snapshot, merging a delta therefore does not add the
/// sender's super points to the candidates for the next report.
///
/// A delta contains all recent touches, including touches merged from deltas and snapshots of other nodes. To exchange
/// only their own touches, nodes perform the following steps in every slice:
///
/// ```text
/// ingest         pairs of this node
/// delta(1)       own touches, to be sent
/// merge_delta    touches of the other nodes
/// close_slice    all touches become one slice older
/// ```
///
/// Touches of other nodes are also forwarded if the steps are in a different order, or if deltas or epochs cover
/// several slices. Collectors that feed other collectors forward touches on purpose.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
/// use srlg::state::Delta;
///
/// let mut router = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let mut collector = SlidingDetector::new(Config::default(), Device::Cpu)?;
/// let pairs: Vec<Ipv4Pair> = (0..5000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
/// router.ingest(&pairs)?;
/// let message = router.delta(1)?.to_bytes()?; // at the end of each slice
/// collector.merge_delta(&Delta::from_bytes(&message, collector.params())?)?;
/// assert_eq!(collector.close_slice()?, router.close_slice()?);
/// # Ok::<(), srlg::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) shares: Shares,
    slice: u64,
    slices: u32,
    shapes: [ArrayShape; ARRAYS],
    /// The shares, and one checked section for each array.
    body: Vec<u8>,
    /// Length of the shares, in bytes.
    start: usize,
}

impl Delta {
    /// Creates the delta of the recorders that were touched in the `slices` slices up to `slice`.
    pub(crate) fn new(
        params: &Params,
        slice: u64,
        slices: u32,
        touched: [Coder; ARRAYS],
        shares: Shares,
    ) -> Self {
        let mut body = Vec::new();
        shares.write(slice, &mut body);
        let start = body.len();
        touched.into_iter().for_each(|coder| coder.finish(&mut body));
        let (fingerprints, shapes) = (Fingerprints::of(params), params.arrays());
        Self { fingerprints, shares, slice, slices, shapes, body, start }
    }

    /// Returns the slice that was running when the delta was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Returns the number of slices that the delta covers. The last of them is [`slice`](Self::slice).
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// Returns the number of recorders in the delta.
    #[must_use]
    pub fn recorders(&self) -> usize {
        self.sections().iter().map(Section::len).sum()
    }

    /// Returns the memory used for the shares and the recorders, in bytes.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn sections(&self) -> [Section<'_>; ARRAYS] {
        sections(&self.body[self.start..], self.shapes)
            .expect("the sections of the body are valid")
            .0
    }
}

#[cfg(feature = "state")]
#[cfg_attr(docsrs, doc(cfg(feature = "state")))]
impl Delta {
    /// Returns the delta as bytes that [`from_bytes`](Self::from_bytes) reads. The format is documented in
    /// docs/format.md.
    ///
    /// # Errors
    /// Returns [`Error::Compress`] if there is not enough memory for compression.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, slice, slices, .. } = *self;
        let kind = StateKind::Delta;
        Contents { kind, fingerprints, slice, slices, sizes: &[], attachment: &[] }.seal(&self.body)
    }

    /// Reads the delta in `bytes` for a detector with `params`.
    ///
    /// Memory use is bounded for any input, as described in docs/format.md.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if the bytes are damaged. Returns [`Error::Version`] or [`Error::FormerVersion`] if
    /// they have an unsupported format version. Returns [`Error::OtherSizes`] or [`Error::OtherSeed`] if they do not
    /// match `params`.
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, StateKind::Delta, Some(params))?;
        let shapes = params.arrays();
        let most: usize = shapes.map(section::most).iter().sum();
        let body = opened.body(shares::MOST_BYTES + most)?;
        let Contents { fingerprints, slice, slices, attachment, .. } = opened.contents;
        if slices == 0 || !attachment.is_empty() {
            return Err(wrong("the delta has no slices or has an attachment").into());
        }
        let mut rest = &body[..];
        let shares = Shares::take(&mut rest, slice, params)?;
        let start = body.len() - rest.len();
        let (sections, rest) = sections(rest, shapes)?;
        if !rest.is_empty() {
            return Err(wrong("the delta has bytes after its two sections").into());
        }
        for section in sections {
            with_width!(section.shape().width, W => section.walk(|_, _: &[W]| ()))?;
        }
        Ok(Self { fingerprints, shares, slice, slices, shapes, body, start })
    }

    /// Splits the delta into deltas of at most `max_bytes` each and returns them as bytes.
    ///
    /// Merging all parts, in any order, has the same effect as merging the whole delta. If the whole delta fits, it is
    /// the only part.
    ///
    /// # Errors
    /// Returns [`Error::PartSize`] if a delta with a single recorder is too large. Also returns the errors of
    /// [`to_bytes`](Self::to_bytes).
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

type List = (Vec<u32>, Words);

/// A delta that is being split into parts of at most `max_bytes` bytes. Each part is a complete delta.
///
/// Recorders are numbered across all arrays, in the order of the sections. Each part contains the recorders in one
/// range of these numbers.
struct Parts<'a> {
    whole: &'a Delta,
    lists: [List; ARRAYS],
    max_bytes: usize,
    parts: Vec<Vec<u8>>,
}

#[cfg(feature = "state")]
impl Parts<'_> {
    /// Splits the recorders in `range`, whose delta has `bytes` bytes and is too large.
    fn split(&mut self, range: Range<usize>, bytes: usize) -> Result<(), Error> {
        if range.len() < 2 {
            return Err(Error::PartSize { max_bytes: self.max_bytes, least: bytes });
        }
        // The number of pieces is correct if all recorders take the same number of bytes. If they do not, pieces are
        // split again.
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

    fn part(&self, range: Range<usize>) -> Delta {
        let (mut body, mut first) = (self.whole.body[..self.whole.start].to_vec(), 0);
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
        Delta { body, shares: self.whole.shares.clone(), ..*self.whole }
    }
}

fn list(section: Section<'_>) -> Result<List, FormatError> {
    with_width!(section.shape().width, W => {
        let (places, words) = section.list::<W>()?;
        Ok((places, W::wrap(words)))
    })
}

/// Returns the sections at the start of `body`, and the bytes after them.
pub(super) fn sections(
    body: &[u8],
    [finder, counter]: [ArrayShape; ARRAYS],
) -> Result<([Section<'_>; ARRAYS], &[u8]), FormatError> {
    let mut rest = body;
    let sections = [Section::take(&mut rest, finder)?, Section::take(&mut rest, counter)?];
    Ok((sections, rest))
}
