//! A request to end an input.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A request to end a live [`Input`](crate::Input). Clones ask the same input.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the input to end: its last events are what has come by then.
    pub fn stop(&self) {
        self.0.store(true, Relaxed);
    }

    /// The flag that asks when it is set, for handlers of signals.
    #[cfg(any(feature = "flow", feature = "live"))]
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Relaxed)
    }
}
