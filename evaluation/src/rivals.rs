//! The systems that the paper compares with, each from its published description.
//!
//! - [`dcds`]: vectors chosen by remainders, hosts regained by the Chinese remainder theorem.
//! - [`vbfa`]: vectors chosen by runs of address bits, hosts regained by overlapping them.
//! - [`gse`]: one shared bit array, a virtual vector per host; hosts are given to it.
//!
//! Shape: all keep bits alone, and work on discrete windows: `close_slice` reports and
//! begins anew. The first two are [`VectorFilter`]s: a pair sets the same bit in one vector
//! of every array, and a host's cardinality is the linear count of the AND of its vectors.
//! Invariant: an AND only clears bits, so the search drops a combination of vectors as soon
//! as too many bits are zero, and reports what trying all whole combinations would.

pub mod dcds;
mod filter;
pub mod gse;
pub mod vbfa;

pub use filter::{Reversal, VectorFilter};

/// Bits of a word, the unit in which memory is taken.
const WORD: u32 = u64::BITS;

/// Combinations of vectors that a search tries at most, unless told otherwise: some seconds' worth.
const MOST_COMBINATIONS: u64 = 1 << 30;

/// How far the search for hosts went in the last `close_slice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Combinations of vectors that were tried.
    pub tried: u64,
    /// Whether these were all; when not, hosts may be missing in the report.
    pub complete: bool,
}

fn zeros(words: impl Iterator<Item = u64>) -> u32 {
    words.map(u64::count_zeros).sum()
}

/// Linear counting (Whang, Vander-Zanden, Taylor 1990): pairs that leave `zeros` of `bits`
/// bits zero. Without a zero bit any number could have: as for one, the least of them.
fn linear_count(zeros: u32, bits: u32) -> f64 {
    let bits = f64::from(bits);
    bits * libm::log(bits / f64::from(zeros.max(1)))
}

#[cfg(test)]
mod tests;
