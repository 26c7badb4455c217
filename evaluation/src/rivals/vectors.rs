//! What DCDS and VBFA have in common: a pair sets the same bit in one vector of every array.
//!
//! Shape: [`VectorFilter`], arrays and a [`Reversal`], which knows a host's vectors and regains
//! hosts from vectors. Invariant: the reversal tells the host of its own vectors, and no other
//! combination that it takes for a host's is left out.

use super::Search;
use super::arrays::{Arrays, Limits, Reversal};
use crate::system::System;
use srlg_core::hash::{Key, KeySequence, hash, reduce};
use srlg_core::{Address, IpPair};

/// A system of arrays of bit vectors, from which `R` regains hosts.
pub struct VectorFilter<R> {
    limits: Limits,
    arrays: Arrays,
    pair_hash: PairHash,
    reversal: R,
    search: Search,
}

impl<R> VectorFilter<R> {
    /// An empty window; array i has `counts[i]` vectors of `vector_bits` bits.
    pub(super) fn with_arrays(
        counts: &[u32],
        vector_bits: u32,
        pair_hash: PairHash,
        reversal: R,
        limits: Limits,
    ) -> Self {
        let arrays = Arrays::new(counts, vector_bits);
        let search = Search { tried: 0, complete: true };
        Self { limits, arrays, pair_hash, reversal, search }
    }

    /// How far the search of the last `close_slice` went.
    #[must_use]
    pub const fn last_search(&self) -> Search {
        self.search
    }
}

impl<R: Reversal> System for VectorFilter<R> {
    fn name(&self) -> String {
        R::NAME.into()
    }

    fn ingest(&mut self, pairs: &[IpPair]) {
        for &pair in pairs {
            let bit = self.pair_hash.bit(pair, self.arrays.vector_bits);
            for (array, vector) in self.reversal.vectors(pair.inside).enumerate() {
                self.arrays.set(array, vector, bit);
            }
        }
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        let (report, search) = self.arrays.report(&self.reversal, self.limits);
        self.search = search;
        self.arrays.clear();
        report
    }

    fn is_complete(&self) -> bool {
        self.search.complete
    }

    /// The vectors alone.
    fn memory_bytes(&self) -> usize {
        self.arrays.bytes()
    }
}

/// Which bit of its vectors a pair sets: uniform over the pairs, not over the opposite
/// hosts, so that hosts with common peers do not set the same bits.
pub(super) struct PairHash {
    host: Key,
    pair: Key,
}

impl PairHash {
    pub(super) fn new(keys: &mut KeySequence) -> Self {
        Self { host: keys.next_key(), pair: keys.next_key() }
    }

    fn bit(&self, pair: IpPair, bits: u32) -> u32 {
        reduce(hash(pair.opposite ^ hash(pair.inside, self.host), self.pair), bits)
    }
}
