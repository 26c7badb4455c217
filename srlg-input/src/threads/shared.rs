//! The state that the threads of a live input share with the caller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::deliveries::Deliveries;
use super::queue::ContactQueue;
use crate::event::Stop;
use crate::status::Status;

/// The state that the threads of a live input share with the caller.
#[derive(Clone, Default)]
pub(crate) struct SharedState {
    pub(crate) queue: Arc<ContactQueue>,
    pub(crate) deliveries: Arc<Deliveries>,
    pub(crate) stop: Stop,
    /// Latest status of each thread, by thread index.
    status: Arc<Mutex<BTreeMap<usize, Status>>>,
}

impl SharedState {
    /// Creates the state of an input that `stop` stops.
    pub(crate) fn new(stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..Self::default() }
    }

    pub(crate) fn set_status(&self, part: usize, status: Status) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).insert(part, status);
    }

    pub(crate) fn status(&self) -> Status {
        let parts = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parts = parts.values();
        let mut all = parts.next().cloned().unwrap_or_default();
        parts.for_each(|part| all.add(part));
        all
    }
}
