//! A planted fault: a lock that two threads can have at the same time.

mod sync {
    pub(super) use loom::sync::atomic::AtomicU64;

    /// A number that any number of threads may lock at the same time.
    pub(super) struct Mutex<T>(AtomicU64, std::marker::PhantomData<T>);

    impl Mutex<u64> {
        pub(super) fn new(value: u64) -> Self {
            Self(AtomicU64::new(value), std::marker::PhantomData)
        }

        pub(super) fn number(&self) -> &AtomicU64 {
            &self.0
        }
    }
}

mod lock {
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::Ordering::{Acquire, Release};

    use super::sync::{AtomicU64, Mutex};

    /// A copy of the number, which is written back at the end.
    pub(super) struct Guard<'a>(&'a AtomicU64, u64);

    pub(super) fn lock(mutex: &Mutex<u64>) -> Guard<'_> {
        Guard(mutex.number(), mutex.number().load(Acquire))
    }

    pub(super) fn try_lock(mutex: &Mutex<u64>) -> Option<Guard<'_>> {
        Some(lock(mutex))
    }

    impl Deref for Guard<'_> {
        type Target = u64;

        fn deref(&self) -> &u64 {
            &self.1
        }
    }

    impl DerefMut for Guard<'_> {
        fn deref_mut(&mut self) -> &mut u64 {
            &mut self.1
        }
    }

    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.store(self.1, Release);
        }
    }
}

model!();
