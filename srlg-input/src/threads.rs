//! The reader threads of a live input.
//!
//! Each thread has a [`ContactSender`] for its contacts, which is either its own sink or the `ContactQueue`. The
//! caller takes log lines and positions from the queue and, if there are no sinks, also contacts.
//!
//! Invariant: a contact is never later than the time at which it was read.

mod deliveries;
pub(crate) mod queue;
mod sender;
mod shared;

use std::time::Duration;

pub(crate) use sender::{ContactSender, ContactSenders};
pub(crate) use shared::SharedState;

/// Interval at which drops are counted, the status is updated and a quiet interface is checked.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time for which pending input is still read after a request to stop.
pub(crate) const DRAIN: Duration = Duration::from_secs(1);
