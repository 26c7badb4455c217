//! [`Snapshot`]: everything that a detector has seen.

use srlg_core::{ARRAYS, ArrayShape, Params, RecentRange};
use zerocopy::IntoBytes;

use super::coder::Coder;
use super::delta::sections;
use super::envelope::{Contents, open};
use super::pick::code;
use super::section::{self, Fold, Section};
use super::sizes::Sizes;
use super::words::{StateWord, Words, with_width};
use super::{Fingerprints, StateKind};
use crate::error::{Error, FormatError, wrong};
use crate::kept::{self, KeptHosts};

/// Everything that a detector has seen: its recorders, slice, sizes and the fingerprint of its
/// seed, and the super points of its last report; and an attachment, bytes that the application keeps with it.
///
/// Merging keeps the more recent of two recorders. It is commutative, associative and
/// idempotent, so the snapshots of any number of nodes, in any order and any number of
/// times, give the recorders of one node that saw everything, and the super points of all last reports as
/// candidates of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) sizes: Sizes,
    slice: u64,
    shapes: [ArrayShape; ARRAYS],
    /// Of each array.
    pub(crate) words: [Words; ARRAYS],
    /// Of the last report.
    pub(crate) kept: KeptHosts,
    attachment: Vec<u8>,
}

impl Snapshot {
    /// The snapshot of a detector that has these `words` and reported the hosts in `kept`, without an
    /// attachment.
    pub(crate) fn new(
        params: &Params,
        slice: u64,
        words: [Words; ARRAYS],
        kept: KeptHosts,
    ) -> Self {
        Self {
            fingerprints: Fingerprints::of(params),
            sizes: Sizes::of(params),
            slice,
            shapes: params.arrays(),
            words,
            kept,
            attachment: Vec::new(),
        }
    }

    /// Returns the slice that was running when the snapshot was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Returns the bytes that the application keeps with the snapshot; none at first.
    #[must_use]
    pub fn attachment(&self) -> &[u8] {
        &self.attachment
    }

    /// Sets the bytes that the application keeps with the snapshot to `attachment`.
    #[must_use]
    pub fn with_attachment(self, attachment: Vec<u8>) -> Self {
        Self { attachment, ..self }
    }

    /// Writes the snapshot as bytes, for [`from_bytes`](Self::from_bytes); docs/format.md has each of
    /// them.
    ///
    /// # Errors
    /// [`Error::Compress`] where there is no memory to compress them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, sizes, slice, shapes, words, kept, attachment } = self;
        let mut body = Vec::new();
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

    /// Reads the snapshot in `bytes`, for a detector with `params`. Allocates no more than
    /// docs/format.md says, whatever the bytes are.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Version`], [`Error::FormerVersion`], [`Error::OtherSizes`], [`Error::OtherSeed`].
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, StateKind::Snapshot, params)?;
        let shapes = params.arrays();
        let most: usize = shapes.map(section::most).iter().sum();
        let body = opened.body(most + kept::MOST_BYTES)?;
        let Contents { fingerprints, slice, slices, sizes, attachment, .. } = opened.contents;
        if slices != 0 {
            return Err(wrong("a snapshot counts slices").into());
        }
        let read =
            |section: Section<'_>| with_width!(section.shape().width, W => read::<W>(section));
        let ([finder, counter], rest) = sections(&body, shapes)?;
        let words = [read(finder)?, read(counter)?];
        let kept = KeptHosts::read(rest, params)?;
        let (sizes, attachment) = (Sizes::read(sizes)?, attachment.into());
        Ok(Self { fingerprints, sizes, slice, shapes, words, kept, attachment })
    }
}

/// Appends the section of all recorders that were ever touched, of an array with these `words`.
fn write<W: StateWord>(words: &[W], shape: ArrayShape, body: &mut Vec<u8>) {
    let mut touched = Coder::new(shape, Fold::default());
    code(words, RecentRange { recent: W::MAX.into(), echo: 0 }, &mut touched);
    touched.finish(body);
}

/// The words of an array; those that are not in its section were never touched.
fn read<W: StateWord>(section: Section<'_>) -> Result<Words, FormatError> {
    let mut words = vec![W::MAX; section.shape().recorders];
    section.walk(|place, word| words[place] = word)?;
    Ok(W::wrap(words))
}
