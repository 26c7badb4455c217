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

/// The places of the touches and echoes of one host.
#[derive(Clone, Copy, Debug)]
pub(super) struct TouchLayout {
    seed: u32,
    flip: u32,
    pub(super) twist: u32,
}

impl TouchLayout {
    #[inline(always)]
    pub(super) fn new(params: &TaggedParams, host: HostId) -> Self {
        let seed = params.hash.of(host.lo, params.host_key);
        let spread = seed.wrapping_mul(0x9e37_79b1);
        Self {
            seed,
            // A peer of many hosts touches the same position of each host. The flip changes its place in their lines.
            flip: spread % LINE,
            // The twist is never 0, because an echo must not be in the place of its touch.
            twist: 1 + hash::reduce(spread, LINE - 1),
        }
    }

    /// Applies the flip of this host to the `position` of a peer. The result is in the same line as `position`.
    #[inline(always)]
    pub(super) fn own_position(self, position: u32) -> u32 {
        position ^ self.flip
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
