//! [`Copies`]: which of host and device may use a piece of pinned memory.
//!
//! A copy continues after the call that started it. So an event stands behind all copies of the
//! memory, and all that look at the memory wait for that event. The lock is held for reading
//! while somebody looks, and for writing while a copy is started: none starts during a look.
//!
//! Several devices may copy from and to the same memory. No device waits for another one, the host does: so one that
//! failed holds up no other, and its errors stay in its own context.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};

use super::DriverResult;
use crate::error::Error;

/// The copies from and to one piece of pinned memory.
pub(super) struct Copies {
    /// Behind all of them; `None` once the driver failed, and nobody knows which copies are still under way.
    last: RwLock<Option<CudaEvent>>,
    /// Whether somebody has waited for them: spares asking the driver again.
    are_done: AtomicBool,
}

impl Copies {
    /// None so far.
    pub(super) fn none(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        let last = RwLock::new(Some(context.new_event(None)?));
        Ok(Self { last, are_done: AtomicBool::new(true) })
    }

    /// Starts a copy in `stream`, behind all others.
    pub(super) fn start(
        &self,
        stream: &CudaStream,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<(), Error> {
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        // Another one comes in its place only when that stands behind the new copy.
        let event = last.take().ok_or(Error::PinnedLost)?;
        let are_done = self.are_done.swap(false, Ordering::Acquire);
        if event.context() != stream.context() && !are_done {
            Self::finish_elsewhere(&event)?;
        }
        *last = Some(Self::behind(event, stream, copy).doing("copy between host and device")?);
        Ok(())
    }

    /// Waits for the copies of another device than the one that is to copy now.
    fn finish_elsewhere(event: &CudaEvent) -> Result<(), Error> {
        event.synchronize().map_err(|error| {
            event.context().record_err::<()>(Err(error));
            Error::PinnedLost
        })
    }

    /// An event behind a copy that is behind `event`.
    fn behind(
        event: CudaEvent,
        stream: &CudaStream,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<CudaEvent, DriverError> {
        // Events stay with their device.
        let event = match event.context() == stream.context() {
            true => event,
            false => stream.context().new_event(None)?,
        };
        // This also makes the context of `stream` the current one, in which `copy` copies.
        stream.wait(&event)?;
        copy().result()?;
        event.record(stream)?;
        Ok(event)
    }

    /// Calls `look` while there is none; it must not start one.
    pub(super) fn none_while<T>(&self, look: impl FnOnce() -> T) -> Result<T, Error> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        let event = last.as_ref().ok_or(Error::PinnedLost)?;
        // The lock orders this after the copies that were started. Who finds them done has seen their end by way of the thread
        // that waited.
        if !self.are_done.load(Ordering::Acquire) {
            event.synchronize().doing("finish a copy")?;
            self.are_done.store(true, Ordering::Release);
        }
        Ok(look())
    }

    /// Waits for all of them.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let last = self.last.get_mut().unwrap_or_else(PoisonError::into_inner);
        let event = last.as_ref().ok_or(Error::PinnedLost)?;
        if !*self.are_done.get_mut() {
            event.synchronize().doing("finish a copy")?;
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
        let last = self.last.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = last
            && leave_errors_in(event.context(), || event.synchronize())
        {
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
