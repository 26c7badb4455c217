//! [`FormatError`]: what can be wrong with bytes that should be a snapshot or a delta.

/// Why bytes are no snapshot or no delta.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum FormatError {
    /// They end early, or go on.
    #[error("{found} bytes where {expected} belong: they were cut, or put together")]
    Length { found: u64, expected: u64 },
    /// They are something else.
    #[error("they begin with {found:02x?} and not with SRLG: no snapshot and no delta")]
    Magic { found: [u8; 4] },
    /// They are of a kind that was not asked for.
    #[error("they are of kind {found}, and {expected} was asked for (1 a snapshot, 2 a delta)")]
    Kind { found: u8, expected: u8 },
    /// They changed on their way.
    #[error("their checksum is {found:#010x} and they name {named:#010x}: they were damaged")]
    Checksum { found: u32, named: u32 },
    /// Their checksum is right, and their contents are not.
    #[error("{what}: they were made by something else than srlg")]
    Contents { what: &'static str },
}
