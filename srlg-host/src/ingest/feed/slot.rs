//! [`FeedSlot`]: where one feed and the closing thread meet. [`feed`](super) explains the protocol.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use super::buffer::FeedBuffer;
use crate::backend::Backend;

/// Interval at which a waiting feed checks whether the slice is closed.
const POLL: Duration = Duration::from_micros(200);

/// The state that a feed and the [`LentBackend`](super::lent::LentBackend) share, in cache lines of its own.
#[repr(align(128))]
pub(super) struct FeedSlot {
    /// Whether the closer wants the share back. A hint: `share` decides.
    wanted: AtomicBool,
    share: Mutex<Share>,
    /// Signalled when a feed that waited has its turn.
    turn: Condvar,
    /// Pairs that came during a close.
    buffer: Mutex<FeedBuffer>,
}

/// A feed's share of the backend.
pub(super) struct Share {
    pub(super) state: FeedState,
    /// Whether the feed waits for its turn.
    is_awaited: bool,
}

/// What a feed may do.
pub(super) enum FeedState {
    /// Ingest.
    Open(Arc<dyn Backend>),
    /// Keep pairs, or wait: a slice is being closed.
    Closed,
    /// Nothing: there is no detector any more.
    Ended,
}

impl FeedSlot {
    /// An open slot with room for the pairs of `buffer`.
    pub(super) fn new(backend: Arc<dyn Backend>, buffer: FeedBuffer) -> Self {
        let share = Share { state: FeedState::Open(backend), is_awaited: false };
        Self {
            wanted: AtomicBool::new(false),
            share: Mutex::new(share),
            turn: Condvar::new(),
            buffer: Mutex::new(buffer),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    pub(super) fn share(&self) -> MutexGuard<'_, Share> {
        lock(&self.share)
    }

    /// The share, for the feed to ingest with, unless it is wanted, taken back, or locked by the closer.
    #[inline]
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, Share>> {
        let share = if self.is_wanted() { None } else { try_lock(&self.share) };
        share.filter(|share| !matches!(share.state, FeedState::Closed))
    }

    /// The pairs that came during a close.
    pub(super) fn buffer(&self) -> MutexGuard<'_, FeedBuffer> {
        lock(&self.buffer)
    }

    /// The same, unless another thread ingests them.
    pub(super) fn try_buffer(&self) -> Option<MutexGuard<'_, FeedBuffer>> {
        try_lock(&self.buffer)
    }

    /// Waits, as the feed, until the slot is open or has ended, and then has its turn, whether or
    /// not another close has begun.
    pub(super) fn wait(&self) -> MutexGuard<'_, Share> {
        let mut share = self.share();
        if self.is_wanted() && matches!(share.state, FeedState::Open(_)) {
            share.state = FeedState::Closed; // the closer need not come for it
        }
        share.is_awaited = true;
        while matches!(share.state, FeedState::Closed) {
            drop(share);
            // No signal of the closer: where there are fewer cores than threads, a feed that it
            // wakes takes its core for milliseconds before the close returns.
            thread::sleep(POLL);
            share = self.share();
        }
        share.is_awaited = false;
        self.turn.notify_all();
        share
    }

    /// Asks for the share, as the closer.
    pub(super) fn want(&self) {
        self.wanted.store(true, Relaxed);
    }

    /// Takes the share back, as the closer: after the call that is under way, and after the turn
    /// of a feed that has waited since an earlier close.
    pub(super) fn take_back(&self) {
        let is_due =
            |share: &mut Share| share.is_awaited && matches!(share.state, FeedState::Open(_));
        let share = self.turn.wait_while(self.share(), is_due);
        share.unwrap_or_else(PoisonError::into_inner).state = FeedState::Closed;
    }

    /// Sets the `state` that the feed sees from now on.
    pub(super) fn change(&self, state: FeedState) {
        let mut share = self.share();
        share.state = state;
        // With the lock: a feed that waits must not take this close for another.
        self.wanted.store(false, Relaxed);
    }
}

/// Locks `mutex`. What it holds is whole whenever the lock is free, also after a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the same, unless another thread has it.
#[inline]
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
impl Share {
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
