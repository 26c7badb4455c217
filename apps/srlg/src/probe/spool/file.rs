//! Format of a spool file.
//!
//! | Field | Format |
//! |---|---|
//! | Magic number | `SRLGSPL3` |
//! | Slice | u64 |
//! | Number of items: the sampling and the parts | u32 |
//! | Length of each item | u32 |
//! | Sampling | JSON |
//! | Parts of the slice | Bytes |
//! | CRC-32 of all fields above | u32 |
//!
//! Integers are little-endian. Invariant: decoding succeeds only for the slice that was encoded, and returns the
//! encoded content.

use bytes::{Buf, Bytes};
use srlg_input::contact::Sampling;

use super::SpoolEntry;

const MAGIC: &[u8; 8] = b"SRLGSPL3";
const CHECKSUM: usize = 4;

pub(super) fn encode(slice: u64, sampling: Sampling, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(slice.to_le_bytes());
    let text = serde_json::to_string(&sampling).unwrap_or_default();
    let all = || [text.as_bytes()].into_iter().chain(parts.iter().map(Vec::as_slice));
    // All lengths fit into u32, because the parts are in memory and have a few megabytes each.
    bytes.extend((all().count() as u32).to_le_bytes());
    all().for_each(|part| bytes.extend((part.len() as u32).to_le_bytes()));
    all().for_each(|part| bytes.extend(part));
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Decodes the file of `slice`. The error describes the damage.
pub(super) fn decode(slice: u64, mut bytes: Bytes) -> Result<SpoolEntry, &'static str> {
    const SHORT: &str = "the file is truncated";
    let body = bytes.len().checked_sub(CHECKSUM).ok_or(SHORT)?;
    let mut checksum = bytes.split_off(body);
    if crc32fast::hash(&bytes) != checksum.get_u32_le() {
        return Err("the checksum of the file is wrong");
    }
    if bytes.try_get_u64().ok() != Some(u64::from_be_bytes(*MAGIC)) {
        return Err("the file is not a spool file");
    }
    if bytes.try_get_u64_le().ok() != Some(slice) {
        return Err("the file contains a different slice");
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
    let mut parts = (0..count).map(|_| part()).collect::<Result<Vec<_>, _>>()?;
    if !bytes.is_empty() {
        return Err("the file continues after its last part");
    }
    if parts.is_empty() {
        return Err(SHORT);
    }
    let text = parts.remove(0);
    let sampling =
        serde_json::from_slice(&text).map_err(|_| "the sampling field of the file is invalid")?;
    Ok(SpoolEntry { parts, sampling })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_as_documented() {
        let text = br#"{"least":10,"most":10,"unknown":false}"#;
        let sampling = serde_json::from_slice(text).unwrap();
        let bytes = encode(0x0102, sampling, &[b"ab".to_vec(), b"c".to_vec()]);
        let head = b"SRLGSPL3\x02\x01\0\0\0\0\0\0\x03\0\0\0\x26\0\0\0\x02\0\0\0\x01\0\0\0";
        assert_eq!(bytes[..bytes.len() - 4], [&head[..], text, b"abc"].concat());
    }

    proptest! {
        #[test]
        fn parts_come_back_and_a_changed_bit_or_length_is_noticed(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let sampling = r#"{"least":10,"most":20,"unknown":true}"#;
            let sampling: Sampling = serde_json::from_str(sampling).unwrap();
            let bytes = encode(7, sampling, &parts);
            let stored = decode(7, bytes.clone().into()).unwrap();
            prop_assert_eq!((stored.parts, stored.sampling), (parts.iter().cloned().map(Bytes::from).collect(), sampling));
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
            if let Ok(SpoolEntry { parts, sampling }) = decode(7, bytes.into()) {
                // The same sampling may have several JSON texts.
                let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
                let again = decode(7, encode(7, sampling, &parts).into()).unwrap();
                prop_assert_eq!((again.parts.len(), again.sampling), (parts.len(), sampling));
            }
        }
    }
}
