//! Integers at fixed offsets of a header, in the byte order that the file declares.
//!
//! Invariant: callers pass only slices that contain the field, because they check the length of each record.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    #[default]
    Little,
    Big,
}

impl ByteOrder {
    /// Returns the byte order in which the first four bytes of `bytes` are `magic`, if there is one.
    pub(crate) fn of_magic(bytes: &[u8], magic: u32) -> Option<Self> {
        [Self::Little, Self::Big].into_iter().find(|order| order.u32(bytes, 0) == magic)
    }

    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let field = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let field = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }

    pub(crate) fn i64(self, field: [u8; 8]) -> i64 {
        match self {
            Self::Little => i64::from_le_bytes(field),
            Self::Big => i64::from_be_bytes(field),
        }
    }
}
