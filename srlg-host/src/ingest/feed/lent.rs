//! [`LentBackend`]: a backend that threads share and that one thread at a time can use exclusively.
//!
//! The module [`feed`](super) describes the protocol.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering::Acquire, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use srlg_core::Params;

use super::Feed;
use super::buffer::FeedBuffer;
use super::lock::lock;
use super::running::RunningSlice;
use super::slot::{FeedSlot, FeedState};
use crate::backend::Backend;
use crate::error::Error;
use crate::report::StageTimes;

pub(crate) struct LentBackend {
    backend: Arc<dyn Backend>,
    slots: Mutex<Vec<Arc<FeedSlot>>>,
    running: Arc<RunningSlice>,
}

impl LentBackend {
    pub(crate) fn new(backend: Box<dyn Backend>, params: Params) -> Self {
        let running = Arc::new(RunningSlice::new(params));
        Self { backend: Arc::from(backend), slots: Mutex::default(), running }
    }

    #[inline]
    pub(crate) fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// Returns the backend for operations that any number of threads may perform at the same time.
    #[inline]
    pub(crate) fn shared(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Ingests all waiting and buffered pairs of feeds, and returns the backend.
    pub(crate) fn settled(&self) -> Result<&dyn Backend, Error> {
        self.settle(self.slice())?;
        Ok(self.shared())
    }

    /// Ingests the waiting and buffered pairs of all feeds. Pairs that are buffered later will be ingested while slice
    /// `next` is running.
    fn settle(&self, next: u64) -> Result<(), Error> {
        let slots = lock(&self.slots);
        slots.iter().try_for_each(|slot| slot.settle(self.shared(), &self.running, next))
    }

    /// Creates a feed that buffers up to `capacity` pairs of each type.
    pub(crate) fn feed(&self, capacity: usize) -> Result<Feed, Error> {
        let buffer = FeedBuffer::new(capacity, self.slice())?;
        let slot = Arc::new(FeedSlot::new(Arc::clone(&self.backend), buffer));
        let mut slots = lock(&self.slots);
        // Only a full list is searched for slots of dropped feeds. Its length may then double before the next search, so
        // the time per feed does not depend on the number of feeds.
        if slots.len() == slots.capacity() {
            slots.retain(is_needed);
            let needed = slots.len();
            slots.reserve_exact(needed + 1);
        }
        slots.push(Arc::clone(&slot));
        Ok(Feed::new(slot, Arc::clone(&self.running)))
    }

    /// Ingests all waiting and buffered pairs, and returns the backend for exclusive use in the running slice.
    pub(crate) fn exclusive(&mut self) -> Result<ExclusiveBackend<'_>, Error> {
        self.exclusive_until(self.slice())
    }

    /// Returns the backend for exclusive use until the slice `next` is running.
    ///
    /// Meanwhile, feeds buffer pairs for slice `next`. If a different slice is running when the exclusive use ends, the
    /// pairs belong to that slice.
    pub(crate) fn exclusive_until(&mut self, next: u64) -> Result<ExclusiveBackend<'_>, Error> {
        let start = Instant::now();
        self.settle(next)?;
        let settled = Instant::now();
        let Self { backend, slots, running } = self;
        let slots = slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        slots.retain(is_needed);
        slots.iter().for_each(|slot| slot.want());
        slots.iter().for_each(|slot| slot.take_back());
        let (hand_in, wait) = (settled - start, settled.elapsed());
        let delays = StageTimes { hand_in, wait, ..StageTimes::default() };
        Ok(ExclusiveBackend {
            backend,
            slots,
            running,
            delays,
            is_busy: true,
            was_panicking: std::thread::panicking(),
        })
    }
}

#[cfg(test)]
impl LentBackend {
    pub(super) fn slots(&self) -> usize {
        lock(&self.slots).len()
    }
}

/// Returns whether the slot has a feed, or pairs from a dropped feed.
fn is_needed(slot: &Arc<FeedSlot>) -> bool {
    let has_feed = Arc::strong_count(slot) > 1;
    // If the count shows that the feed was dropped, this fence makes its remaining pairs visible.
    fence(Acquire);
    has_feed || slot.has_pairs()
}

impl Drop for LentBackend {
    fn drop(&mut self) {
        let slots = self.slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        slots.iter().for_each(|slot| slot.change(FeedState::Ended));
    }
}

/// Exclusive access to a backend.
///
/// When this guard is dropped, the backend is lent to all feeds again. If a panic drops it while `is_busy` is set, the
/// feeds are ended instead, so that no feed waits forever.
pub(crate) struct ExclusiveBackend<'a> {
    backend: &'a mut Arc<dyn Backend>,
    slots: &'a [Arc<FeedSlot>],
    running: &'a RunningSlice,
    /// Time spent on ingesting buffered pairs and on taking the backend back from all feeds.
    pub(crate) delays: StageTimes,
    /// Whether an operation may have changed only some of the recorders. This is false while the caller's code runs.
    pub(crate) is_busy: bool,
    was_panicking: bool,
}

impl ExclusiveBackend<'_> {
    pub(crate) fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// Sets the running slice to `slice`. The recorders must already have been aged to this slice.
    pub(crate) fn set_slice(&mut self, slice: u64) {
        self.running.set(slice);
    }
}

impl Deref for ExclusiveBackend<'_> {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &**self.backend
    }
}

impl DerefMut for ExclusiveBackend<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::get_mut(self.backend).expect("all shares were taken back")
    }
}

impl Drop for ExclusiveBackend<'_> {
    fn drop(&mut self) {
        // An earlier panic of the closing thread does not affect this close.
        let has_panicked = std::thread::panicking() && !self.was_panicking;
        self.slots.iter().for_each(|slot| match self.is_busy && has_panicked {
            true => slot.change(FeedState::Ended),
            false => slot.change(FeedState::Open(Arc::clone(self.backend))),
        });
    }
}
