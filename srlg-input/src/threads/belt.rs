//! The queue between the reader threads and the caller.
//!
//! Invariant: the belt drops nothing. A reader thread waits while [`MOST`] or more contacts are on the belt. While
//! threads wait, the kernel may drop packets or datagrams, and counts the drops.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::contact::Contact;

use crate::error::InputError;
use crate::event::LogLine;
use crate::position::Position;

/// Number of contacts on the belt at which reader threads wait. The last added batch may raise the number above this
/// limit.
const MOST: usize = 1 << 16;

/// Number of contacts at which the caller is woken. Fewer contacts wait for up to [`TICK`], because a wake-up for each
/// datagram would cost more than processing its contacts.
pub(crate) const ENOUGH: usize = 1 << 12;

/// Interval at which a waiting thread checks whether to continue.
pub(crate) const TICK: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Belt {
    load: Mutex<Load>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Default)]
pub(crate) struct Load {
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

impl Belt {
    /// Puts contacts on the belt, after waiting until there is room. Returns `false` if the caller has stopped taking
    /// them.
    pub(crate) fn put(&self, contacts: impl IntoIterator<Item = Contact>) -> bool {
        self.put_with(contacts, |_| {})
    }

    /// Puts contacts on the belt as [`put`](Self::put) does, together with the position after their messages.
    #[cfg(feature = "messages")]
    pub(crate) fn put_until(
        &self,
        contacts: impl IntoIterator<Item = Contact>,
        position: Position,
    ) -> bool {
        self.put_with(contacts, |load| load.position.advance(position))
    }

    fn put_with(
        &self,
        contacts: impl IntoIterator<Item = Contact>,
        note: impl FnOnce(&mut Load),
    ) -> bool {
        let mut load = self.lock();
        while load.contacts.len() >= MOST && !load.is_left {
            load = self.emptied.wait(load).unwrap_or_else(PoisonError::into_inner);
        }
        if load.is_left {
            return false;
        }
        let before = load.contacts.len();
        load.contacts.extend(contacts);
        note(&mut load);
        let is_enough = before < ENOUGH && load.contacts.len() >= ENOUGH;
        drop(load);
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
        let mut load = self.lock();
        load.readers -= 1;
        load.failures.extend(outcome.err());
        drop(load);
        self.filled.notify_one();
    }

    pub(crate) fn leave(&self) {
        self.lock().is_left = true;
        self.emptied.notify_all();
    }

    /// Takes everything from the belt, after waiting for at most [`TICK`]. The belt reuses the memory of `spent`.
    pub(crate) fn take(&self, mut spent: Vec<Contact>) -> Load {
        spent.clear();
        let mut load = self.lock();
        if load.is_little() {
            let waited = self.filled.wait_timeout(load, TICK);
            load = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let next = Load { contacts: spent, readers: load.readers, ..Load::default() };
        let taken = mem::replace(&mut *load, next);
        drop(load);
        if taken.contacts.len() >= MOST {
            self.emptied.notify_all();
        }
        taken
    }

    /// Locks the belt. Poisoning is ignored, because a thread that panics leaves the belt in a valid state.
    fn lock(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load {
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

    fn take(load: impl FnOnce(&Belt)) -> (Load, Duration) {
        let belt = Belt::default();
        belt.begin();
        thread::scope(|scope| {
            let (started, start) = mpsc::channel();
            let belt = &belt;
            let taking = scope.spawn(move || {
                started.send(Instant::now()).unwrap();
                (belt.take(Vec::new()), Instant::now())
            });
            let start = start.recv().unwrap();
            thread::sleep(TICK / 4);
            load(belt);
            let (taken, end) = taking.join().unwrap();
            (taken, end - start)
        })
    }

    /// Repeats [`take`] until it returns within [`TICK`]. On a busy machine, several attempts may be needed.
    fn take_at_once(load: impl Fn(&Belt)) -> Load {
        let mut attempts = (0..50).map(|_| take(&load));
        attempts.find(|(_, after)| *after < TICK).expect("each attempt took a tick").0
    }

    fn contacts(count: usize) -> Vec<Contact> {
        let host = Host::from([192, 0, 2, 1]);
        vec![Contact::new(0, host, host); count]
    }

    #[test]
    fn few_contacts_come_after_a_tick() {
        for count in [0, 1, ENOUGH - 1] {
            let (taken, after) = take(|belt| assert!(belt.put(contacts(count))));
            assert_eq!((taken.contacts.len(), taken.readers), (count, 1));
            assert!(after >= TICK, "{count} after {after:?}");
        }
    }

    #[test]
    fn enough_contacts_come_at_once() {
        let taken = take_at_once(|belt| {
            assert!(belt.put(contacts(ENOUGH - 1)) && belt.put(contacts(1)));
        });
        assert_eq!(taken.contacts.len(), ENOUGH);
    }

    #[test]
    fn the_end_of_a_reader_comes_at_once() {
        let taken = take_at_once(|belt| belt.end(Ok(())));
        assert_eq!((taken.contacts.len(), taken.readers), (0, 0));
        let taken = take_at_once(|belt| belt.end(Err(InputError::NoExporters)));
        assert!(matches!(taken.failures[..], [InputError::NoExporters]));
    }
}
