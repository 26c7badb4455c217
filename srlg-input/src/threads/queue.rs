//! The queue between the reader threads and the caller.
//!
//! Invariant: the queue drops nothing. A reader thread waits while [`MOST`] or more contacts are on the queue. While
//! threads wait, the kernel may drop packets or datagrams, and counts the drops.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::contact::Contact;

use crate::error::InputError;
use crate::event::LogLine;
use crate::position::Position;

/// Number of contacts on the queue at which reader threads wait. The last added batch may raise the number above this
/// limit.
const MOST: usize = 1 << 16;

/// Number of contacts at which the caller is woken. Fewer contacts wait for up to [`TICK`], because a wake-up for each
/// datagram would cost more than processing its contacts.
pub(crate) const ENOUGH: usize = 1 << 12;

/// Interval at which a waiting thread checks whether to continue.
pub(crate) const TICK: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct ContactQueue {
    queued: Mutex<Queued>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Default)]
pub(crate) struct Queued {
    pub(crate) contacts: Vec<Contact>,
    /// Position after the messages that contain the contacts.
    pub(crate) position: Position,
    pub(crate) log: Vec<LogLine>,
    pub(crate) failures: Vec<InputError>,
    /// Number of running reader threads.
    pub(crate) readers: usize,
    /// Whether the caller has stopped taking contacts.
    is_left: bool,
}

impl ContactQueue {
    /// Puts contacts on the queue, after waiting until there is room. Returns `false` if the caller has stopped taking
    /// them.
    pub(crate) fn put(&self, contacts: impl IntoIterator<Item = Contact>) -> bool {
        self.put_with(contacts, |_| {})
    }

    /// Puts contacts on the queue as [`put`](Self::put) does, together with the position after their messages.
    #[cfg(feature = "messages")]
    pub(crate) fn put_until(
        &self,
        contacts: impl IntoIterator<Item = Contact>,
        position: Position,
    ) -> bool {
        self.put_with(contacts, |queued| queued.position.advance(position))
    }

    fn put_with(
        &self,
        contacts: impl IntoIterator<Item = Contact>,
        update: impl FnOnce(&mut Queued),
    ) -> bool {
        let mut queued = self.lock();
        while queued.contacts.len() >= MOST && !queued.is_left {
            queued = self.emptied.wait(queued).unwrap_or_else(PoisonError::into_inner);
        }
        if queued.is_left {
            return false;
        }
        let before = queued.contacts.len();
        queued.contacts.extend(contacts);
        update(&mut queued);
        let is_enough = before < ENOUGH && queued.contacts.len() >= ENOUGH;
        drop(queued);
        if is_enough {
            self.filled.notify_one();
        }
        true
    }

    pub(crate) fn log(&self, line: LogLine) {
        self.lock().log.push(line);
    }

    pub(crate) fn begin(&self) {
        self.lock().readers += 1;
    }

    pub(crate) fn end(&self, outcome: Result<(), InputError>) {
        let mut queued = self.lock();
        queued.readers -= 1;
        queued.failures.extend(outcome.err());
        drop(queued);
        self.filled.notify_one();
    }

    pub(crate) fn leave(&self) {
        self.lock().is_left = true;
        self.emptied.notify_all();
    }

    /// Takes everything from the queue, after waiting for at most [`TICK`]. The queue reuses the memory of `spent`.
    pub(crate) fn take(&self, mut spent: Vec<Contact>) -> Queued {
        spent.clear();
        let mut queued = self.lock();
        if queued.is_little() {
            let waited = self.filled.wait_timeout(queued, TICK);
            queued = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let next = Queued { contacts: spent, readers: queued.readers, ..Queued::default() };
        let taken = mem::replace(&mut *queued, next);
        drop(queued);
        if taken.contacts.len() >= MOST {
            self.emptied.notify_all();
        }
        taken
    }

    /// Locks the queue. Poisoning is ignored, because a thread that panics leaves the queue in a valid state.
    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queued {
    /// Returns whether the caller can wait for more contacts.
    fn is_little(&self) -> bool {
        let Self { contacts, log, failures, readers, .. } = self;
        contacts.len() < ENOUGH && log.is_empty() && failures.is_empty() && *readers > 0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::contact::Host;

    fn take(fill: impl FnOnce(&ContactQueue)) -> (Queued, Duration) {
        let queue = ContactQueue::default();
        queue.begin();
        thread::scope(|scope| {
            let (started, start) = mpsc::channel();
            let queue = &queue;
            let taking = scope.spawn(move || {
                started.send(Instant::now()).unwrap();
                (queue.take(Vec::new()), Instant::now())
            });
            let start = start.recv().unwrap();
            thread::sleep(TICK / 4);
            fill(queue);
            let (taken, end) = taking.join().unwrap();
            (taken, end - start)
        })
    }

    /// Repeats [`take`] until it returns within [`TICK`]. On a busy machine, several attempts may be needed.
    fn take_at_once(fill: impl Fn(&ContactQueue)) -> Queued {
        let mut attempts = (0..50).map(|_| take(&fill));
        attempts.find(|(_, after)| *after < TICK).expect("each attempt took a tick").0
    }

    fn contacts(count: usize) -> Vec<Contact> {
        let host = Host::from([192, 0, 2, 1]);
        vec![Contact::new(0, host, host); count]
    }

    #[test]
    fn few_contacts_come_after_a_tick() {
        for count in [0, 1, ENOUGH - 1] {
            let (taken, after) = take(|queue| assert!(queue.put(contacts(count))));
            assert_eq!((taken.contacts.len(), taken.readers), (count, 1));
            assert!(after >= TICK, "{count} after {after:?}");
        }
    }

    #[test]
    fn enough_contacts_come_at_once() {
        let taken = take_at_once(|queue| {
            assert!(queue.put(contacts(ENOUGH - 1)) && queue.put(contacts(1)));
        });
        assert_eq!(taken.contacts.len(), ENOUGH);
    }

    #[test]
    fn the_end_of_a_reader_comes_at_once() {
        let taken = take_at_once(|queue| queue.end(Ok(())));
        assert_eq!((taken.contacts.len(), taken.readers), (0, 0));
        let taken = take_at_once(|queue| queue.end(Err(InputError::NoExporters)));
        assert!(matches!(taken.failures[..], [InputError::NoExporters]));
    }
}
