//! The envelope of a snapshot and of a delta: header, body, attachment, checksum.
//!
//! No length is trusted: each is compared with the bytes that are there, or with what `Params`
//! allow, before anything is allocated for it.

use srlg_core::Params;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Fingerprints, FormatError};
use crate::error::Error;

const MAGIC: [u8; 4] = *b"SRLG";

/// The version that is written, and the newest that is read.
const VERSION: u16 = 1;

/// zstd's fastest level that still codes bytes by their frequency.
const LEVEL: i32 = 1;

/// What is in the envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Snapshot = 1,
    Delta = 2,
}

/// The first bytes.
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

/// What an envelope says and holds, but for its body.
pub(super) struct Contents<'a> {
    pub(super) kind: Kind,
    pub(super) fingerprints: Fingerprints,
    pub(super) slice: u64,
    pub(super) slices: u32,
    /// Of a snapshot; nothing in a delta.
    pub(super) sizes: &'a [u8],
    pub(super) attachment: &'a [u8],
}

/// Bytes of the checksum, which is the end.
const CHECKSUM: usize = size_of::<U32>();

impl Contents<'_> {
    /// All bytes, with `body` compressed.
    pub(super) fn seal(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let frame =
            zstd::bulk::compress(body, LEVEL).map_err(|source| Error::Compress { source })?;
        let header = Header {
            magic: MAGIC,
            version: VERSION.into(),
            kind: self.kind as u8,
            flags: 0,
            sizes: self.fingerprints.sizes.into(),
            seed: self.fingerprints.seed.into(),
            slice: self.slice.into(),
            slices: self.slices.into(),
            reserved: 0.into(),
            body: (body.len() as u64).into(),
            frame: (frame.len() as u64).into(),
            attachment: (self.attachment.len() as u64).into(),
        };
        let mut bytes = [header.as_bytes(), self.sizes, &frame, self.attachment].concat();
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }
}

/// An envelope whose checksum is right.
pub(super) struct Opened<'a> {
    pub(super) contents: Contents<'a>,
    body_len: u64,
    frame: &'a [u8],
}

/// Opens an envelope of `kind`, with so many bytes of sizes, that belongs to `params`.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    kind: Kind,
    sizes_len: usize,
    params: &Params,
) -> Result<Opened<'a>, Error> {
    let (header, rest) =
        Header::read_from_prefix(bytes).map_err(|_| length(bytes, size_of::<Header>() as u64))?;
    check_kind(&header, kind)?;
    let (frame_len, attachment_len) = (header.frame.get(), header.attachment.get());
    let expected = frame_len.saturating_add(attachment_len);
    let expected = expected.saturating_add((size_of::<Header>() + sizes_len + CHECKSUM) as u64);
    if bytes.len() as u64 != expected {
        return Err(length(bytes, expected));
    }
    let (rest, checksum) = rest.split_at(rest.len() - CHECKSUM);
    check_sum(&bytes[..bytes.len() - CHECKSUM], checksum)?;
    if header.flags != 0 || header.reserved != 0 {
        return Err(FormatError::Contents { what: "a reserved field is not 0" }.into());
    }
    let fingerprints = Fingerprints { sizes: header.sizes.get(), seed: header.seed.get() };
    Fingerprints::of(params).check(fingerprints)?;
    // Both lengths are below that of `bytes`.
    let (sizes, rest) = rest.split_at(sizes_len);
    let (frame, attachment) = rest.split_at(frame_len as usize);
    let (slice, slices) = (header.slice.get(), header.slices.get());
    let contents = Contents { kind, fingerprints, slice, slices, sizes, attachment };
    Ok(Opened { contents, body_len: header.body.get(), frame })
}

fn length(bytes: &[u8], expected: u64) -> Error {
    FormatError::Length { found: bytes.len() as u64, expected }.into()
}

fn check_kind(header: &Header, kind: Kind) -> Result<(), Error> {
    if header.magic != MAGIC {
        return Err(FormatError::Magic { found: header.magic }.into());
    }
    if header.version != VERSION {
        return Err(Error::Version { theirs: header.version.get(), newest: VERSION });
    }
    if header.kind != kind as u8 {
        return Err(FormatError::Kind { found: header.kind, expected: kind as u8 }.into());
    }
    Ok(())
}

fn check_sum(bytes: &[u8], checksum: &[u8]) -> Result<(), Error> {
    let found = crc32fast::hash(bytes);
    let named = checksum.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
    if found != named {
        return Err(FormatError::Checksum { found, named }.into());
    }
    Ok(())
}

impl Opened<'_> {
    /// The body, which may have no more than `most` bytes.
    pub(super) fn body(&self, most: usize) -> Result<Vec<u8>, Error> {
        let wrong = |what| Error::Format(FormatError::Contents { what });
        if self.body_len > most as u64 {
            return Err(wrong("the body is larger than the detector's sizes allow"));
        }
        let mut body = vec![0; self.body_len as usize];
        let found = zstd::bulk::decompress_to_buffer(self.frame, &mut body);
        match found {
            Ok(found) if found == body.len() => Ok(body),
            Ok(_) => Err(wrong("the body is shorter than its length")),
            Err(_) => Err(wrong("the body is no zstd frame of its length")),
        }
    }
}
