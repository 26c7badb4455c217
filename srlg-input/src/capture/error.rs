//! Errors and truncations of captures.
//!
//! [`CaptureError`] means that the user must act, for example because the file is not a capture or the disk fails.
//! [`Truncation`] means that the capture itself ends early, for which a warning is sufficient.

use std::io;

/// The reason why a capture cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The input is empty, or a gzip stream decompresses to nothing.
    #[error("empty input: expected {FORMATS}")]
    Empty,
    /// The first bytes do not match any known format.
    #[error("unknown format, starting with bytes {first_bytes}: expected {FORMATS}{MISSING}")]
    UnknownFormat {
        /// The first bytes in hexadecimal, at most eight.
        first_bytes: String,
    },
    /// The content is text, but its first line does not match any supported list or log.
    #[error(
        "unknown text format, with the first line {found:?}: expected a contact list (first line time_ms,src,dst), a Zeek conn.log, \
         an AWS flow log, or JSON of a known log{MISSING}"
    )]
    UnknownText {
        /// The first line, truncated to 64 characters.
        found: String,
    },
    /// The content is JSON, but none of its first rows belongs to a known log.
    #[error(
        "the first rows ({rows}) are JSON of no known log: expected one object per line from Zeek (conn.log), Suricata (EVE), Hubble, \
         Google Cloud, Oracle Cloud or Elastic agents, or a flow log of Azure or AWS"
    )]
    UnknownJson {
        /// Number of rows, at most 100.
        rows: u64,
    },
    /// Datagrams were requested from a contact list or a log.
    #[error(
        "a contact list or log contains no flow exports; use a pcap or pcapng capture, or an IPFIX file"
    )]
    NoPackets,
    /// Contacts were requested from an IPFIX file.
    #[error("an IPFIX file contains flow exports, not packets; decode its messages as exports")]
    Exports,
    /// A gzip stream is damaged, and none of its content can be decompressed.
    #[error("cannot decompress the gzip stream: {cause}; fetch the file again")]
    Gzip {
        /// Error of the inflater.
        cause: String,
    },
    /// The source failed. All complete records before the failure have been delivered.
    #[error("cannot read the capture: {0}")]
    Read(io::Error),
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

const FORMATS: &str = "pcap, pcapng, an IPFIX file, CSV with the header time_ms,src,dst, a log of Zeek, Suricata, Hubble, Elastic or a cloud, or any of these compressed with gzip";

/// Note about the formats in [`FORMATS`] whose feature is disabled.
const MISSING: &str = match (cfg!(feature = "gzip"), cfg!(feature = "logs")) {
    (true, true) => "",
    (true, false) => " (logs need the feature logs of srlg-input, which is not built in)",
    (false, true) => " (gzip needs the feature gzip of srlg-input, which is not built in)",
    (false, false) => {
        " (logs and gzip need the features logs and gzip of srlg-input, which are not built in)"
    }
};

/// The offset at which a capture ended early, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "stopped at byte {offset} of the capture (after decompression, if it is compressed): {cause}"
)]
pub struct Truncation {
    /// Offset of the incomplete or damaged record in the decompressed stream, in bytes. All records before it have been
    /// read.
    pub offset: u64,
    /// Reason why the record cannot be read.
    pub cause: Cause,
}

/// The reason why a capture ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The input ends inside the record.
    #[error("the input ends inside this record")]
    EndOfInput,
    /// A pcap record claims more captured bytes than libpcap accepts.
    #[error("the record claims {0} captured bytes, more than 262144")]
    CapturedLength(u32),
    /// A pcapng block length is invalid: not a multiple of 4, too small for the block type, or too large. The limit is
    /// 16 MiB for skipped blocks and 512 KiB for decoded blocks.
    #[error("block of type {kind:#x} claims an impossible length of {length} bytes")]
    BlockLength {
        /// Block type.
        kind: u32,
        /// Total length that the block header claims.
        length: u32,
    },
    /// The two copies of a pcapng block length differ.
    #[error("the block lengths before ({head}) and after ({tail}) the body differ")]
    BlockTail {
        /// Length before the body.
        head: u32,
        /// Length after the body.
        tail: u32,
    },
    /// A pcapng section header has an unknown byte order or a version other than 1.
    #[error("the section header has an unknown byte order or version")]
    Section,
    /// A message of an IPFIX file has a version other than 10, or is shorter than its header.
    #[error(
        "an IPFIX message must have version 10 and at least 16 bytes, got version {version} and {length} bytes"
    )]
    MessageHeader {
        /// Version that the header claims.
        version: u16,
        /// Length that the header claims.
        length: u16,
    },
    /// The gzip stream around the capture is incomplete or damaged.
    ///
    /// If the stream is damaged, packets shortly before the offset may be corrupt, because the checksum is at the end
    /// of the stream. Up to 48 KiB of valid content before the damage may be missing.
    #[error("the gzip stream is incomplete or damaged ({0})")]
    Gzip(String),
}

/// The error type of all file decoders.
#[derive(Debug)]
pub(crate) enum Halt {
    Failed(CaptureError),
    Truncated(Truncation),
}

impl Halt {
    pub(crate) const fn damaged(offset: u64, cause: Cause) -> Self {
        Self::Truncated(Truncation { offset, cause })
    }

    /// Sets the offset of a truncation to `offset`, the start of the record.
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
