//! [`Snapshot`]: everything that a detector has seen.

use srlg_core::Params;
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::envelope::{Contents, Kind, open};
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
    pub(crate) slice: u64,
    pub(crate) words: Words,
    pub(crate) attachment: Vec<u8>,
}

/// The words of both arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Of the RSRA, 8 bits or 16.
    pub(crate) rough: Vec<u16>,
    /// Of the SLEA.
    pub(crate) linear: Vec<u16>,
}

/// All sizes of a detector, in the order of docs/format.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes([U32; SIZES]);

const SIZES: usize = 18;

impl Sizes {
    pub(crate) fn of(params: &Params) -> Self {
        let sizes = [
            params.threshold(),
            params.window(),
            params.rough_rows(),
            params.rough_column_bits(),
            params.rough_width(),
            params.bit_stride(),
            params.lsb_threshold(),
            params.linear_rows(),
            params.linear_columns(),
            params.linear_width(),
            params.linear_stride(),
            params.hot_limit(),
            params.candidate_limit(),
            params.tags(),
            params.echo_delay(),
            params.epoch_slices(),
            params.rough_epoch_slices(),
            params.hash_family() as u32,
        ];
        Self(sizes.map(U32::new))
    }
}

impl Snapshot {
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
        let Self { fingerprints, sizes, slice, words, attachment } = self;
        let mut body = Vec::with_capacity(2 * (words.rough.len() + words.linear.len()));
        body.extend(words.rough.iter().map(|&word| word as u8));
        if sizes.0[13] == 1 {
            body.extend(words.rough.iter().map(|&word| (word >> 8) as u8));
        }
        body.extend(words.linear.iter().map(|&word| word as u8));
        body.extend(words.linear.iter().map(|&word| (word >> 8) as u8));
        let contents = Contents {
            kind: Kind::Snapshot,
            fingerprints: *fingerprints,
            slice: *slice,
            slices: 0,
            sizes: sizes.0.as_bytes(),
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
        let opened = open(bytes, Kind::Snapshot, size_of::<Sizes>(), params)?;
        let [rough, linear] = shapes(params);
        let len = rough.recorders * rough.bytes + linear.recorders * linear.bytes;
        let body = opened.body(len)?;
        if body.len() != len {
            return Err(
                FormatError::Contents { what: "the body is shorter than the arrays" }.into()
            );
        }
        let (of_rough, of_linear) = body.split_at(rough.recorders * rough.bytes);
        let words = Words { rough: words(of_rough, rough), linear: words(of_linear, linear) };
        let Contents { fingerprints, slice, sizes, attachment, .. } = opened.contents;
        let mut theirs = Sizes::of(params);
        theirs.0.as_mut_bytes().copy_from_slice(sizes);
        Ok(Self { fingerprints, sizes: theirs, slice, words, attachment: attachment.into() })
    }
}

/// The words of planes.
fn words(planes: &[u8], shape: Shape) -> Vec<u16> {
    let (low, high) = planes.split_at(shape.recorders);
    match shape.bytes {
        1 => low.iter().copied().map(u16::from).collect(),
        _ => low.iter().zip(high).map(|(&low, &high)| u16::from_le_bytes([low, high])).collect(),
    }
}
