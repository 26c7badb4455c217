//! [`FormatError`]: what can be wrong with bytes that should be a snapshot or a delta.

use std::net::Ipv6Addr;

/// Tells why bytes are no snapshot or no delta.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum FormatError {
    /// The data end early, or something follows them.
    #[error(
        "{found} bytes instead of {expected}: the data were cut, or something was appended to them"
    )]
    Length { found: u64, expected: u64 },
    /// The data are something else.
    #[error("the data begin with {found:02x?} and not with SRLG: no snapshot and no delta")]
    Magic { found: [u8; 4] },
    /// The data are of a kind that was not asked for.
    #[error("the data are of kind {found} instead of {expected} (1 is a snapshot, 2 a delta)")]
    Kind { found: u8, expected: u8 },
    /// The data changed on their way.
    #[error(
        "checksum mismatch: stored {named:#010x}, computed {found:#010x}; the data are damaged"
    )]
    Checksum { found: u32, named: u32 },
    /// A snapshot of the paper's scheme has a host that this scheme cannot have reported.
    #[error(
        "{host} is among the hosts of the last report, and a snapshot of the paper's scheme has IPv4 \
         hosts alone: the data were not written by srlg, read another snapshot"
    )]
    Ip6InPaper { host: Ipv6Addr },
    /// The checksum is right, and the contents are not.
    #[error("{what}: the data were not written by srlg")]
    Contents { what: &'static str },
}

/// The error that data are as `what` says.
pub(super) const fn wrong(what: &'static str) -> FormatError {
    FormatError::Contents { what }
}
