//! [`LentBackend`]: a backend that any threads share, and that one at times has for itself. The
//! protocol is told in [`feed`](super).

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use srlg_core::Params;

use super::Feed;
use super::slot::{FeedSlot, FeedState, lock};
use crate::backend::Backend;
use crate::error::Error;

/// The backend of a detector, and the slots of its feeds.
pub(crate) struct LentBackend {
    backend: Arc<dyn Backend>,
    slots: Mutex<Vec<Arc<FeedSlot>>>,
}

impl LentBackend {
    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        Self { backend: Arc::from(backend), slots: Mutex::default() }
    }

    /// The backend, for whatever any threads may do at once.
    #[inline]
    pub(crate) fn shared(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The same, once it has all pairs that feeds kept.
    pub(crate) fn settled(&self) -> Result<&dyn Backend, Error> {
        let backend = self.shared();
        lock(&self.slots).iter().try_for_each(|slot| slot.hand_in(backend))?;
        Ok(backend)
    }

    /// Another feed of a detector with `params`, which keeps up to `capacity` pairs of each type.
    pub(crate) fn feed(&self, capacity: usize, params: Params) -> Result<Feed, Error> {
        let slot = Arc::new(FeedSlot::new(Arc::clone(&self.backend), capacity)?);
        let mut slots = lock(&self.slots);
        slots.retain(is_needed);
        slots.push(Arc::clone(&slot));
        Ok(Feed::new(slot, params))
    }

    /// The backend, settled, while nobody else has it.
    pub(crate) fn exclusive(&mut self) -> Result<Exclusive<'_>, Error> {
        let start = Instant::now();
        self.settled()?;
        let settled = Instant::now();
        let Self { backend, slots } = self;
        let slots = slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        slots.retain(is_needed);
        slots.iter().for_each(|slot| slot.want());
        slots.iter().for_each(|slot| slot.take_back());
        let delays = (settled - start, settled.elapsed());
        Ok(Exclusive { backend, slots, delays, was_panicking: std::thread::panicking() })
    }
}

/// Whether the slot has a feed, or pairs of one that was dropped.
fn is_needed(slot: &Arc<FeedSlot>) -> bool {
    Arc::strong_count(slot) > 1 || slot.keeps()
}

impl Drop for LentBackend {
    fn drop(&mut self) {
        let slots = self.slots.get_mut().unwrap_or_else(PoisonError::into_inner);
        slots.iter().for_each(|slot| slot.change(FeedState::Ended));
    }
}

/// The only access to a backend. Dropped, it lends the backend to all feeds again; by a panic, it
/// ends them: nobody shall wait for ever.
pub(crate) struct Exclusive<'a> {
    backend: &'a mut Arc<dyn Backend>,
    slots: &'a [Arc<FeedSlot>],
    /// How long it took to settle the backend, and to get it from all feeds.
    pub(crate) delays: (Duration, Duration),
    was_panicking: bool,
}

impl Deref for Exclusive<'_> {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        &**self.backend
    }
}

impl DerefMut for Exclusive<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::get_mut(self.backend).expect("all shares were taken back")
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        // A close by a thread that panicked before has nothing to do with that.
        let has_panicked = std::thread::panicking() && !self.was_panicking;
        self.slots.iter().for_each(|slot| match has_panicked {
            true => slot.change(FeedState::Ended),
            false => slot.change(FeedState::Open(Arc::clone(self.backend))),
        });
    }
}
