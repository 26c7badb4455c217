//! The destination of a reader thread's contacts: its own [`ContactSink`] or the queue.
//!
//! A clock tick means that everything read before it has been delivered. Therefore, a thread publishes the current time
//! before it delivers a block of contacts. It then reads the clock again and limits the times of the contacts to this
//! second time. Ticks do not advance beyond the published time until the sink has accepted the block.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use crate::contact::Contact;
use crate::error::InputError;
#[cfg(feature = "messages")]
use crate::position::Position;

use super::deliveries::IDLE;
use super::shared::SharedState;
use crate::clock::now_ns;
use crate::sink::{ContactSink, SinkMaker};

/// The creator of an input's senders and threads.
pub(crate) struct ContactSenders<'a> {
    pub(crate) shared: SharedState,
    /// Function that creates a sink for each thread. Without one, contacts are put on the queue.
    pub(crate) sinks: Option<SinkMaker<'a>>,
}

/// The destination of one thread's contacts.
pub(crate) struct ContactSender {
    pub(crate) shared: SharedState,
    sink: Option<Sink>,
}

struct Sink {
    contacts: Box<dyn ContactSink>,
    /// Published time of the block that is being delivered.
    time: Arc<AtomicU64>,
    /// Buffer for a copy of a block in which future times are replaced by the current time.
    in_time: Vec<Contact>,
}

impl ContactSenders<'_> {
    /// Starts a thread that runs `work` with a new sender for its contacts.
    pub(crate) fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut ContactSender) -> Result<(), InputError> + Send + 'static,
    ) -> Result<(), InputError> {
        let (mut sender, thread) = (self.sender()?, name.to_owned());
        self.shared.queue.begin();
        let work = move || {
            // Without this, a panic would not be reported, and the input would never end.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut sender)));
            sender.shared.queue.end(outcome.unwrap_or(Err(InputError::Panic { thread })));
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(work);
        started.map(drop).map_err(|error| {
            self.shared.queue.end(Ok(()));
            InputError::Thread(error)
        })
    }

    pub(crate) fn sender(&mut self) -> Result<ContactSender, InputError> {
        let shared = self.shared.clone();
        let Some(make) = &mut self.sinks else { return Ok(ContactSender { shared, sink: None }) };
        let contacts = make().map_err(InputError::Sink)?;
        let (time, in_time) = (shared.deliveries.begin(), Vec::new());
        Ok(ContactSender { shared, sink: Some(Sink { contacts, time, in_time }) })
    }
}

impl ContactSender {
    /// Delivers `contacts`. Times in the future are replaced by the current time, because the clock of an exporter or a
    /// sender may be ahead. Returns `false` if the input was dropped.
    pub(crate) fn deliver(&mut self, contacts: &[Contact]) -> Result<bool, InputError> {
        let Self { shared, sink } = self;
        let Some(Sink { contacts: sink, time, in_time }) = sink else {
            return Ok(shared.queue.put(not_after(now_ns(), contacts)));
        };
        if contacts.is_empty() {
            return Ok(true);
        }
        if !shared.deliveries.wait_for_caller() {
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
        let taken = sink.accept(contacts);
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
        let queue = Arc::clone(&self.shared.queue);
        match self.sink {
            Some(_) => Ok(self.deliver(contacts)? && queue.put_until([], position)),
            None => Ok(queue.put_until(not_after(now_ns(), contacts), position)),
        }
    }
}

fn not_after(now_ns: u64, contacts: &[Contact]) -> impl Iterator<Item = Contact> {
    contacts.iter().map(move |contact| Contact { time_ns: contact.time_ns.min(now_ns), ..*contact })
}

#[cfg(test)]
mod tests;
