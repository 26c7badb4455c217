//! What all receiving threads share.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::contact::Networks;
use crate::flow::Decoder;

use super::homes::Homes;

/// What all receiving threads share.
pub(super) struct ReceiverState {
    pub(super) permitted: Networks<()>,
    /// One for each socket.
    pub(super) decoders: Vec<Mutex<Decoder>>,
    pub(super) homes: Homes,
    pub(super) received: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) last_refused: Mutex<Option<IpAddr>>,
}

impl ReceiverState {
    pub(super) fn refuse(&self, sender: IpAddr) {
        self.refused.fetch_add(1, Relaxed);
        *self.last_refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    }
}
