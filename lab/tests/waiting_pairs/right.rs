//! The locks and atomic numbers of the model checker.

mod sync {
    pub(super) use loom::sync::atomic::AtomicU64;
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

#[path = "../../../srlg-host/src/ingest/feed/lock.rs"]
mod lock;

model!();
