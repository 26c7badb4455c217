//! The envelope of a state: header, sizes, body, attachment and checksum.
//!
//! Lengths in the data are not trusted. Before memory is allocated, each length is compared with the number of
//! available bytes or with the limits of `Params`.

use srlg_core::Params;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Fingerprints, Sizes, StateKind};
use crate::error::{Error, FormatError, wrong};

const MAGIC: [u8; 4] = *b"SRLG";

/// The only format version that is written and read.
const VERSION: u16 = 3;

/// The fastest zstd level that compresses literals.
const LEVEL: i32 = 1;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 4],
    version: U16,
    kind: u8,
    flags: u8,
    sizes: U64,
    seed: U64,
    slice: U64,
    slices: U32,
    reserved: U32,
    body: U64,
    frame: U64,
    attachment: U64,
}

/// The contents of an envelope, except its body.
pub(super) struct Contents<'a> {
    pub(super) kind: StateKind,
    pub(super) fingerprints: Fingerprints,
    pub(super) slice: u64,
    pub(super) slices: u32,
    /// Bytes of the detector's [`Sizes`], which are stored only in a snapshot.
    pub(super) sizes: &'a [u8],
    pub(super) attachment: &'a [u8],
}

/// Size of the checksum at the end of the envelope, in bytes.
const CHECKSUM: usize = size_of::<U32>();

impl Contents<'_> {
    /// Compresses `body` and returns the envelope as bytes.
    pub(super) fn seal(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let start = size_of::<Header>() + self.sizes.len();
        let mut bytes = vec![0; start + zstd::zstd_safe::compress_bound(body.len())];
        let frame = zstd::bulk::compress_to_buffer(body, &mut bytes[start..], LEVEL);
        let frame = frame.map_err(|source| Error::Compress { source })?;
        let header = self.header(body.len(), frame);
        bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
        bytes[size_of::<Header>()..start].copy_from_slice(self.sizes);
        bytes.truncate(start + frame);
        bytes.extend_from_slice(self.attachment);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    fn header(&self, body: usize, frame: usize) -> Header {
        Header {
            magic: MAGIC,
            version: VERSION.into(),
            kind: self.kind as u8,
            flags: 0,
            sizes: self.fingerprints.sizes.into(),
            seed: self.fingerprints.seed.into(),
            slice: self.slice.into(),
            slices: self.slices.into(),
            reserved: 0.into(),
            body: (body as u64).into(),
            frame: (frame as u64).into(),
            attachment: (self.attachment.len() as u64).into(),
        }
    }
}

/// A serialised state that has a valid checksum.
pub(super) struct Envelope<'a> {
    pub(super) contents: Contents<'a>,
    pub(super) body_len: u64,
    frame: &'a [u8],
}

/// The properties of a serialised state that its header contains.
///
/// ```
/// # use srlg_host as srlg;
/// use srlg::Ipv4Pair;
/// use srlg::ingest::PairBatch;
/// use srlg::state::{SlicePairs, StateHeader, StateKind};
///
/// let mut batch = PairBatch::new();
/// batch.push(Ipv4Pair::new("10.0.0.1".parse()?, "192.0.2.7".parse()?));
/// let header = StateHeader::read(&SlicePairs::new(&batch, 4)?.to_bytes()?)?;
/// assert_eq!((header.kind, header.slice), (StateKind::Pairs, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateHeader {
    /// The kind of the state.
    pub kind: StateKind,
    /// The running slice of a snapshot, the last slice of a delta, or the slice of the pairs.
    pub slice: u64,
    /// Number of slices that a delta covers, 1 for pairs, or 0 for a snapshot.
    pub slices: u32,
    /// Size of the body after decompression, in bytes.
    pub body_bytes: u64,
    fingerprints: Fingerprints,
}

impl StateHeader {
    /// Reads the header of the state in `bytes`, and checks its length and checksum. The body is not read.
    ///
    /// # Errors
    /// Returns [`Error::Format`] if the bytes are damaged. Returns [`Error::Version`] or [`Error::FormerVersion`] if
    /// they have an unsupported format version.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let header = versioned(bytes)?;
        let kinds = [StateKind::Snapshot, StateKind::Delta, StateKind::Pairs];
        let kind = kinds.into_iter().find(|kind| header.kind == *kind as u8);
        let kind = kind.ok_or(wrong("the kind of the state is unknown"))?;
        check_whole(&header, kind, bytes)?;
        Ok(Self {
            kind,
            slice: header.slice.get(),
            slices: header.slices.get(),
            body_bytes: header.body.get(),
            fingerprints: fingerprints(&header),
        })
    }

    /// Returns an error if a detector with `params` cannot merge the state, whatever its slice. Pairs fit every
    /// detector.
    ///
    /// # Errors
    /// Returns [`Error::OtherSizes`] or [`Error::OtherSeed`].
    pub fn check(&self, params: &Params) -> Result<(), Error> {
        match self.kind {
            StateKind::Pairs => Ok(()),
            kind => self.fingerprints.check(kind, None, params),
        }
    }
}

/// Returns the sizes in the snapshot in `bytes`, and its fingerprints.
pub(super) fn sizes_of(bytes: &[u8]) -> Result<(Sizes, Fingerprints), Error> {
    let kind = StateKind::Snapshot;
    let header = versioned(bytes)?;
    if header.kind != kind as u8 {
        return Err(FormatError::Kind { found: header.kind, expected: kind as u8 }.into());
    }
    check_whole(&header, kind, bytes)?;
    let sizes = Sizes::read(&bytes[size_of::<Header>()..][..sizes_len(kind)])?;
    Ok((sizes, fingerprints(&header)))
}

/// Opens the envelope in `bytes`, which must be of the given `kind`. It must match a detector with `params`, or any
/// detector if `params` is `None`.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    kind: StateKind,
    params: Option<&Params>,
) -> Result<Envelope<'a>, Error> {
    let header = versioned(bytes)?;
    if header.kind != kind as u8 {
        return Err(FormatError::Kind { found: header.kind, expected: kind as u8 }.into());
    }
    check_whole(&header, kind, bytes)?;
    let rest = &bytes[size_of::<Header>()..bytes.len() - CHECKSUM];
    let (sizes, rest) = rest.split_at(sizes_len(kind));
    let fingerprints = fingerprints(&header);
    match params {
        Some(params) => fingerprints.check(kind, Sizes::read(sizes).ok(), params)?,
        None if fingerprints == Fingerprints::NONE => {}
        None => return Err(wrong("a fingerprint of the pairs is not 0").into()),
    }
    // All lengths in the header are at most the length of `bytes`.
    let (frame, attachment) = rest.split_at(header.frame.get() as usize);
    let (slice, slices) = (header.slice.get(), header.slices.get());
    let contents = Contents { kind, fingerprints, slice, slices, sizes, attachment };
    Ok(Envelope { contents, body_len: header.body.get(), frame })
}

/// Reads the header of an envelope, whose format version must be supported.
fn versioned(bytes: &[u8]) -> Result<Header, Error> {
    let (header, _) =
        Header::read_from_prefix(bytes).map_err(|_| length(bytes, size_of::<Header>() as u64))?;
    check_version(&header, bytes)?;
    Ok(header)
}

/// Checks the length, the checksum and the reserved fields of an envelope.
fn check_whole(header: &Header, kind: StateKind, bytes: &[u8]) -> Result<(), Error> {
    check_length(header, sizes_len(kind), bytes)?;
    check_sum(bytes)?;
    if header.flags != 0 || header.reserved != 0 {
        return Err(wrong("a reserved field is not 0").into());
    }
    Ok(())
}

fn fingerprints(header: &Header) -> Fingerprints {
    Fingerprints { sizes: header.sizes.get(), seed: header.seed.get() }
}

/// Returns the length of the sizes in an envelope of this `kind`, in bytes.
fn sizes_len(kind: StateKind) -> usize {
    if kind == StateKind::Snapshot { size_of::<Sizes>() } else { 0 }
}

fn check_length(header: &Header, sizes: usize, bytes: &[u8]) -> Result<(), Error> {
    let fixed = (size_of::<Header>() + sizes + CHECKSUM) as u64;
    let rest = header.frame.get().saturating_add(header.attachment.get());
    let expected = fixed.saturating_add(rest);
    if bytes.len() as u64 == expected { Ok(()) } else { Err(length(bytes, expected).into()) }
}

fn length(bytes: &[u8], expected: u64) -> FormatError {
    FormatError::Length { found: bytes.len() as u64, expected }
}

fn check_version(header: &Header, bytes: &[u8]) -> Result<(), Error> {
    if header.magic != MAGIC {
        return Err(FormatError::Magic { found: header.magic }.into());
    }
    let theirs = header.version.get();
    if theirs == VERSION {
        return Ok(());
    }
    // If the checksum is valid, the version is really different. Otherwise, the bytes are damaged.
    check_sum(bytes)?;
    match theirs {
        0 => Err(wrong("the format version is 0").into()),
        1..VERSION => Err(Error::FormerVersion { theirs, oldest: VERSION }),
        _ => Err(Error::Version { theirs, newest: VERSION }),
    }
}

/// Verifies the checksum, which is at the end of `bytes` in every format version.
fn check_sum(bytes: &[u8]) -> Result<(), Error> {
    let (bytes, named) = bytes.split_last_chunk().ok_or(length(bytes, CHECKSUM as u64))?;
    let (found, named) = (crc32fast::hash(bytes), u32::from_le_bytes(*named));
    if found == named { Ok(()) } else { Err(FormatError::Checksum { found, named }.into()) }
}

impl Envelope<'_> {
    /// Returns the decompressed body, or an error if it is damaged or longer than `most` bytes.
    pub(super) fn body(&self, most: usize) -> Result<Vec<u8>, Error> {
        if self.body_len > most as u64 {
            return Err(wrong("the body is larger than the detector's sizes allow").into());
        }
        if zstd::zstd_safe::find_frame_compressed_size(self.frame) != Ok(self.frame.len()) {
            return Err(wrong("the body is not a single zstd frame").into());
        }
        let mut body = vec![0; self.body_len as usize];
        let found = zstd::bulk::decompress_to_buffer(self.frame, &mut body);
        match found {
            Ok(found) if found == body.len() => Ok(body),
            Ok(_) => Err(wrong("the body is shorter than the header states").into()),
            Err(_) => {
                Err(wrong("the body is not a zstd frame of the length that the header states")
                    .into())
            }
        }
    }
}
