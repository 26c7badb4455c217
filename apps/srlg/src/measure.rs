//! One site: contacts in, a detector per view, alerts of each.

pub mod checkpoints;
pub(crate) mod counts;
pub(crate) mod filter;
pub mod monitor;
pub(crate) mod positions;
pub mod run;
pub(crate) mod tap;
pub(crate) mod track;
pub(crate) mod watch;

use std::time::Duration;

/// Contacts and slices further ahead of the system clock are rejected: one wrong time stamp from the far future would make
/// everything after it too late.
pub(crate) const SKEW: Duration = Duration::from_secs(86_400);
