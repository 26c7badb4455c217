//! How reading ends other than well.
//!
//! Shape: [`CaptureError`] when the caller must act (wrong file, failing disk), [`Truncation`]
//! when the capture itself stops early, which is worth one warning.

use std::io;

/// Tells why a capture cannot be read, or cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// There is not a single byte, or a gzip stream unpacks to none.
    #[error("the input is empty: expected {FORMATS}")]
    Empty,
    /// The first bytes belong to no known format.
    #[error("unknown format, the content starts with {first_bytes}: expected {FORMATS}{MISSING}")]
    UnknownFormat {
        /// Up to eight bytes, in hexadecimal.
        first_bytes: String,
    },
    /// The content is text, but the first line is that of no list or log.
    #[error(
        "first line is {found:?}: give a contact list (first line time_ms,src,dst), a Zeek conn.log, an AWS VPC flow log, or JSON lines \
         of Zeek or Suricata{MISSING}"
    )]
    UnknownText {
        /// The first line, at most 64 characters of it.
        found: String,
    },
    /// Datagrams were asked of a contact list or a log.
    #[error(
        "a contact list or log holds no datagrams: exports of flows are read from a pcap or pcapng capture, or an IPFIX file"
    )]
    NoPackets,
    /// Contacts were asked of an IPFIX file.
    #[error("an IPFIX file holds exports of flows, no packets: decode its messages as exports")]
    Exports,
    /// A gzip stream is damaged before the first bytes of its content.
    #[error("gzip stream without content ({cause}): fetch the file again")]
    Gzip {
        /// What the inflater found.
        cause: String,
    },
    /// The source failed; all records that were whole by then have been delivered.
    #[error("reading the capture failed: {0}")]
    Read(io::Error),
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

const FORMATS: &str = "pcap, pcapng, an IPFIX file, CSV with the header time_ms,src,dst, a log of Zeek, Suricata or an AWS VPC, or gzip of any";

/// The formats among [`FORMATS`] that this program was built without.
const MISSING: &str = match (cfg!(feature = "gzip"), cfg!(feature = "logs")) {
    (true, true) => "",
    (true, false) => " (logs need the feature logs of srlg-input, which this program lacks)",
    (false, true) => " (gzip needs the feature gzip of srlg-input, which this program lacks)",
    (false, false) => {
        " (logs and gzip need the features logs and gzip of srlg-input, which this program lacks)"
    }
};

/// Tells where and why a capture stopped early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped at byte {offset} of the unpacked capture: {cause}")]
pub struct Truncation {
    /// First byte of the record that is incomplete or damaged, counted from 0 in the
    /// decompressed stream: as many bytes are sound.
    pub offset: u64,
    /// What is wrong with the record.
    pub cause: Cause,
}

/// Tells what ended a capture early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The input ends inside the record.
    #[error("the input ends inside this record")]
    EndOfInput,
    /// A pcap record claims more captured bytes than any capture tool writes.
    #[error("the record claims {0} captured bytes, more than 262144")]
    CapturedLength(u32),
    /// A pcapng block length is no multiple of 4, too small for its type, or beyond the bound
    /// (512 KiB for packets and interfaces, 16 MiB for blocks that are passed over).
    #[error("block of type {kind:#x} claims an impossible length of {length} bytes")]
    BlockLength {
        /// Block type.
        kind: u32,
        /// Total length that its head claims.
        length: u32,
    },
    /// The two copies of a pcapng block length differ.
    #[error("block lengths at head ({head}) and tail ({tail}) differ")]
    BlockTail {
        /// Length before the body.
        head: u32,
        /// Length after the body.
        tail: u32,
    },
    /// A pcapng section header without a known byte-order magic, or of a version other than 1.
    #[error("the section header has an unknown byte order or version")]
    Section,
    /// A message of an IPFIX file is of another version, or shorter than its header.
    #[error(
        "an IPFIX message has version 10 and at least 16 bytes, this one claims version {version} and {length} bytes"
    )]
    MessageHeader {
        /// Version that its header claims.
        version: u16,
        /// Length that its header claims.
        length: u16,
    },
    /// The gzip stream around the capture is cut or damaged. Of a damaged one, packets shortly
    /// before this place may be wrong, as the checksum that would tell comes last; and up to
    /// 48 KiB of sound content before the damage may be missing.
    #[error("the gzip stream is cut or damaged ({0})")]
    Gzip(String),
}

/// The reason why a decoder stops: the one error type between the decoders of files.
#[derive(Debug)]
pub(crate) enum Halt {
    Failed(CaptureError),
    Truncated(Truncation),
}

impl Halt {
    pub(crate) const fn damaged(offset: u64, cause: Cause) -> Self {
        Self::Truncated(Truncation { offset, cause })
    }

    /// The same stop, blamed on the record that starts at `offset`.
    pub(crate) fn moved_to(self, offset: u64) -> Self {
        match self {
            Self::Truncated(Truncation { cause, .. }) => Self::damaged(offset, cause),
            Self::Failed(_) => self,
        }
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(CaptureError::Read(error))
    }
}
