//! [`FeedSlot`]: where one feed and the closing thread meet. The protocol is told in
//! [`feed`](super).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use super::arrival::Arrival;
use super::kept::Kept;
use super::running::{Running, Time};
use crate::backend::Backend;
use crate::error::Error;
use crate::ingest::pairs::Pair;

/// Pairs that are ingested while a slot is locked, and as many that were kept: some tenths of a
/// millisecond, for which a close may have to wait.
pub(super) const PAIRS_PER_FEED_CALL: usize = 1 << 12;

/// How often a feed that waits looks whether the slice is closed.
const POLL: Duration = Duration::from_micros(200);

/// What a feed and the [`LentBackend`](super::lent::LentBackend) share; in cache lines of its own.
#[repr(align(128))]
pub(super) struct FeedSlot {
    /// Whether the closer wants the share back. A hint: `lent` decides.
    wanted: AtomicBool,
    lent: Mutex<Lent>,
    /// Signalled when a feed that waited has its turn.
    turn: Condvar,
    /// Pairs that came during a close.
    kept: Mutex<Kept>,
}

pub(super) struct Lent {
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
    /// An open slot with room for `kept`.
    pub(super) fn new(backend: Arc<dyn Backend>, kept: Kept) -> Self {
        let lent = Lent { state: FeedState::Open(backend), is_awaited: false };
        Self {
            wanted: AtomicBool::new(false),
            lent: Mutex::new(lent),
            turn: Condvar::new(),
            kept: Mutex::new(kept),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    pub(super) fn lent(&self) -> MutexGuard<'_, Lent> {
        lock(&self.lent)
    }

    /// What is lent, for the feed to ingest, unless it is wanted, taken back, or in the closer's hands.
    #[inline]
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, Lent>> {
        let lent = if self.is_wanted() { None } else { try_lock(&self.lent) };
        lent.filter(|lent| !matches!(lent.state, FeedState::Closed))
    }

    /// Keeps as many of `pairs`, of `time`, as there is room for, unless they cannot be ingested; how
    /// many.
    pub(super) fn keep<P: Pair>(
        &self,
        running: &Running,
        time: Time,
        pairs: &[P],
    ) -> (Arrival, usize) {
        lock(&self.kept).keep(running, time, P::slice(pairs))
    }

    /// Does the same, unless another thread ingests what is kept.
    pub(super) fn try_keep<P: Pair>(
        &self,
        running: &Running,
        time: Time,
        pairs: &[P],
    ) -> Option<(Arrival, usize)> {
        Some(try_lock(&self.kept)?.keep(running, time, P::slice(pairs)))
    }

    /// Whether any pair is kept.
    pub(super) fn keeps(&self) -> bool {
        lock(&self.kept).len() > 0
    }

    /// Ingests some of the kept pairs, unless another thread does; whether there were any.
    pub(super) fn hand_in_some(
        &self,
        backend: &dyn Backend,
        running: &Running,
    ) -> Result<bool, Error> {
        let Some(mut kept) = try_lock(&self.kept) else { return Ok(false) };
        kept.hand_in(backend, running, PAIRS_PER_FEED_CALL)?;
        Ok(kept.len() > 0)
    }

    /// Ingests all kept pairs; those that come from then on are ingested while `next` runs. Where that
    /// fails they are still kept.
    pub(super) fn hand_in(
        &self,
        backend: &dyn Backend,
        running: &Running,
        next: u64,
    ) -> Result<(), Error> {
        let mut kept = lock(&self.kept);
        kept.hand_in(backend, running, usize::MAX)?;
        kept.begin(next);
        Ok(())
    }

    /// Waits, as the feed, until the slot is open or has ended, and then has its turn, whether or
    /// not another close has begun.
    pub(super) fn wait(&self) -> MutexGuard<'_, Lent> {
        let mut lent = self.lent();
        if self.is_wanted() && matches!(lent.state, FeedState::Open(_)) {
            lent.state = FeedState::Closed; // the closer need not come for it
        }
        lent.is_awaited = true;
        while matches!(lent.state, FeedState::Closed) {
            drop(lent);
            // No signal of the closer: where there are fewer cores than threads, a feed that it
            // wakes takes its core for milliseconds before the close returns.
            thread::sleep(POLL);
            lent = self.lent();
        }
        lent.is_awaited = false;
        self.turn.notify_all();
        lent
    }

    /// Asks for the share, as the closer.
    pub(super) fn want(&self) {
        self.wanted.store(true, Relaxed);
    }

    /// Takes the share back, as the closer: after the call that is under way, and after the turn
    /// of a feed that has waited since an earlier close.
    pub(super) fn take_back(&self) {
        let is_due = |lent: &mut Lent| lent.is_awaited && matches!(lent.state, FeedState::Open(_));
        let lent = self.turn.wait_while(self.lent(), is_due);
        lent.unwrap_or_else(PoisonError::into_inner).state = FeedState::Closed;
    }

    /// Sets the `state` that the feed sees from now on.
    pub(super) fn change(&self, state: FeedState) {
        let mut lent = self.lent();
        lent.state = state;
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
impl FeedSlot {
    /// How many pairs are kept.
    pub(super) fn kept(&self) -> usize {
        lock(&self.kept).len()
    }

    /// What a thread has that ingests what is kept.
    pub(super) fn hold_kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

#[cfg(test)]
impl Lent {
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
