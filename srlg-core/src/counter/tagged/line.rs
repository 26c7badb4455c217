//! [`HostLayout`]: the places and tags of one host's positions.
//!
//! The η' fine positions of a host are in `η' / 32` lines, which a hash scatters over the array. The estimator of a
//! host with very many peers therefore overlaps many other estimators slightly, instead of a few completely.
//!
//! A touch of position z is written to place `z % 32` of the host's line `z / 32`. Its echo is written to place `z % 32
//! ^ twist` of the same line, so it does not cause a second cache miss. The echo looks [`TaggedParams::echo_delay`]
//! ages older than the touch. An echo therefore looks older than any touch in the window and never hides one.

use super::params::TaggedParams;
use super::sizes::LINE;
use super::tag::Tagger;
use crate::hash;
use crate::ids::HostId;
use crate::pair::Address;

/// The places of the touches and echoes of one host.
#[derive(Clone, Copy, Debug)]
pub(super) struct TouchLayout {
    seed: u32,
    pub(super) twist: u32,
}

impl TouchLayout {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, host: HostId) -> Self {
        let seed = params.hash.of(host.lo, params.host_key);
        // The twist is never 0, because an echo must not be in the place of its touch.
        let twist = 1 + hash::reduce(seed.wrapping_mul(0x9e37_79b1), LINE - 1);
        Self { seed, twist }
    }

    /// Returns the hash of `peer` in the estimator of this host.
    ///
    /// The hash depends on the host. Otherwise, a peer of many hosts would touch the same place in their lines, and hosts
    /// with the same peers would have the same errors.
    #[inline(always)]
    pub(super) fn hash_of(self, params: &TaggedParams, peer: Address) -> u32 {
        params.hash.of(peer.wrapping_add(self.seed), params.position_key)
    }

    /// Returns the index of the first recorder of the line that contains `position`.
    #[inline(always)]
    pub(super) fn line(self, params: &TaggedParams, position: u32) -> u32 {
        let line = params.hash.of(self.seed.wrapping_add(position / LINE), params.line_key);
        hash::reduce(line, params.lines) * LINE
    }

    #[inline(always)]
    pub(super) fn of(self, params: &TaggedParams, position: u32) -> [u32; 2] {
        let touch = self.line(params, position) + position % LINE;
        [touch, touch ^ self.twist]
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HostLayout {
    pub(super) places: TouchLayout,
    pub(super) tagger: Tagger,
}

impl HostLayout {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, host: HostId) -> Self {
        Self { places: TouchLayout::new(params, host), tagger: Tagger::new(params, host) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    // The expected values come from an independent Python implementation, hash_vectors.py.
    #[test]
    fn hashes_of_peers_in_the_estimators_of_hosts_equal_the_pinned_vectors() {
        let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
        for (inside, peer, expected) in [
            (0x0a00_0001, 0x0808_0808, 0x87fe_0045),
            (0xc0a8_0101, 0x0808_0808, 0xa406_1284),
            (u32::MAX, 7, 0x74db_117b),
        ] {
            let own = TouchLayout::new(&params, inside.into()).hash_of(&params, peer);
            assert_eq!(own, expected, "{inside:#x} {peer:#x}");
        }
    }
}
