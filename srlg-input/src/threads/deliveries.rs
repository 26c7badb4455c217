//! The deliveries of all threads to their sinks, on which the time of ticks depends.
//!
//! Invariant: a thread that has a sink waits while the caller does not handle ticks. While threads wait, the kernel
//! may drop packets or datagrams, and counts the drops.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time without a handled tick after which threads wait.
pub(super) const STALL: Duration = Duration::from_millis(250);

/// Published time of a thread that is not delivering a block.
pub(super) const IDLE: u64 = u64::MAX;

/// The state of all threads' deliveries to their sinks.
#[derive(Default)]
pub(crate) struct Deliveries {
    /// Published time of the block that each thread is delivering.
    times: Mutex<Vec<Arc<AtomicU64>>>,
    caller: Mutex<Caller>,
    passed: Condvar,
}

/// The thread that requests events.
#[derive(Default)]
struct Caller {
    /// Time at which the caller last handled a tick.
    passed: Option<Instant>,
    has_left: bool,
}

impl Deliveries {
    /// Registers a new thread. Returns the variable in which the thread publishes the time of the block that it is
    /// delivering.
    pub(super) fn begin(&self) -> Arc<AtomicU64> {
        let time = Arc::new(AtomicU64::new(IDLE));
        self.times.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&time));
        time
    }

    /// Returns the next tick after `last`. `now_ns` is the system time, read before this call.
    pub(crate) fn tick(&self, now_ns: u64, last: u64) -> u64 {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = times.iter().map(|time| time.load(SeqCst)).min().unwrap_or(IDLE);
        // If the oldest block has a time before `last`, this thread did not see that time when `last` was computed. The
        // contacts of this block are then later than `last`.
        now_ns.min(oldest.max(last))
    }

    /// Records that the caller has handled a tick.
    pub(crate) fn pass(&self) {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner).passed = Some(Instant::now());
        self.passed.notify_all();
    }

    /// Records that the input was dropped.
    pub(crate) fn leave(&self) {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner).has_left = true;
        self.passed.notify_all();
    }

    /// Waits until the caller has handled a tick within the last [`STALL`]. Returns `false` if the input was dropped.
    pub(super) fn wait_for_caller(&self) -> bool {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stalled = |caller: &mut Caller| {
            !caller.has_left && caller.passed.is_none_or(|passed| passed.elapsed() >= STALL)
        };
        let waited = self.passed.wait_while(caller, is_stalled);
        !waited.unwrap_or_else(PoisonError::into_inner).has_left
    }
}
