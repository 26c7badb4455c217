//! [`Copies`]: which of host and device may use a piece of pinned memory.
//!
//! A copy continues after the call that started it. So an event stands behind all copies of the
//! memory, and all that look at the memory wait for that event. The lock is held for reading
//! while somebody looks, and for writing while a copy is started: none starts during a look.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, sys};

use super::doing::Doing;
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
        self.are_done.store(false, Relaxed);
        *last = Some(Self::behind(event, stream, copy).doing("copy between host and device")?);
        Ok(())
    }

    /// An event behind a copy that is behind `event`.
    fn behind(
        event: CudaEvent,
        stream: &CudaStream,
        copy: impl FnOnce() -> sys::CUresult,
    ) -> Result<CudaEvent, DriverError> {
        stream.wait(&event)?;
        // Several devices may copy from the same memory; events stay with theirs.
        let event = match event.context() == stream.context() {
            true => event,
            false => stream.context().new_event(None)?,
        };
        copy().result()?;
        event.record(stream)?;
        Ok(event)
    }

    /// Calls `look` while there is none; it must not start one.
    pub(super) fn none_while<T>(&self, look: impl FnOnce() -> T) -> Result<T, Error> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        let event = last.as_ref().ok_or(Error::PinnedLost)?;
        // The lock orders this after the copies that were started.
        if !self.are_done.load(Relaxed) {
            event.synchronize().doing("finish a copy")?;
            self.are_done.store(true, Relaxed);
        }
        Ok(look())
    }

    /// Gives the memory back when there is none; leaves it alone if nobody knows.
    pub(super) fn end(
        &mut self,
        context: &CudaContext,
        free: impl FnOnce() -> Result<(), DriverError>,
    ) {
        if let Some(event) = self.last.get_mut().unwrap_or_else(PoisonError::into_inner) {
            when_done(context, || event.synchronize(), free);
        }
    }
}

/// Gives something back when `wait` has succeeded. An error stays in `context`, where the next
/// call finds it.
pub(super) fn when_done(
    context: &CudaContext,
    wait: impl FnOnce() -> Result<(), DriverError>,
    free: impl FnOnce() -> Result<(), DriverError>,
) {
    // Were an earlier error left there, `wait` would return it and not wait.
    let earlier = context.check_err();
    let freed = wait().and_then(|()| context.bind_to_thread()).and_then(|()| free());
    context.record_err(freed);
    context.record_err(earlier);
}
