//! [`CountsLayout`]: where the counts of a search are in one memory, so that one copy brings them
//! all.

use std::ops::Range;

use srlg_core::Params;
use srlg_kernels::survey::WEIGHTS;

use super::rsra::rsra;
use crate::gpu::device::values;

/// Hosts that come along with the counts: more than a window has but under overload.
const EAGER_HOSTS: usize = if cfg!(test) { 12 } else { 4096 };

/// Ranges of bytes; 32-bit counts, then the list of hosts.
#[derive(Clone, Debug)]
pub(super) struct CountsLayout {
    /// Per row and weight, the hot rough estimators.
    pub(super) weights: Range<usize>,
    /// Lengths of the lists of hot columns.
    pub(super) hot: [Range<usize>; 2],
    /// Length of the list of hosts.
    pub(super) found: Range<usize>,
    /// The list of hosts.
    pub(super) hosts: Range<usize>,
}

impl CountsLayout {
    pub(super) fn new(params: &Params) -> Self {
        let mut end = 0;
        let mut next = |values: usize| {
            let start = end;
            end += values * size_of::<u32>();
            start..end
        };
        Self {
            weights: next(rsra(params).rows() as usize * WEIGHTS),
            hot: [next(1), next(1)],
            found: next(1),
            hosts: next(params.candidate_limit() as usize),
        }
    }

    /// All counts, and the first hosts.
    pub(super) fn eager(&self) -> Range<usize> {
        0..self.hosts.end.min(self.hosts.start + EAGER_HOSTS * size_of::<u32>())
    }

    /// The hot rough estimators per row and weight, in a copy of the counts.
    pub(super) fn hot_weights(&self, bytes: &[u8]) -> Vec<[u32; WEIGHTS]> {
        values(&bytes[self.weights.clone()]).as_chunks().0.to_vec()
    }
}
