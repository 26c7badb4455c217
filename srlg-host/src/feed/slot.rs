//! [`FeedSlot`]: where one feed and the closing thread meet. The protocol is told in
//! [`feed`](super).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use srlg_core::{Ages, Ip6Pair, IpPair};

use crate::backend::{Backend, Pairs};
use crate::error::Error;
use crate::pairs::{Pair, PairSlice};

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
    /// The most pairs of each type that are kept.
    capacity: usize,
}

/// Pairs of both types.
struct Kept {
    v4: Vec<IpPair>,
    v6: Vec<Ip6Pair>,
}

impl Kept {
    /// Nothing, with room for `capacity` pairs of each type.
    fn new(capacity: usize) -> Result<Self, Error> {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        let reserved = v4.try_reserve_exact(capacity).and(v6.try_reserve_exact(capacity));
        reserved.map_err(|_| Error::FeedMemory { capacity })?;
        Ok(Self { v4, v6 })
    }

    /// Appends as many of `pairs` as `capacity` leaves room for; how many.
    fn keep(&mut self, pairs: PairSlice<'_>, capacity: usize) -> usize {
        fn append<P: Copy>(kept: &mut Vec<P>, pairs: &[P], capacity: usize) -> usize {
            let count = pairs.len().min(capacity - kept.len());
            kept.extend_from_slice(&pairs[..count]);
            count
        }
        match pairs {
            PairSlice::V4(pairs) => append(&mut self.v4, pairs, capacity),
            PairSlice::V6(pairs) => append(&mut self.v6, pairs, capacity),
        }
    }

    /// Ingests the last `most` pairs of each type. Where that fails they are still there.
    fn hand_in(&mut self, backend: &dyn Backend, most: usize) -> Result<(), Error> {
        fn last<P: Pair>(
            kept: &mut Vec<P>,
            backend: &dyn Backend,
            most: usize,
        ) -> Result<(), Error> {
            let left = kept.len().saturating_sub(most);
            backend.scan(Pairs::Plain(P::slice(&kept[left..])), Ages::default())?;
            kept.truncate(left);
            Ok(())
        }
        last(&mut self.v4, backend, most)?;
        last(&mut self.v6, backend, most)
    }

    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }
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
    /// An open slot with room for `capacity` pairs of each type.
    pub(super) fn new(backend: Arc<dyn Backend>, capacity: usize) -> Result<Self, Error> {
        let kept = Kept::new(capacity)?;
        let lent = Lent { state: FeedState::Open(backend), is_awaited: false };
        Ok(Self {
            wanted: AtomicBool::new(false),
            lent: Mutex::new(lent),
            turn: Condvar::new(),
            kept: Mutex::new(kept),
            capacity,
        })
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    pub(super) fn lent(&self) -> MutexGuard<'_, Lent> {
        lock(&self.lent)
    }

    /// Keeps as many of `pairs` as there is room for; how many.
    pub(super) fn keep<P: Pair>(&self, pairs: &[P]) -> usize {
        lock(&self.kept).keep(P::slice(pairs), self.capacity)
    }

    /// Whether any pair is kept.
    pub(super) fn keeps(&self) -> bool {
        lock(&self.kept).len() > 0
    }

    /// Ingests some of the kept pairs, unless another thread does; whether there were any.
    pub(super) fn hand_in_some(&self, backend: &dyn Backend) -> Result<bool, Error> {
        let mut kept = match self.kept.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(kept)) => kept.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        kept.hand_in(backend, PAIRS_PER_FEED_CALL)?;
        Ok(kept.len() > 0)
    }

    /// Ingests all kept pairs. Where that fails they are still kept.
    pub(super) fn hand_in(&self, backend: &dyn Backend) -> Result<(), Error> {
        lock(&self.kept).hand_in(backend, usize::MAX)
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

#[cfg(test)]
impl FeedSlot {
    /// How many pairs are kept.
    pub(super) fn kept(&self) -> usize {
        lock(&self.kept).len()
    }
}

#[cfg(test)]
impl Lent {
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
