//! Tallies out of what a device counted.

use srlg_core::{Histograms, Params, Span, Tally};
use zerocopy::FromBytes;

/// Fewer tallies are not worth a thread: each takes a microsecond or two.
const SHARE: usize = if cfg!(test) { 2 } else { 128 };

/// Threads that look at tallies, at most.
const THREADS: usize = 8;

/// Bytes of the bins of a host over `span`.
pub(super) fn host_bytes(span: Span) -> usize {
    span.bins() * size_of::<u32>()
}

/// The same for the longest window.
pub(super) fn most_host_bytes(params: &Params) -> usize {
    // Echoes are as many ages old as a window has; in the paper's scheme a host has one weight.
    let longest = Span {
        rough_ages: 1,
        ages: params.echo_delay().max(1),
        oldest_slices: 1,
        oldest_length: 1,
    };
    host_bytes(longest)
}

/// The tally in the bins of one host.
pub(super) fn tally(bytes: &[u8], span: Span) -> Tally {
    let bins = <[u32]>::ref_from_bytes(bytes).expect("bins are 32-bit values in aligned memory");
    Tally::Visible(Histograms::of_bins(span, bins))
}

/// The threads of this machine that may look at tallies.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| threads.get().min(THREADS))
}

/// Calls `each` for all numbers below `count`; many are shared out among `threads`.
pub(super) fn share_out(threads: usize, count: usize, each: impl Fn(usize) + Sync) {
    let threads = threads.min(count / SHARE);
    if threads < 2 {
        return (0..count).for_each(each);
    }
    let (share, each) = (count.div_ceil(threads), &each);
    std::thread::scope(|scope| {
        for start in (share..count).step_by(share) {
            scope.spawn(move || (start..count.min(start + share)).for_each(each));
        }
        (0..share).for_each(each);
    });
}
