//! [`FeedSlot`]: the state shared by one feed and the closing thread. [`feed`](super) explains the protocol.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use srlg_core::{Ages, Ipv4Pair};

use super::buffer::FeedBuffer;
use super::few::{FewEnd, FewPairs};
use super::lock::{lock, try_lock};
use super::running::RunningSlice;
use crate::backend::{Backend, Pairs};
use crate::error::Error;
use crate::ingest::pairs::PairSlice;

/// Interval at which a waiting feed checks whether the close has ended.
const POLL: Duration = Duration::from_micros(200);

#[repr(align(128))]
pub(super) struct FeedSlot {
    /// Whether the closer wants the share back. This is only a hint, and `share` contains the actual state.
    wanted: AtomicBool,
    /// Whether the feed cannot ingest any more (`FeedState::Ended`). Like `wanted`, this is only a hint.
    ended: AtomicBool,
    share: Mutex<Share>,
    /// Signalled when a waiting feed has had its turn.
    turn: Condvar,
    buffer: Mutex<FeedBuffer>,
    few: FewPairs,
}

/// A feed's share of the backend.
pub(super) struct Share {
    pub(super) state: FeedState,
    /// Whether the feed waits for its turn.
    is_awaited: bool,
}

pub(super) enum FeedState {
    /// The feed may ingest.
    Open(Arc<dyn Backend>),
    /// A slice is being closed, so the feed buffers pairs or waits.
    Closed,
    /// The detector was dropped or a close panicked, so the feed cannot ingest.
    Ended,
}

impl FeedSlot {
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

    /// Stores the IPv4 `pairs` of a short call and returns true if there is room before `end`. Only the feed may call
    /// this.
    #[inline]
    pub(super) fn append_few(&self, pairs: &[Ipv4Pair], end: &FewEnd) -> bool {
        !self.ended.load(Relaxed) && self.few.append(pairs, end)
    }

    /// Ingests the waiting pairs of short calls in the running slice, unless another thread is ingesting them.
    ///
    /// Updates `end`. Only the feed may call this.
    pub(super) fn ingest_few(&self, backend: &dyn Backend, end: &mut FewEnd) -> Result<(), Error> {
        self.few.try_take(end, |pairs| scan(backend, pairs))
    }

    /// Ingests all waiting and buffered pairs. Pairs that arrive later are buffered for the slice `next`.
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

    pub(super) fn has_pairs(&self) -> bool {
        !self.few.is_empty() || !self.buffer().is_empty()
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed)
    }

    pub(super) fn share(&self) -> MutexGuard<'_, Share> {
        lock(&self.share)
    }

    /// Locks the share for the feed. Returns `None` if the closer wants the share, has taken it back, or has locked it.
    #[inline]
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, Share>> {
        let share = if self.is_wanted() { None } else { try_lock(&self.share) };
        share.filter(|share| !matches!(share.state, FeedState::Closed))
    }

    pub(super) fn buffer(&self) -> MutexGuard<'_, FeedBuffer> {
        lock(&self.buffer)
    }

    /// Locks and returns the buffer. Returns `None` if another thread is using it.
    pub(super) fn try_buffer(&self) -> Option<MutexGuard<'_, FeedBuffer>> {
        try_lock(&self.buffer)
    }

    /// Waits until the slot is open or has ended. The feed then has its turn, even if the next close has started.
    ///
    /// Only the feed may call this.
    pub(super) fn wait(&self) -> MutexGuard<'_, Share> {
        let mut share = self.share();
        if self.is_wanted() && matches!(share.state, FeedState::Open(_)) {
            share.state = FeedState::Closed; // The closer then need not take the share.
        }
        share.is_awaited = true;
        while matches!(share.state, FeedState::Closed) {
            drop(share);
            // The closer sends no signal. With fewer cores than threads, a woken feed would occupy the core of the
            // closer for milliseconds before the close returns.
            thread::sleep(POLL);
            share = self.share();
        }
        share.is_awaited = false;
        self.turn.notify_all();
        share
    }

    /// Requests the share. Only the closer may call this.
    pub(super) fn want(&self) {
        self.wanted.store(true, Relaxed);
    }

    /// Takes the share back once the feed has ingested the current piece of its call. If the feed has been waiting
    /// since an earlier close, it has its turn first.
    ///
    /// Only the closer may call this.
    pub(super) fn take_back(&self) {
        let is_due =
            |share: &mut Share| share.is_awaited && matches!(share.state, FeedState::Open(_));
        let share = self.turn.wait_while(self.share(), is_due);
        share.unwrap_or_else(PoisonError::into_inner).state = FeedState::Closed;
    }

    /// Changes the state of the share and resets `wanted`.
    pub(super) fn change(&self, state: FeedState) {
        let mut share = self.share();
        self.ended.store(matches!(state, FeedState::Ended), Relaxed);
        share.state = state;
        // The lock is still held here, so that a waiting feed does not mistake this close for the next one.
        self.wanted.store(false, Relaxed);
    }
}

fn scan(backend: &dyn Backend, pairs: &[Ipv4Pair]) -> Result<(), Error> {
    backend.scan(Pairs::Plain(PairSlice::V4(pairs)), Ages::default())
}

#[cfg(test)]
impl Share {
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited
    }
}
