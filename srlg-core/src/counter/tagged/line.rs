//! [`HostLayout`]: where the positions of one host are.
//!
//! A host's linear estimator is η' positions, `η' / 32` lines that hashing scatters over the
//! array: a giant then covers a little of every estimator, not all of a few. A touch of position
//! z goes to place `z % 32` of line `z / 32`. Its echo goes to another place of the same
//! line, `z % 32 ^ twist`, which costs no further cache miss, and looks
//! [`TaggedParams::echo_delay`] ages older: more than any touch in the window. So an echo never
//! hides a touch; it only uses places that no touch in the window needs.

use super::params::{LINE, TaggedParams};
use super::tag::Tagger;
use crate::hash;
use crate::ids::HostId;

/// Where the touches and echoes of one host go.
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
            // An opposite host of many hosts is at the same position of all of them; this
            // gives it another place in their lines.
            flip: spread % LINE,
            // Never 0: an echo is not in the place of its touch.
            twist: 1 + hash::reduce(spread, LINE - 1),
        }
    }

    /// Which of the η' positions of the host `position` is: another one of the same line.
    #[inline(always)]
    pub(super) fn own_position(self, position: u32) -> u32 {
        position ^ self.flip
    }

    /// The first recorder of the line that holds `position`.
    #[inline(always)]
    pub(super) fn line(self, params: &TaggedParams, position: u32) -> u32 {
        let line = params.hash.of(self.seed.wrapping_add(position / LINE), params.line_key);
        hash::reduce(line, params.lines) * LINE
    }

    /// The recorders that the touch and the echo of `position` go to.
    #[inline(always)]
    pub(super) fn of(self, params: &TaggedParams, position: u32) -> [u32; 2] {
        let touch = self.line(params, position) + position % LINE;
        [touch, touch ^ self.twist]
    }
}

/// Where the positions of one host are, and whose tags they have.
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
