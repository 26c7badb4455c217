//! [`Snapshot`]: everything that a detector has seen.

use srlg_core::Params;
use zerocopy::IntoBytes;

use super::coder::Coder;
use super::delta::sections;
use super::envelope::{Contents, Kind, open};
use super::pick::{Near, code_words};
use super::section::{self, Fold, Section};
use super::sizes::Sizes;
use super::{Fingerprints, FormatError, Shape, shapes};
use crate::error::Error;

/// Everything that a detector has seen: its recorders, slice, sizes and the fingerprint of its
/// seed; and an attachment, bytes that the application keeps with it.
///
/// Merging keeps the more recent of two recorders. It is commutative, associative and
/// idempotent, so the snapshots of any number of nodes, in any order and any number of
/// times, give the answer of one node that saw everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(crate) fingerprints: Fingerprints,
    pub(crate) sizes: Sizes,
    slice: u64,
    shapes: [Shape; 2],
    pub(crate) words: Words,
    attachment: Vec<u8>,
}

/// The words of both arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Of the RSRA, 8 bits or 16.
    pub(crate) rough: Vec<u16>,
    /// Of the SLEA.
    pub(crate) linear: Vec<u16>,
}

impl Snapshot {
    /// The snapshot of a detector that has these `words`, without an attachment.
    pub(crate) fn new(params: &Params, slice: u64, words: Words) -> Self {
        Self {
            fingerprints: Fingerprints::of(params),
            sizes: Sizes::of(params),
            slice,
            shapes: shapes(params),
            words,
            attachment: Vec::new(),
        }
    }

    /// The slice that was running when the snapshot was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// What the application keeps with it; nothing at first.
    #[must_use]
    pub fn attachment(&self) -> &[u8] {
        &self.attachment
    }

    /// The same snapshot with that attachment.
    #[must_use]
    pub fn with_attachment(self, attachment: Vec<u8>) -> Self {
        Self { attachment, ..self }
    }

    /// The snapshot as bytes, for [`from_bytes`](Self::from_bytes); docs/format.md has each of them.
    ///
    /// # Errors
    /// [`Error::Compress`] where there is no memory to compress them.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { fingerprints, sizes, slice, shapes, words, attachment } = self;
        let mut body = Vec::new();
        write(&words.rough, shapes[0], &mut body);
        write(&words.linear, shapes[1], &mut body);
        let contents = Contents {
            kind: Kind::Snapshot,
            fingerprints: *fingerprints,
            slice: *slice,
            slices: 0,
            sizes: sizes.as_bytes(),
            attachment,
        };
        contents.seal(&body)
    }

    /// The snapshot of such bytes, for a detector with `params`. It allocates no more than
    /// docs/format.md says, whatever the bytes are.
    ///
    /// # Errors
    /// [`Error::Format`], [`Error::Version`], [`Error::OtherSizes`], [`Error::OtherSeed`].
    pub fn from_bytes(bytes: &[u8], params: &Params) -> Result<Self, Error> {
        let opened = open(bytes, Kind::Snapshot, params)?;
        let shapes = shapes(params);
        let body = opened.body(shapes.map(section::most).iter().sum())?;
        let Contents { fingerprints, slice, slices, sizes, attachment, .. } = opened.contents;
        if slices != 0 {
            return Err(FormatError::Contents { what: "a snapshot counts slices" }.into());
        }
        let [rough, linear] = sections(&body, shapes)?;
        let words = Words { rough: read(rough, shapes[0])?, linear: read(linear, shapes[1])? };
        let (sizes, attachment) = (Sizes::read(sizes)?, attachment.into());
        Ok(Self { fingerprints, sizes, slice, shapes, words, attachment })
    }
}

/// Appends the section of all recorders that were ever touched, of an array with these `words`.
fn write(words: &[u16], shape: Shape, body: &mut Vec<u8>) {
    let mut touched = Coder::new(shape, Fold::default());
    code_words(words, Near { recent: shape.untouched(), echo: 0 }, &mut touched);
    touched.finish(body);
}

/// The words of an array; those that are not in its section were never touched.
fn read(section: Section<'_>, shape: Shape) -> Result<Vec<u16>, FormatError> {
    let mut words = vec![shape.untouched(); shape.recorders];
    section.walk(|place, word| words[place] = word)?;
    Ok(words)
}
