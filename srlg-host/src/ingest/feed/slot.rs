//! [`FeedSlot`]: where one feed and the closing thread meet. [`feed`](super) explains the protocol.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use srlg_core::{Ages, IpPair};

use super::buffer::FeedBuffer;
use super::few::{FewEnd, FewPairs};
use super::running::RunningSlice;
use crate::backend::{Backend, Pairs};
use crate::error::Error;
use crate::ingest::pairs::PairSlice;

/// Interval at which a waiting feed checks whether the slice is closed.
const POLL: Duration = Duration::from_micros(200);

/// The state that a feed and the [`LentBackend`](super::lent::LentBackend) share, in cache lines of its own.
#[repr(align(128))]
pub(super) struct FeedSlot {
    /// Whether the closer wants the share back. A hint: `share` decides.
    wanted: AtomicBool,
    /// Whether there is no detector any more. A hint, too.
    ended: AtomicBool,
    share: Mutex<Share>,
    /// Signalled when a feed that waited has its turn.
    turn: Condvar,
    /// Pairs that came during a close.
    buffer: Mutex<FeedBuffer>,
    few: FewPairs,
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
            ended: AtomicBool::new(false),
            share: Mutex::new(share),
            turn: Condvar::new(),
            buffer: Mutex::new(buffer),
            few: FewPairs::new(),
        }
    }

    /// Lets the IPv4 `pairs` of a short call wait, as the feed, if there is room before `end`. Returns whether there was.
    #[inline]
    pub(super) fn append_few(&self, pairs: &[IpPair], end: &FewEnd) -> bool {
        !self.ended.load(Relaxed) && self.few.append(pairs, end)
    }

    /// Ingests the pairs of short calls that wait, as the feed, in the running slice, unless another thread does. Moves `end` to
    /// where the room ends then.
    pub(super) fn ingest_few(&self, backend: &dyn Backend, end: &mut FewEnd) -> Result<(), Error> {
        self.few.try_take(end, |pairs| scan(backend, pairs))
    }

    /// Ingests all pairs that wait or are in the buffer. Those that come from now on are buffered for the slice `next`.
    pub(super) fn settle(
        &self,
        backend: &dyn Backend,
        running: &RunningSlice,
        next: u64,
    ) -> Result<(), Error> {
        self.few.take(|pairs| scan(backend, pairs))?;
        let mut buffer = self.buffer();
        buffer.hand_in(backend, running, usize::MAX)?;
        buffer.begin(next);
        Ok(())
    }

    /// Returns whether any pairs wait or are in the buffer.
    pub(super) fn has_pairs(&self) -> bool {
        !self.few.is_empty() || !self.buffer().is_empty()
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
        self.ended.store(matches!(state, FeedState::Ended), Relaxed);
        share.state = state;
        // With the lock: a feed that waits must not take this close for another.
        self.wanted.store(false, Relaxed);
    }
}

fn scan(backend: &dyn Backend, pairs: &[IpPair]) -> Result<(), Error> {
    backend.scan(Pairs::Plain(PairSlice::V4(pairs)), Ages::default())
}

/// Locks `mutex`. What it holds is whole whenever the lock is free, also after a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the same, unless another thread has it.
#[inline]
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
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
