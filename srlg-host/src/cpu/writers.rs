//! [`Writers`]: the inboxes that write to a counter's array, and whether there is only one.
//!
//! Most programs ingest on one thread. Until a second thread ingests, the first one needs neither buckets nor the locks
//! of [`Shards`](super::shards::Shards). When a second inbox appears, it waits briefly until the first inbox has
//! finished its current write, which is a [`SoleTurn`]. Both inboxes then use shards until the next slice.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The inboxes that have written since the last close: none, one or several.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Writers {
    /// Whether there are several writers. Until [`forget`](Self::forget) is called, the value changes only from false
    /// to true, under the lock of `first`.
    are_several: AtomicBool,
    /// Whether a second inbox has had to wait for the lock of `first`. Without this flag, the only writer could retake
    /// the lock forever.
    is_asked_for: AtomicBool,
    first: Mutex<Option<WriterId>>,
}

/// The identifier of an inbox: the address of its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriterId(pub(super) usize);

/// A turn of the only writer, during which no other inbox writes.
pub(super) struct SoleTurn<'a> {
    _first: MutexGuard<'a, Option<WriterId>>,
}

impl Writers {
    /// Registers `writer`. Returns a turn for it, or `None` if there are several writers.
    pub(super) fn sole_turn(&self, writer: WriterId) -> Option<SoleTurn<'_>> {
        // Each thread that reads true also sees the writes of the previous only writer.
        if self.are_several.load(Acquire) {
            return None;
        }
        let mut first = match self.first.try_lock() {
            Ok(first) => first,
            Err(TryLockError::Poisoned(_)) => unreachable!("no writer panics during its turn"),
            Err(TryLockError::WouldBlock) => {
                self.is_asked_for.store(true, Relaxed);
                self.first.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        if *first.get_or_insert(writer) != writer || self.is_asked_for.load(Relaxed) {
            self.are_several.store(true, Release);
        }
        // Another inbox may have arrived between the first check and the lock.
        (!self.are_several.load(Relaxed)).then_some(SoleTurn { _first: first })
    }

    /// Forgets all writers when the next slice opens.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const A: WriterId = WriterId(1);
    const B: WriterId = WriterId(2);

    #[test]
    fn the_only_writer_has_turns_until_another_comes() {
        let mut writers = Writers::default();
        for _ in 0..3 {
            assert!(writers.sole_turn(A).is_some());
        }
        for writer in [B, A, B] {
            assert!(writers.sole_turn(writer).is_none());
        }
        writers.forget();
        assert!(writers.sole_turn(B).is_some());
        assert!(writers.sole_turn(A).is_none());
    }

    #[test]
    fn another_writer_waits_for_one_turn_and_no_other() {
        let writers = Writers::default();
        let turn = writers.sole_turn(A);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| writers.sole_turn(B).is_none());
            let started = Instant::now();
            while !writers.is_asked_for.load(Relaxed) && !other.is_finished() {
                assert!(started.elapsed() < Duration::from_secs(60), "nobody asks for a turn");
                std::thread::yield_now();
            }
            // A writer that did not wait would end in this time.
            std::thread::sleep(Duration::from_millis(20));
            assert!(!other.is_finished());
            assert!(!writers.are_several.load(Relaxed));
            drop(turn);
            // The other writer may not have the lock yet.
            assert!(writers.sole_turn(A).is_none());
            assert!(other.join().unwrap());
        });
    }
}
