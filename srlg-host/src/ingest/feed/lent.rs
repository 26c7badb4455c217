//! [`LentBackend`]: a backend that any threads share, and that one at times has for itself. The
//! protocol is told in [`feed`](super).

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering::Acquire, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use srlg_core::Params;

use super::Feed;
use super::buffer::FeedBuffer;
use super::running::RunningSlice;
use super::slot::{FeedSlot, FeedState, lock};
use crate::backend::Backend;
use crate::error::Error;
use crate::report::StageTimes;

/// The backend of a detector, and the slots of its feeds.
pub(crate) struct LentBackend {
    backend: Arc<dyn Backend>,
    slots: Mutex<Vec<Arc<FeedSlot>>>,
    running: Arc<RunningSlice>,
}

impl LentBackend {
    /// That of a detector with `params`; slice 0 is running.
    pub(crate) fn new(backend: Box<dyn Backend>, params: Params) -> Self {
        let running = Arc::new(RunningSlice::new(params));
        Self { backend: Arc::from(backend), slots: Mutex::default(), running }
    }

    /// The running slice.
    #[inline]
    pub(crate) fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// The backend, for whatever any threads may do at once.
    #[inline]
    pub(crate) fn shared(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The same, once it has all pairs that feeds kept.
    pub(crate) fn settled(&self) -> Result<&dyn Backend, Error> {
        self.settle(self.slice())?;
        Ok(self.shared())
    }

    /// Ingests what feeds kept, and what waits of short calls. What feeds keep from then on is ingested while `next` runs.
    fn settle(&self, next: u64) -> Result<(), Error> {
        let slots = lock(&self.slots);
        slots.iter().try_for_each(|slot| slot.settle(self.shared(), &self.running, next))
    }

    /// Another feed, which keeps up to `capacity` pairs of each type.
    pub(crate) fn feed(&self, capacity: usize) -> Result<Feed, Error> {
        let buffer = FeedBuffer::new(capacity, self.slice())?;
        let slot = Arc::new(FeedSlot::new(Arc::clone(&self.backend), buffer));
        let mut slots = lock(&self.slots);
        slots.retain(is_needed);
        slots.push(Arc::clone(&slot));
        Ok(Feed::new(slot, Arc::clone(&self.running)))
    }

    /// The backend, settled, while nobody else has it, in the running slice.
    pub(crate) fn exclusive(&mut self) -> Result<ExclusiveBackend<'_>, Error> {
        self.exclusive_until(self.slice())
    }

    /// The same, to let time pass until `next` runs. Feeds keep pairs for that slice meanwhile; should
    /// it not come to that, they are of the slice that runs in its place.
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

/// Whether the slot has a feed, or pairs of one that was dropped.
fn is_needed(slot: &Arc<FeedSlot>) -> bool {
    let has_feed = Arc::strong_count(slot) > 1;
    // What a feed left before it was dropped is visible if the count says that it is gone.
    fence(Acquire);
    has_feed || slot.has_pairs()
}

impl Drop for LentBackend {
    fn drop(&mut self) {
        let slots = self.slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        slots.iter().for_each(|slot| slot.change(FeedState::Ended));
    }
}

/// The only access to a backend. When it is dropped, it lends the backend to all feeds again. If a panic drops it while it
/// is busy, it ends the feeds, so that none waits for ever.
pub(crate) struct ExclusiveBackend<'a> {
    backend: &'a mut Arc<dyn Backend>,
    slots: &'a [Arc<FeedSlot>],
    running: &'a RunningSlice,
    /// How long it took to settle the backend, and to get it from all feeds.
    pub(crate) delays: StageTimes,
    /// Whether recorders may be between two slices. They are not while a caller's code runs.
    pub(crate) is_busy: bool,
    was_panicking: bool,
}

impl ExclusiveBackend<'_> {
    /// The running slice.
    pub(crate) fn slice(&self) -> u64 {
        self.running.slice()
    }

    /// Lets `slice` run, to which the recorders have been aged.
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
        // A close by a thread that panicked before has nothing to do with that.
        let has_panicked = std::thread::panicking() && !self.was_panicking;
        self.slots.iter().for_each(|slot| match self.is_busy && has_panicked {
            true => slot.change(FeedState::Ended),
            false => slot.change(FeedState::Open(Arc::clone(self.backend))),
        });
    }
}
