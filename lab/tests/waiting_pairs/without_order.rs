//! A planted fault: atomic numbers that publish nothing.

mod sync {
    use std::sync::atomic::Ordering::{self, Relaxed};

    pub(super) use loom::sync::{Mutex, MutexGuard};

    /// An atomic number that ignores the requested order.
    pub(super) struct AtomicU64(loom::sync::atomic::AtomicU64);

    impl AtomicU64 {
        pub(super) fn new(value: u64) -> Self {
            Self(loom::sync::atomic::AtomicU64::new(value))
        }

        pub(super) fn load(&self, _: Ordering) -> u64 {
            self.0.load(Relaxed)
        }

        pub(super) fn store(&self, value: u64, _: Ordering) {
            self.0.store(value, Relaxed);
        }
    }
}

#[path = "../../../srlg-host/src/ingest/feed/lock.rs"]
mod lock;

model!();
