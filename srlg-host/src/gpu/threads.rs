//! [`share`]: the threads that make estimates of what a GPU counted.
//!
//! They wait between closes. On a virtual machine, starting a thread takes as long as ten estimates, and the end of one
//! holds up all others of the process.

use std::sync::LazyLock;
use std::sync::atomic::AtomicUsize;
use std::thread::available_parallelism;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::share::take;

/// Fewer tallies than this are not worth a thread: each takes up to ten microseconds, and waking a thread some fifty.
const TALLIES_PER_THREAD: usize = if cfg!(test) { 2 } else { 8 };

/// Threads that look at tallies, at most.
const MOST_THREADS: usize = 16;

/// The threads of all detectors of the process, which are never stopped; `None` where the system starts none.
static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    // The caller is one more.
    let threads = available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS)) - 1;
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "srlg-tallies".into());
    // Of no threads it would make as many as there are processors.
    (threads > 0).then(|| pool.build().ok()).flatten()
});

/// Calls `each` for all numbers below `count`; many are shared out among the threads.
pub(super) fn share(count: usize, each: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || take(&next, count, &each);
    match &*THREADS {
        Some(threads) if count >= 2 * TALLIES_PER_THREAD => threads.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, _| take());
            take();
        }),
        _ => take(),
    }
}
