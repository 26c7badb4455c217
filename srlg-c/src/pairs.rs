//! Pairs of the header, and their conversion to pairs of the library.

use srlg_host::{IpPair, Ipv4Pair};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::values::Host;

/// A pair of IPv4 addresses in host byte order: 10.0.0.1 is 0x0a000001.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Pair4 {
    /// The inside host.
    pub inside: u32,
    /// Its peer.
    pub peer: u32,
}

/// A pair of IPv6 addresses. An IPv4-mapped address is the same host as the IPv4 address.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Pair6 {
    /// The inside host.
    pub inside: Host,
    /// Its peer.
    pub peer: Host,
}

impl From<&Pair6> for IpPair {
    fn from(of: &Pair6) -> Self {
        Self::new(of.inside.ipv6().into(), of.peer.ipv6().into())
    }
}

/// Number of IPv6 pairs that are converted at a time. They occupy 8 kB of the stack.
pub(crate) const BLOCK: usize = 256;

pub(crate) fn ipv4(pairs: &[Pair4]) -> &[Ipv4Pair] {
    bytemuck::cast_slice(pairs.as_bytes())
}

/// Passes `pairs` to `ingest` in blocks, until a block is not fully accepted. Returns the number of accepted pairs.
pub(crate) fn in_blocks<E>(
    pairs: &[Pair6],
    mut ingest: impl FnMut(&[IpPair]) -> Result<usize, E>,
) -> Result<usize, E> {
    let mut block = [IpPair::default(); BLOCK];
    let mut all = 0;
    for pairs in pairs.chunks(BLOCK) {
        let block = &mut block[..pairs.len()];
        block.iter_mut().zip(pairs).for_each(|(place, pair)| *place = pair.into());
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
    use std::convert::Infallible;
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn bytes_are_addresses_in_network_order() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let (inside, peer) = (address("2001:db8::1"), address("10.0.0.1"));
        let pair = Pair6 { inside: inside.into(), peer: peer.into() };
        assert_eq!(pair.inside.bytes[..4], [0x20, 1, 0x0d, 0xb8]);
        assert_eq!(pair.peer.bytes[10..], [0xff, 0xff, 10, 0, 0, 1]);
        assert_eq!(IpPair::from(&pair), IpPair::new(inside, peer));
        assert_eq!([pair.inside.address(), pair.peer.address()], [inside, peer]);
    }

    #[test]
    fn blocks_are_all_pairs_in_their_order() {
        let peer = |number: u32| Host::from(IpAddr::V6(u128::from(number).into()));
        let pairs: Vec<Pair6> = (0..3 * BLOCK as u32 + 1)
            .map(|number| Pair6 { inside: peer(7), peer: peer(number) })
            .collect();
        let mut got = Vec::new();
        let all = in_blocks(&pairs, |block| {
            got.extend_from_slice(block);
            Ok::<_, Infallible>(block.len())
        });
        assert_eq!(all.unwrap(), pairs.len());
        assert_eq!(got, pairs.iter().map(IpPair::from).collect::<Vec<_>>());
        // After the first pair that is not accepted, no other pair is offered. The returned number therefore shows
        // which pairs are left.
        let mut calls = 0;
        let taken = in_blocks(&pairs, |block| {
            calls += 1;
            Ok::<_, Infallible>(if calls == 2 { 7 } else { block.len() })
        });
        assert_eq!((taken.unwrap(), calls), (BLOCK + 7, 2));
    }
}
