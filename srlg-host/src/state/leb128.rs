//! Gaps between ascending numbers, minus 1, encoded as LEB128.
//!
//! Each byte contains seven bits of the encoded value, and the lowest bits come first. The top bit is set if more bytes
//! follow.

use crate::vectors::for_wider_vectors;

/// Number of gaps that are encoded together if each of them fits into one byte. In a dense list, most gaps fit.
const GAPS_PER_RUN: usize = 32;

for_wider_vectors! {
    pub(super) fn write_gaps(places: &[u32], bytes: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(run) = places.get(at..at + GAPS_PER_RUN + 1) {
            let (mut shorts, mut ones) = ([0u8; GAPS_PER_RUN], 0);
            for i in 0..GAPS_PER_RUN {
                let gap = run[i + 1] - run[i] - 1;
                shorts[i] = gap as u8;
                ones |= gap;
            }
            match ones < 0x80 {
                true => bytes.extend_from_slice(&shorts),
                false => write_all(run, bytes),
            }
            at += GAPS_PER_RUN;
        }
        write_all(&places[at..], bytes);
    }
}

/// Appends the gaps between `places` to `bytes`, one by one.
pub(super) fn write_all(places: &[u32], bytes: &mut Vec<u8>) {
    let next = places.iter().skip(1);
    places.iter().zip(next).for_each(|(one, next)| write(next - one - 1, bytes));
}

pub(super) fn write(mut value: u32, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Number of bits in the first four bytes, which are below those of the fifth and last byte.
pub(super) const LAST_SHIFT: u32 = 28;

/// Returns the next gap, minus 1, or `None` if `bytes` does not start with a valid 32-bit value.
#[inline(always)]
pub(super) fn read<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u32> {
    let mut value = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::on_all_levels;
    use proptest::prelude::*;

    // These are the examples in the DWARF standard and the limits of 32 bits.
    #[test]
    fn values_have_the_bytes_of_leb128() {
        for (value, expected) in [
            (2, &[2][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (12_857, &[57 + 0x80, 100]),
            (u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            assert_eq!(bytes, expected);
            assert_eq!(read(&mut bytes.iter()), Some(value));
        }
        for wrong in [&[0x80][..], &[0xff, 0xff, 0xff, 0xff, 0x1f], &[0x80; 6], &[]] {
            assert_eq!(read(&mut wrong.iter()), None);
        }
    }

    proptest! {
        #[test]
        fn gaps_are_read_as_they_are_written(
            gaps in prop::collection::vec(prop_oneof![9 => 0u32..200, 1 => 0u32..1_000_000], 0..300),
        ) {
            let mut places = vec![5];
            for gap in &gaps {
                places.push(places[places.len() - 1] + gap + 1);
            }
            let mut bytes = Vec::new();
            write_gaps(&places, &mut bytes);
            let mut rest = bytes.iter();
            let found: Vec<u32> = std::iter::from_fn(|| read(&mut rest)).collect();
            prop_assert_eq!(found, gaps);
        }

        #[test]
        fn gaps_are_written_alike_on_all_levels(
            gaps in prop::collection::vec(prop_oneof![100 => 1u32..100, 1 => 1u32..1 << 20], 0..2000),
        ) {
            let ends = gaps.iter().scan(0, |end, gap| {
                *end += gap;
                Some(*end)
            });
            let places: Vec<u32> = ends.collect();
            on_all_levels!(write_gaps as level => {
                let mut bytes = vec![7];
                level(&places, &mut bytes);
                bytes
            });
        }
    }
}
