//! The bytes of a file of the spool.
//!
//! Shape, little endian: `SRLGSPL1`, the slice (u64), the number of parts (u32), the length of each
//! (u32), the parts, and the crc32 of all that (u32). Invariant: what decodes is what was
//! encoded for that slice.

use bytes::{Buf, Bytes};

const MAGIC: &[u8; 8] = b"SRLGSPL1";
const CHECKSUM: usize = 4;

pub(super) fn encode(slice: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(slice.to_le_bytes());
    // Lengths of what is in memory at once, in parts of some megabytes at most.
    bytes.extend((parts.len() as u32).to_le_bytes());
    parts.iter().for_each(|part| bytes.extend((part.len() as u32).to_le_bytes()));
    parts.iter().for_each(|part| bytes.extend(part));
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// The parts that were encoded for `slice`, or what is wrong with the bytes.
pub(super) fn decode(slice: u64, mut bytes: Bytes) -> Result<Vec<Bytes>, &'static str> {
    const SHORT: &str = "the file ends early";
    let body = bytes.len().checked_sub(CHECKSUM).ok_or(SHORT)?;
    let mut checksum = bytes.split_off(body);
    if crc32fast::hash(&bytes) != checksum.get_u32_le() {
        return Err("the checksum of the file is wrong");
    }
    if bytes.try_get_u64().ok() != Some(u64::from_be_bytes(*MAGIC)) {
        return Err("the file is none of a spool");
    }
    if bytes.try_get_u64_le().ok() != Some(slice) {
        return Err("the file is of another slice");
    }
    let count = bytes.try_get_u32_le().or(Err(SHORT))? as usize;
    if bytes.len() / 4 < count {
        return Err(SHORT);
    }
    let mut lengths = bytes.split_to(count * 4);
    let mut part = || {
        let length = lengths.get_u32_le() as usize;
        if length <= bytes.len() { Ok(bytes.split_to(length)) } else { Err(SHORT) }
    };
    let parts = (0..count).map(|_| part()).collect::<Result<_, _>>()?;
    if bytes.is_empty() { Ok(parts) } else { Err("the file goes on after its last part") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_as_documented() {
        let bytes = encode(0x0102, &[b"ab".to_vec(), b"c".to_vec()]);
        let head = b"SRLGSPL1\x02\x01\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\0\0abc";
        assert_eq!(bytes[..bytes.len() - 4], head[..]);
    }

    proptest! {
        #[test]
        fn parts_come_back_and_a_changed_bit_or_length_is_noticed(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let bytes = encode(7, &parts);
            prop_assert_eq!(decode(7, bytes.clone().into()).unwrap(), parts);
            prop_assert!(decode(8, bytes.clone().into()).is_err());
            let at = at.index(bytes.len());
            prop_assert!(decode(7, bytes[..at].to_vec().into()).is_err());
            let mut changed = bytes;
            changed[at] ^= 1 << bit;
            prop_assert!(decode(7, changed.into()).is_err());
        }

        #[test]
        fn nonsense_with_a_right_checksum_is_refused_without_a_panic(
            body in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut bytes = [&MAGIC[..], &7_u64.to_le_bytes(), &body].concat();
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            if let Ok(parts) = decode(7, bytes.clone().into()) {
                let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
                prop_assert_eq!(encode(7, &parts), bytes);
            }
        }
    }
}
