//! [`Copies`]: synchronisation between the host and the devices that use a piece of pinned memory.
//!
//! A copy can still run after the call that started it has returned. An event is therefore recorded after each copy to
//! or from the memory, and a thread that accesses the memory waits for these events. The thread holds the read lock
//! while it reads the memory. A thread that starts a copy holds the write lock, so no copy starts during a read.
//!
//! Up to `BUFFERS` copies from the memory to a device run without waiting for each other. Waiting for a different
//! stream costs a GPU about ten microseconds.
//!
//! Several devices may copy to and from the same memory. Before a copy starts, the host waits for the copies of all
//! other devices. Devices do not wait for each other, so a failed device does not block the others, and its errors stay
//! in its own context.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};

use super::DriverResult;
use crate::error::Error;
use crate::gpu::upload::BUFFERS;

pub(super) struct Copies {
    /// `None` after a driver failure, because the state of the copies is then unknown.
    events: RwLock<Option<CopyEvents>>,
    /// Whether all copies are known to be complete, so that no thread needs to wait for the events.
    are_done: AtomicBool,
}

/// Events of the copies that may still use one piece of pinned memory.
#[derive(Default)]
struct CopyEvents {
    /// Event recorded after the last copy to the memory.
    download: Option<CudaEvent>,
    /// Events recorded after the last copies from the memory. The next copy uses the slot with the index `next`.
    uploads: [Option<CudaEvent>; BUFFERS],
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Upload,
    Download,
}

impl CopyEvents {
    fn all(&self) -> impl Iterator<Item = &CudaEvent> {
        self.uploads.iter().chain([&self.download]).flatten()
    }

    /// Waits for the copies of all devices except the device of `stream`, and removes the events of these copies.
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

    /// Starts a copy in `stream`. A copy to the memory waits for all earlier copies. A copy from the memory waits for
    /// all earlier copies to the memory, and for the previous copy of its slot.
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
                // Without this wait, the new event could be reached before the previous copy of this slot is complete.
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
    pub(super) fn none() -> Self {
        let events = RwLock::new(Some(CopyEvents::default()));
        Self { events, are_done: AtomicBool::new(true) }
    }

    pub(super) fn start(
        &self,
        stream: &CudaStream,
        direction: Direction,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<(), Error> {
        let mut events = self.events.write().unwrap_or_else(PoisonError::into_inner);
        // The events are put back only once they cover the new copy.
        let mut started = events.take().ok_or(Error::PinnedLost)?;
        let are_done = self.are_done.swap(false, Ordering::Acquire);
        started.finish_elsewhere(stream, are_done)?;
        started.start(stream, direction, copy).doing("copy between host and device")?;
        *events = Some(started);
        Ok(())
    }

    /// Waits for all copies, and then calls `look` while no copy runs. `look` must not start a copy.
    pub(super) fn none_while<T>(&self, look: impl FnOnce() -> T) -> Result<T, Error> {
        let events = self.events.read().unwrap_or_else(PoisonError::into_inner);
        let events = events.as_ref().ok_or(Error::PinnedLost)?;
        // The lock orders this load after all started copies. A thread that reads true sees the results of the copies
        // through the thread that waited for them.
        if !self.are_done.load(Ordering::Acquire) {
            events.all().try_for_each(CudaEvent::synchronize).doing("finish a copy")?;
            self.are_done.store(true, Ordering::Release);
        }
        Ok(look())
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        let events = events.as_ref().ok_or(Error::PinnedLost)?;
        if !*self.are_done.get_mut() {
            events.all().try_for_each(CudaEvent::synchronize).doing("finish a copy")?;
            *self.are_done.get_mut() = true;
        }
        Ok(())
    }

    /// Waits for all copies and frees the memory. If the state of the copies is unknown, the memory is not freed.
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

/// Frees a resource of `context` after `wait` has waited for the work that uses the resource. If `wait` fails, the
/// resource is not freed.
pub(super) fn when_done(
    context: &CudaContext,
    wait: impl FnOnce() -> Result<(), DriverError>,
    free: impl FnOnce() -> Result<(), DriverError>,
) {
    if leave_errors_in(context, wait) {
        give_back(context, free);
    }
}

fn give_back(context: &CudaContext, free: impl FnOnce() -> Result<(), DriverError>) {
    leave_errors_in(context, || context.bind_to_thread().and_then(|()| free()));
}

/// Returns whether `work` succeeded. An error stays in `context` until the next call that uses the context reports it.
fn leave_errors_in(context: &CudaContext, work: impl FnOnce() -> Result<(), DriverError>) -> bool {
    // Without this call, `work` would return an earlier error and do nothing.
    let earlier = context.check_err();
    let worked = work();
    let has_worked = worked.is_ok();
    context.record_err(worked);
    context.record_err(earlier);
    has_worked
}
