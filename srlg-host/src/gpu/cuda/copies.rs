//! [`Copies`]: which of host and device may use a piece of pinned memory.
//!
//! A copy continues after the call that started it. So events stand behind all copies of the
//! memory, and all that look at the memory wait for these events. The lock is held for reading
//! while somebody looks, and for writing while a copy is started: none starts during a look.
//!
//! Copies out of the memory do not wait for each other: to wait for another stream costs a GPU some ten microseconds.
//!
//! Several devices may copy from and to the same memory. No device waits for another one, the host does: so one that
//! failed holds up no other, and its errors stay in its own context.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};

use super::DriverResult;
use crate::error::Error;
use crate::gpu::upload::BUFFERS;

/// The copies from and to one piece of pinned memory.
pub(super) struct Copies {
    /// Behind all of them; `None` once the driver failed, and nobody knows which copies are still under way.
    events: RwLock<Option<CopyEvents>>,
    /// Whether somebody has waited for them: spares asking the driver again.
    are_done: AtomicBool,
}

/// Events behind all copies of one piece of pinned memory. Copies without an event are done.
#[derive(Default)]
struct CopyEvents {
    /// An event behind all copies that write the memory.
    download: Option<CudaEvent>,
    /// Events behind all copies that read the memory: each copy records the next one.
    uploads: [Option<CudaEvent>; BUFFERS],
    /// The number of the upload event that comes next.
    next: usize,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The copy reads the pinned memory.
    Upload,
    /// The copy writes the pinned memory.
    Download,
}

impl CopyEvents {
    fn all(&self) -> impl Iterator<Item = &CudaEvent> {
        self.uploads.iter().chain([&self.download]).flatten()
    }

    /// Waits for the copies of other devices than that of `stream`, and forgets them.
    fn finish_elsewhere(&mut self, stream: &CudaStream, are_done: bool) -> Result<(), Error> {
        for slot in self.uploads.iter_mut().chain([&mut self.download]) {
            let Some(event) = slot.take_if(|event| event.context() != stream.context()) else {
                continue;
            };
            if !are_done {
                event.synchronize().map_err(|error| {
                    event.context().record_err::<()>(Err(error));
                    Error::PinnedLost
                })?;
            }
        }
        Ok(())
    }

    /// Starts a copy in `stream`: one to the memory behind all others, one out of it behind all copies to it.
    fn start(
        &mut self,
        stream: &CudaStream,
        direction: Direction,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<(), DriverError> {
        let Self { download, uploads, next } = self;
        download.iter().try_for_each(|event| stream.wait(event))?;
        let slot = match direction {
            Direction::Download => {
                uploads.iter().flatten().try_for_each(|event| stream.wait(event))?;
                download
            }
            Direction::Upload => {
                let slot = &mut uploads[*next];
                *next = (*next + 1) % BUFFERS;
                // It will not stand behind the earlier copy otherwise.
                slot.iter().try_for_each(|event| stream.wait(event))?;
                slot
            }
        };
        let event = match slot {
            Some(event) => event,
            None => slot.insert(stream.context().new_event(None)?),
        };
        stream.context().bind_to_thread()?;
        copy().result()?;
        event.record(stream)
    }
}

impl Copies {
    /// None so far.
    pub(super) fn none() -> Self {
        let events = RwLock::new(Some(CopyEvents::default()));
        Self { events, are_done: AtomicBool::new(true) }
    }

    /// Starts a copy in `stream`.
    pub(super) fn start(
        &self,
        stream: &CudaStream,
        direction: Direction,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<(), Error> {
        let mut events = self.events.write().unwrap_or_else(PoisonError::into_inner);
        // Others come in their place only when these stand behind the new copy.
        let mut started = events.take().ok_or(Error::PinnedLost)?;
        let are_done = self.are_done.swap(false, Ordering::Acquire);
        started.finish_elsewhere(stream, are_done)?;
        started.start(stream, direction, copy).doing("copy between host and device")?;
        *events = Some(started);
        Ok(())
    }

    /// Calls `look` while there is none; it must not start one.
    pub(super) fn none_while<T>(&self, look: impl FnOnce() -> T) -> Result<T, Error> {
        let events = self.events.read().unwrap_or_else(PoisonError::into_inner);
        let events = events.as_ref().ok_or(Error::PinnedLost)?;
        // The lock orders this after the copies that were started. Who finds them done has seen their end by way of the thread
        // that waited.
        if !self.are_done.load(Ordering::Acquire) {
            events.all().try_for_each(CudaEvent::synchronize).doing("finish a copy")?;
            self.are_done.store(true, Ordering::Release);
        }
        Ok(look())
    }

    /// Waits for all of them.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        let events = events.as_ref().ok_or(Error::PinnedLost)?;
        if !*self.are_done.get_mut() {
            events.all().try_for_each(CudaEvent::synchronize).doing("finish a copy")?;
            *self.are_done.get_mut() = true;
        }
        Ok(())
    }

    /// Gives the memory back when there is none; leaves it alone if nobody knows.
    pub(super) fn end(
        &mut self,
        context: &CudaContext,
        free: impl FnOnce() -> Result<(), DriverError>,
    ) {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_done = |event: &CudaEvent| leave_errors_in(event.context(), || event.synchronize());
        if events.as_ref().is_some_and(|events| events.all().all(is_done)) {
            give_back(context, free);
        }
    }
}

/// Gives something of `context` back when `wait` has succeeded, which waits for work there.
pub(super) fn when_done(
    context: &CudaContext,
    wait: impl FnOnce() -> Result<(), DriverError>,
    free: impl FnOnce() -> Result<(), DriverError>,
) {
    if leave_errors_in(context, wait) {
        give_back(context, free);
    }
}

/// Frees something of `context`.
fn give_back(context: &CudaContext, free: impl FnOnce() -> Result<(), DriverError>) {
    leave_errors_in(context, || context.bind_to_thread().and_then(|()| free()));
}

/// Whether `work` succeeded. An error stays in `context`, where the next call finds it.
fn leave_errors_in(context: &CudaContext, work: impl FnOnce() -> Result<(), DriverError>) -> bool {
    // Were an earlier error left there, `work` would return it and do nothing.
    let earlier = context.check_err();
    let worked = work();
    let has_worked = worked.is_ok();
    context.record_err(worked);
    context.record_err(earlier);
    has_worked
}
