//! [`Head`]: where the counts of a close are in one memory, so that one copy brings them all.

use std::ops::Range;

use srlg_core::Params;
use srlg_kernels::survey::{SUMS, WEIGHTS};

use crate::backend::Survey;

/// Hosts that come along with the counts: more than a window has but under overload.
const EAGER: usize = if cfg!(test) { 12 } else { 4096 };

/// Ranges of bytes; 32-bit counts, then the list of hosts.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// Per row and weight, the hot rough estimators.
    pub(super) rough: Range<usize>,
    /// Per row of the SLEA, the recorders within the window, in sums of some.
    pub(super) linear: Range<usize>,
    /// Lengths of the lists of hot columns.
    pub(super) hot: [Range<usize>; 2],
    /// Length of the list of hosts.
    pub(super) found: Range<usize>,
    /// The list of hosts.
    pub(super) hosts: Range<usize>,
}

impl Head {
    pub(super) fn new(params: &Params) -> Self {
        let mut end = 0;
        let mut next = |values: usize| {
            let start = end;
            end += values * size_of::<u32>();
            start..end
        };
        Self {
            rough: next(params.rough_rows() as usize * WEIGHTS),
            linear: next(params.linear_rows() as usize * SUMS),
            hot: [next(1), next(1)],
            found: next(1),
            hosts: next(params.candidate_limit() as usize),
        }
    }

    /// All of it.
    pub(super) fn bytes(&self) -> usize {
        self.hosts.end
    }

    /// All counts.
    pub(super) fn counts(&self) -> Range<usize> {
        0..self.found.end
    }

    /// Counts of a search.
    pub(super) fn of_search(&self) -> Range<usize> {
        self.hot[0].start..self.found.end
    }

    /// All counts, and the first hosts.
    pub(super) fn eager(&self) -> Range<usize> {
        0..self.hosts.end.min(self.hosts.start + EAGER * size_of::<u32>())
    }

    /// The survey in a copy of the counts.
    pub(super) fn survey(&self, bytes: &[u8]) -> Survey {
        let rough = values(&bytes[self.rough.clone()]);
        let rough =
            rough.chunks_exact(WEIGHTS).map(|row| std::array::from_fn(|weight| row[weight]));
        let linear_weights = row_weights(&bytes[self.linear.clone()]);
        Survey { rough_weights: rough.collect(), linear_weights }
    }
}

/// Per row of the SLEA the weight, of the sums that a kernel left.
pub(super) fn row_weights(bytes: &[u8]) -> Vec<u32> {
    values(bytes).chunks_exact(SUMS).map(|sums| sums.iter().sum()).collect()
}

/// `bytes` as 32-bit values.
pub(super) fn values(bytes: &[u8]) -> Vec<u32> {
    let value = |bytes: &[u8; 4]| u32::from_ne_bytes(*bytes);
    bytes.as_chunks().0.iter().map(value).collect()
}
