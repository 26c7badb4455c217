//! Pairs of the header, and their conversion to pairs of the library.

use srlg_host::{Error, IpPair, Ipv4Pair};
use zerocopy::transmute_ref;

use crate::values::pair_of;

/// Number of IPv6 pairs that are converted at a time. They occupy 8 kB of the stack.
pub(crate) const BLOCK: usize = 256;

pub(crate) fn ipv4(pairs: &[[u32; 2]]) -> &[Ipv4Pair] {
    transmute_ref!(pairs)
}

/// Passes `pairs` to `ingest` in blocks, until a block is not fully accepted. Returns the number of accepted pairs.
pub(crate) fn in_blocks(
    pairs: &[[u8; 32]],
    mut ingest: impl FnMut(&[IpPair]) -> Result<usize, Error>,
) -> Result<usize, Error> {
    let mut block = [IpPair::default(); BLOCK];
    let mut all = 0;
    for bytes in pairs.chunks(BLOCK) {
        let block = &mut block[..bytes.len()];
        block.iter_mut().zip(bytes).for_each(|(pair, bytes)| *pair = pair_of(bytes));
        let taken = ingest(block)?;
        all += taken;
        if taken < block.len() {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_pairs_in_their_order() {
        let pairs: Vec<[u8; 32]> = (0..3 * BLOCK as u32 + 1)
            .map(|number| {
                let mut bytes = [0x20; 32];
                bytes[28..].copy_from_slice(&number.to_be_bytes());
                bytes
            })
            .collect();
        let mut got = Vec::new();
        let all = in_blocks(&pairs, |block| {
            got.extend_from_slice(block);
            Ok(block.len())
        });
        assert_eq!(all.unwrap(), pairs.len());
        assert_eq!(got, pairs.iter().map(pair_of).collect::<Vec<_>>());
        // After the first pair that is not accepted, no other pair is offered. The returned number therefore shows
        // which pairs are left.
        let mut calls = 0;
        let taken = in_blocks(&pairs, |block| {
            calls += 1;
            Ok(if calls == 2 { 7 } else { block.len() })
        });
        assert_eq!((taken.unwrap(), calls), (BLOCK + 7, 2));
    }
}
