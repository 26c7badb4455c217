//! How devices find hosts: for each finder of srlg-core what the CPU does, and what a GPU does.

mod quality;
mod rsra;
#[cfg(any(feature = "cuda", test))]
mod rsra_counts;
mod rsra_cpu;
#[cfg(any(feature = "cuda", test))]
mod rsra_gpu;

use srlg_core::finder::Finder;
use srlg_core::{Address, Params, ReadRecorder, Span};

pub(crate) use quality::Quality;
pub(crate) use rsra::untouched_quality;

/// The finder's part of a close on the CPU.
pub(crate) trait CpuFinder: Finder {
    /// What a search keeps beside the recorders.
    type Search: CpuSearch<<Self::Recorder as ReadRecorder>::Word>;
}

/// A search on the CPU, over recorders `R` that nobody updates meanwhile.
pub(crate) trait CpuSearch<R: ReadRecorder>: Send + Sync {
    /// The memory of searches in a detector with `params`.
    fn new(params: &Params) -> Self;

    /// Returns the candidates over `span`, each once, on up to `threads` threads; and what they
    /// are worth.
    fn candidates(
        &mut self,
        recorders: &[R],
        span: Span,
        threads: usize,
    ) -> (Vec<Address>, Quality);
}
