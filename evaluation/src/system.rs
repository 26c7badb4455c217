//! What every measured system can do: srlg, the paper's rivals, and what users have today.

mod srlg;

pub use srlg::{Srlg, points};

use srlg_core::{Address, IpPair};

/// A system that takes the pairs of a slice and reports super points at its end.
pub trait System {
    /// Name in tables and plots.
    fn name(&self) -> String;

    /// Takes pairs of the running slice.
    fn ingest(&mut self, pairs: &[IpPair]);

    /// Ends the slice: hosts whose estimated cardinality is at least the threshold that the
    /// system was made for, with the estimate; then the window moves on by one slice.
    fn close_slice(&mut self) -> Vec<(Address, f64)>;

    /// Whether the last [`close_slice`](Self::close_slice) searched everything: when not, it
    /// gave up, and super points may be missing.
    fn is_complete(&self) -> bool {
        true
    }

    /// Bytes that the system holds now; for hash maps the bytes of their tables.
    fn memory_bytes(&self) -> usize;
}
