//! [`Shadow`], which records accesses to an allocation for the optional [`Checks`].

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Checks of memory accesses in addition to bounds and alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Whether reads of bytes that were never written fail.
    pub init: bool,
    /// Whether weak accesses are reported if another thread may write the same bytes at the same time, in the same
    /// launch or in another one.
    pub race: bool,
}

/// An access to consecutive bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) is_write: bool,
    pub(crate) is_weak: bool,
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Number of the launch, counted from 1.
    pub(crate) launch: u32,
    /// Number of the thread in the launch, counted from 1.
    pub(crate) number: u32,
}

impl Thread {
    /// Returns a number that is never 0. Its upper half is the launch.
    fn id(self) -> u64 {
        u64::from(self.launch) << 32 | u64::from(self.number)
    }
}

/// Stands for several threads of a launch.
const SEVERAL: u64 = u32::MAX as u64;

/// The threads that accessed a byte last, as [`Thread::id`], or 0 if no thread did.
#[derive(Debug, Default)]
struct Last {
    weak_read: AtomicU64,
    write: AtomicU64,
}

/// The recorded accesses to an allocation.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Whether each byte was written. This is empty if the check is off.
    written: Box<[AtomicU8]>,
    /// The last accesses to each byte. This is empty if the check is off.
    last: Box<[Last]>,
}

impl Shadow {
    /// Creates the shadow of `len` bytes.
    pub(super) fn new(len: usize, checks: Checks) -> Self {
        let of = |is_checked| if is_checked { len } else { 0 };
        Self {
            written: (0..of(checks.init)).map(|_| AtomicU8::new(0)).collect(),
            last: (0..of(checks.race)).map(|_| Last::default()).collect(),
        }
    }

    /// Records a write to `bytes` bytes from byte `at` on.
    #[inline]
    pub(super) fn set_written(&self, at: usize, bytes: usize) {
        if !self.written.is_empty() {
            self.written[at..at + bytes].iter().for_each(|byte| byte.store(1, Relaxed));
        }
    }

    /// Returns whether all of `bytes` bytes from byte `at` on were written, or true if the check is off.
    #[inline]
    pub(super) fn is_written(&self, at: usize, bytes: usize) -> bool {
        self.written.is_empty()
            || self.written[at..at + bytes].iter().all(|byte| byte.load(Relaxed) == 1)
    }

    /// Records an access of `thread` to bytes from byte `at` on, and returns whether it races with an earlier one. A
    /// thread of launch n can race only if `is_concurrent(n)`.
    pub(super) fn races(
        &self,
        at: usize,
        access: &Access,
        thread: Thread,
        is_concurrent: impl Fn(u32) -> bool,
    ) -> bool {
        if self.last.is_empty() {
            return false;
        }
        let mine = thread.id();
        let conflicts = |last: &AtomicU64| {
            let other = last.load(Relaxed);
            other != 0 && other != mine && is_concurrent((other >> 32) as u32)
        };
        // An id has room for one thread, so several threads of a launch are not distinguished.
        let record = |last: &AtomicU64| {
            let before = last.load(Relaxed);
            let is_shared = before >> 32 == mine >> 32 && before != mine;
            last.store(if is_shared { mine | SEVERAL } else { mine }, Relaxed);
        };
        let mut found = false;
        for byte in &self.last[at..at + access.bytes] {
            // A weak access races with a write, and a write with a weak read.
            found |= access.is_weak && conflicts(&byte.write);
            found |= access.is_write && conflicts(&byte.weak_read);
            if access.is_write {
                record(&byte.write);
            } else if access.is_weak {
                record(&byte.weak_read);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKS: Checks = Checks { init: true, race: true };

    fn access(is_write: bool, is_weak: bool) -> Access {
        Access { address: 0, bytes: 2, is_write, is_weak }
    }

    #[test]
    fn bytes_are_written_one_by_one() {
        let shadow = Shadow::new(8, CHECKS);
        shadow.set_written(2, 3);
        assert!(shadow.is_written(2, 3));
        assert!(!shadow.is_written(1, 2) && !shadow.is_written(4, 2));
        assert!(Shadow::new(8, Checks::default()).is_written(0, 8));
    }

    #[test]
    fn weak_accesses_race_with_writes_of_concurrent_threads() {
        let [one, two] = [1, 2].map(|number| Thread { launch: 1, number });
        let races = |first: Access, second: Access, thread, is_concurrent| {
            let shadow = Shadow::new(8, CHECKS);
            assert!(!shadow.races(0, &first, one, |_| true));
            shadow.races(1, &second, thread, |_| is_concurrent)
        };
        let (read, write) = (access(false, true), access(true, true));
        let (strong_read, strong_write) = (access(false, false), access(true, false));
        assert!(races(write, read, two, true));
        assert!(races(read, strong_write, two, true));
        assert!(races(strong_write, write, two, true));
        assert!(!races(write, read, one, true));
        assert!(!races(write, read, two, false));
        assert!(!races(read, read, two, true));
        assert!(!races(strong_write, strong_read, two, true));
    }
}
