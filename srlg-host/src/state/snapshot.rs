//! [`Snapshot`]: the whole state of a detector.

use std::fmt;

use srlg_core::{ARRAYS, ArrayShape, Config, Params, RecentRange};
use zerocopy::IntoBytes;

use super::coder::Coder;
use super::delta::sections;
#[cfg(feature = "state")]
use super::envelope::{Contents, open, sizes_of};
use super::pick::code;
use super::section::{self, Fold, Section};
use super::sizes::Sizes;
use super::words::{StateWord, Words, with_width};
use super::{Fingerprints, StateKind};
use crate::error::{Error, FormatError, wrong};
use crate::kept::{self, KeptHosts};
use crate::shares::{self, Shares};

/// The whole state of a detector.
///
/// A snapshot contains the recorders, the running slice, the sizes, the fingerprint of the seed, and the super points
/// of the last report. The application can add an attachment.
///
/// Merging keeps the more recent word of each recorder, so order and repetition do not matter. The merged recorders are
/// the same as those of a single detector that saw all the traffic. The super points in all merged snapshots become
/// candidates for the next report.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) sizes: Sizes,
    slice: u64,
    shapes: [ArrayShape; ARRAYS],
    pub(crate) words: [Words; ARRAYS],
    pub(crate) shares: Shares,
    pub(crate) kept: KeptHosts,
    attachment: Vec<u8>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("slice", &self.slice).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(
        params: &Params,
        slice: u64,
        words: [Words; ARRAYS],
        shares: Shares,
        kept: KeptHosts,
    ) -> Self {
        Self {
            fingerprints: Fingerprints::of(params),
            sizes: Sizes::of(params),
            slice,
            shapes: params.arrays(),
            words,
            shares,
            kept,
            attachment: Vec::new(),
        }
    }

    /// Returns the slice that was running when the snapshot was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Returns the attachment that the application added, which is empty by default.
    #[must_use]
    pub fn attachment(&self) -> &[u8] {
        &self.attachment
    }

    /// Replaces the attachment of the snapshot and returns the snapshot.
    #[must_use]
    pub fn with_attachment(self, attachment: Vec<u8>) -> Self {
        Self { attachment, ..self }
    }
}

#[cfg(feature = "state")]
#[cfg_attr(docsrs, doc(cfg(feature = "state")))]
impl Snapshot {
    /// Returns the snapshot as bytes that [`from_bytes`](Self::from_bytes) reads. The format is documented in
    /// docs/format.md.
    ///
    /// # Errors
    /// Returns [`Error::Compress`] if there is not enough memory for compression.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, sizes, slice, shapes, words, shares, kept, attachment } = self;
        let mut body = Vec::new();
        shares.write(*slice, &mut body);
        for (words, shape) in words.iter().zip(shapes) {
            with_width!(shape.width, W => write(W::of(words), *shape, &mut body));
        }
        kept.write(&mut body);
        let contents = Contents {
            kind: StateKind::Snapshot,
            fingerprints: *fingerprints,
            slice: *slice,
            slices: 0,
            sizes: sizes.as_bytes(),
            attachment,
        };
        contents.seal(&body)
    }

    /// Returns the configuration of the detector whose snapshot is in `bytes`, with the given `seed`.
    ///
    /// The seed must be that of the detector. A snapshot contains only its fingerprint.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if the bytes are damaged or are not a snapshot. Returns [`Error::OtherSeed`] if
    /// the detector had a different seed. Returns [`Error::Version`] or [`Error::FormerVersion`] if the bytes have an
    /// unsupported format version.
    pub fn config(bytes: &[u8], seed: u64) -> Result<Config, Error> {
        let (sizes, fingerprints) = sizes_of(bytes)?;
        let config = Config::of_sizes(sizes.into())
            .ok_or_else(|| wrong("no detector has the sizes of the snapshot"))?;
        let config = Config { seed, ..config };
        fingerprints.check(StateKind::Snapshot, Some(sizes), &config.validate()?)?;
        Ok(config)
    }

    /// Reads the snapshot in `bytes` for a detector with `params`.
    ///
    /// Memory use is bounded for any input, as described in docs/format.md.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if the bytes are damaged. Returns [`Error::Version`] or [`Error::FormerVersion`] if
    /// they have an unsupported format version. Returns [`Error::OtherSizes`] or [`Error::OtherSeed`] if they do not
    /// match `params`.
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, StateKind::Snapshot, Some(params))?;
        let shapes = params.arrays();
        let most: usize = shapes.map(section::most).iter().sum();
        let body = opened.body(shares::MOST_BYTES + most + kept::MOST_BYTES)?;
        let Contents { fingerprints, slice, slices, sizes, attachment, .. } = opened.contents;
        if slices != 0 {
            return Err(wrong("the number of slices in the snapshot is not 0").into());
        }
        let read =
            |section: Section<'_>| with_width!(section.shape().width, W => read::<W>(section));
        let mut rest = &body[..];
        let shares = Shares::take(&mut rest, slice, params)?;
        let ([finder, counter], rest) = sections(rest, shapes)?;
        let words = [read(finder)?, read(counter)?];
        let kept = KeptHosts::read(rest, params)?;
        let (sizes, attachment) = (Sizes::read(sizes)?, attachment.into());
        Ok(Self { fingerprints, sizes, slice, shapes, words, shares, kept, attachment })
    }
}

/// Appends a section with the touched recorders of an array to `body`.
fn write<W: StateWord>(words: &[W], shape: ArrayShape, body: &mut Vec<u8>) {
    let mut touched = Coder::new(shape, Fold::default());
    code(words, RecentRange { recent: W::MAX.into(), echo: 0 }, &mut touched);
    touched.finish(body);
}

/// Returns the words of an array. Recorders that are not in `section` are untouched (`W::MAX`).
fn read<W: StateWord>(section: Section<'_>) -> Result<Words, FormatError> {
    let mut all = vec![W::MAX; section.shape().recorders];
    section.walk(|places, words| {
        places.iter().zip(words).for_each(|(&place, &word)| all[place as usize] = word);
    })?;
    Ok(W::wrap(all))
}
