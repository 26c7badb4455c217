//! Answers of a device, and the threads that look at them.

use srlg_core::{Params, Span};

use super::scheme::{GpuCounter, GpuScheme};
use crate::share::share;

/// Fewer tallies are not worth a thread: each takes some three microseconds, and to start a thread some ten.
const TALLIES_PER_THREAD: usize = if cfg!(test) { 2 } else { 32 };

/// Threads that look at tallies, at most.
const MOST_THREADS: usize = 8;

/// Bytes of the answer for one host over the longest span.
pub(super) fn most_answer_bytes<S: GpuScheme>(params: &Params) -> usize {
    // Echoes are as many ages old as a window has; where there are none, words are ages of slices.
    let ages = params.counter_sizes().echo_delay.max(1);
    S::Counter::answer_bytes(Span::whole(ages, 1))
}

/// The threads of this machine that may look at tallies.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS))
}

/// Calls `each` for all numbers below `count`; many are shared out among `threads`.
pub(super) fn share_out(threads: usize, count: usize, each: impl Fn(usize) + Sync) {
    share(threads.min(count / TALLIES_PER_THREAD), count, each);
}
