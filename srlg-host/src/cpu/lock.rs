//! [`Lock`]: a lock for a few hundred stores.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::Duration;
use std::{hint, thread};

/// Number of checks whether a lock is free before the thread sleeps. They take longer than a running thread holds it.
const SPINS: u32 = 200;

/// Duration for which a thread sleeps if the thread that holds the lock does not run.
const PAUSE: Duration = Duration::from_micros(20);

/// A lock that threads hold for less than a microsecond.
///
/// Unlocking a [`Mutex`](std::sync::Mutex) swaps a word, and a swap waits until all earlier stores have reached the
/// first-level cache. Unlocking this lock is a plain store, which does not wait.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Lock(AtomicBool);

/// The right to use what a [`Lock`] protects. Dropping it unlocks the lock.
pub(super) struct Held<'a>(&'a Lock);

impl Lock {
    #[inline(always)]
    pub(super) fn hold(&self) -> Held<'_> {
        while self.0.swap(true, Acquire) {
            self.wait();
        }
        Held(self)
    }

    /// Waits until the lock is probably free.
    #[cold]
    fn wait(&self) {
        for _ in 0..SPINS {
            if !self.0.load(Relaxed) {
                return;
            }
            hint::spin_loop();
        }
        // If this thread only yielded, a holder with a lower priority would not run.
        thread::sleep(PAUSE);
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.0.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn only_one_thread_at_a_time_holds_a_lock() {
        let (lock, count) = (Lock::default(), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let _held = lock.hold();
                        // Without the lock, increments would be lost.
                        count.store(count.load(Relaxed) + 1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 40_000);
    }

    #[test]
    fn a_panic_unlocks_the_lock() {
        let lock = Lock::default();
        let panicking = std::panic::AssertUnwindSafe(|| {
            let _held = lock.hold();
            panic!("as a test")
        });
        assert!(std::panic::catch_unwind(panicking).is_err());
        let _held = lock.hold();
    }
}
