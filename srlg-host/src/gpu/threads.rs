//! [`share`] and the threads that compute estimates from the counts of a GPU.
//!
//! The threads wait between closes instead of ending. On a virtual machine, starting a thread takes as long as ten
//! estimates, and the end of a thread delays all other threads of the process.

use std::sync::LazyLock;
use std::sync::atomic::AtomicUsize;
use std::thread::available_parallelism;

use rayon_core::{ThreadPool, ThreadPoolBuilder, current_thread_index};

use crate::share::{self, take};

/// Minimum number of tallies per thread. A tally takes about ten microseconds, and waking a thread takes about fifty.
const TALLIES_PER_THREAD: usize = if cfg!(test) { 2 } else { 8 };

/// Maximum number of threads that process tallies, including the calling thread.
const MOST_THREADS: usize = 16;

/// The threads that all detectors of the process share. They never stop.
///
/// This is `None` if there is only one processor, or if the system cannot start threads.
static THREADS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    // The calling thread also takes part.
    let mut threads = processors() - 1;
    while threads > 0 {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        if let Ok(pool) = pool.thread_name(|_| "srlg-tallies".into()).build() {
            return Some(pool);
        }
        threads /= 2;
    }
    None
});

fn processors() -> usize {
    available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS))
}

pub(super) fn start() {
    LazyLock::force(&THREADS);
}

/// Calls `each` for all numbers below `count`. If `count` is large, the calls are spread over the threads.
pub(super) fn share(count: usize, each: impl Fn(usize) + Sync) {
    let threads = (count / TALLIES_PER_THREAD).max(1);
    if current_thread_index().is_some() {
        // While a thread of a user's pool waits, it would run other work of that pool with locks held.
        return share::share(threads.min(processors()), count, each);
    }
    let next = AtomicUsize::new(0);
    let take = || take(&next, count, &each);
    match &*THREADS {
        Some(pool) if threads > 1 => pool.in_place_scope(|scope| {
            (1..threads.min(pool.current_num_threads() + 1)).for_each(|_| scope.spawn(|_| take()));
            take();
        }),
        _ => take(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_number_is_taken_once_by_any_thread() {
        for count in [0, 1, 3, 4, 100] {
            let taken = Mutex::new(Vec::new());
            share(count, |number| taken.lock().unwrap().push(number));
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_thread_of_another_pool_does_no_other_work_of_that_pool_meanwhile() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let lock = Mutex::new(0);
        pool.scope(|scope| {
            let held = lock.lock().unwrap();
            // This work waits in the queue of the only thread. If that thread ran it, it would lock the mutex twice.
            scope.spawn(|_| *lock.lock().unwrap() += 1);
            share(100, |_| ());
            assert_eq!(*held, 0);
        });
        assert_eq!(lock.into_inner().unwrap(), 1);
    }
}
