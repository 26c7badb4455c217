//! The destination of a reader thread's contacts: its own [`ContactSink`] or the belt.
//!
//! A clock tick means that everything read before it has been delivered. Therefore, a thread publishes the current time
//! before it delivers a block of contacts. It then reads the clock again and limits the times of the contacts to this
//! second time. Ticks do not advance beyond the published time until the sink has accepted the block.
//!
//! Invariant: a thread that has a sink waits while the caller does not handle ticks. While threads wait, the kernel
//! may drop packets or datagrams, and counts the drops.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::contact::Contact;
use crate::error::InputError;
#[cfg(feature = "messages")]
use crate::position::Position;

use super::{Line, now_ns};

/// Time without a handled tick after which threads wait.
const STALL: Duration = Duration::from_millis(250);

/// Published time of a thread that is not delivering a block.
const IDLE: u64 = u64::MAX;

/// An error of a [`ContactSink`], or of the function that creates it.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// A receiver of the contacts that one thread of a live input reads.
pub trait ContactSink: Send {
    /// Accepts the contacts that were just read. `contacts` is not empty, and no contact is later than the time at
    /// which it was read.
    ///
    /// During a long call, the kernel may drop input, and clock ticks do not advance beyond the start of the call.
    ///
    /// # Errors
    /// Any error stops the input.
    fn take(&mut self, contacts: &[Contact]) -> Result<(), SinkError>;
}

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

/// The creator of an input's outlets and threads.
pub(crate) struct Outlets<'a> {
    pub(crate) line: Line,
    /// Function that creates a sink for each thread. Without one, contacts are put on the belt.
    pub(crate) sinks: Option<SinkMaker<'a>>,
}

pub(crate) type SinkMaker<'a> = &'a mut dyn FnMut() -> Result<Box<dyn ContactSink>, SinkError>;

/// The destination of one thread's contacts.
pub(crate) struct Outlet {
    pub(crate) line: Line,
    sink: Option<Sink>,
}

struct Sink {
    contacts: Box<dyn ContactSink>,
    /// Published time of the block that is being delivered.
    time: Arc<AtomicU64>,
    /// Buffer for a copy of a block in which future times are replaced by the current time.
    in_time: Vec<Contact>,
}

impl Outlets<'_> {
    /// Starts a thread that runs `work` with a new outlet for its contacts.
    pub(crate) fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Outlet) -> Result<(), InputError> + Send + 'static,
    ) -> Result<(), InputError> {
        let (mut outlet, thread) = (self.outlet()?, name.to_owned());
        self.line.belt.begin();
        let work = move || {
            // Without this, a panic would not be reported, and the input would never end.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut outlet)));
            outlet.line.belt.end(outcome.unwrap_or(Err(InputError::Panic { thread })));
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(work);
        started.map(drop).map_err(|error| {
            self.line.belt.end(Ok(()));
            InputError::Thread(error)
        })
    }

    pub(crate) fn outlet(&mut self) -> Result<Outlet, InputError> {
        let line = self.line.clone();
        let Some(make) = &mut self.sinks else { return Ok(Outlet { line, sink: None }) };
        let contacts = make().map_err(InputError::Sink)?;
        let (time, in_time) = (line.deliveries.begin(), Vec::new());
        Ok(Outlet { line, sink: Some(Sink { contacts, time, in_time }) })
    }
}

impl Outlet {
    /// Delivers `contacts`. Times in the future are replaced by the current time, because the clock of an exporter or a
    /// sender may be ahead. Returns `false` if the input was dropped.
    pub(crate) fn deliver(&mut self, contacts: &[Contact]) -> Result<bool, InputError> {
        let Self { line, sink } = self;
        let Some(Sink { contacts: sink, time, in_time }) = sink else {
            return Ok(line.belt.put(not_after(now_ns(), contacts)));
        };
        if contacts.is_empty() {
            return Ok(true);
        }
        if !line.deliveries.wait_for_caller() {
            return Ok(false);
        }
        // If a caller does not see this time yet, it has read the clock before this thread reads the clock again below.
        time.store(now_ns(), SeqCst);
        let now_ns = now_ns();
        let contacts = if contacts.iter().all(|contact| contact.time_ns <= now_ns) {
            contacts
        } else {
            in_time.clear();
            in_time.extend(not_after(now_ns, contacts));
            in_time
        };
        let taken = sink.take(contacts);
        time.store(IDLE, SeqCst);
        taken.map(|()| true).map_err(InputError::Sink)
    }

    /// Delivers `contacts` as [`deliver`](Self::deliver) does, and then the position after their messages.
    #[cfg(feature = "messages")]
    pub(crate) fn deliver_until(
        &mut self,
        contacts: &[Contact],
        position: Position,
    ) -> Result<bool, InputError> {
        let belt = Arc::clone(&self.line.belt);
        match self.sink {
            Some(_) => Ok(self.deliver(contacts)? && belt.put_until([], position)),
            None => Ok(belt.put_until(not_after(now_ns(), contacts), position)),
        }
    }
}

impl Deliveries {
    /// Registers a new thread. Returns the variable in which the thread publishes the time of the block that it is
    /// delivering.
    fn begin(&self) -> Arc<AtomicU64> {
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
    fn wait_for_caller(&self) -> bool {
        let caller = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stalled = |caller: &mut Caller| {
            !caller.has_left && caller.passed.is_none_or(|passed| passed.elapsed() >= STALL)
        };
        let waited = self.passed.wait_while(caller, is_stalled);
        !waited.unwrap_or_else(PoisonError::into_inner).has_left
    }
}

fn not_after(now_ns: u64, contacts: &[Contact]) -> impl Iterator<Item = Contact> {
    contacts.iter().map(move |contact| Contact { time_ns: contact.time_ns.min(now_ns), ..*contact })
}

#[cfg(test)]
mod tests;
