//! What every measured system can do: srlg, the paper's rivals, and what users have today.

mod srlg;

pub use srlg::{Srlg, points, stages};

use srlg_core::{Address, IpPair};
use std::time::Duration;

/// A system that takes the pairs of a slice and reports super points at its end.
pub trait System {
    /// Name in tables and plots.
    fn name(&self) -> String;

    /// Takes pairs of the running slice.
    fn ingest(&mut self, pairs: &[IpPair]);

    /// Ends the slice: hosts whose estimated cardinality is at least the threshold that the
    /// system was made for, with the estimate; then the window moves on by one slice.
    fn close_slice(&mut self) -> Vec<(Address, f64)>;

    /// Ends the slice without a report.
    fn skip_slice(&mut self) {
        self.close_slice();
    }

    /// How long the stages of the last [`close_slice`](Self::close_slice) took, where the system
    /// tells.
    fn stages(&self) -> &[(&'static str, Duration)] {
        &[]
    }

    /// Whether the last [`close_slice`](Self::close_slice) searched everything: when not, it
    /// gave up, and super points may be missing.
    fn is_complete(&self) -> bool {
        true
    }

    /// Bytes that the system holds now; for hash maps the bytes of their tables.
    fn memory_bytes(&self) -> usize;
}
