//! Detection at one site. Each view of the input has its own detector.

pub(crate) mod alerting;
pub mod checkpoints;
pub(crate) mod close_budget;
pub(crate) mod completeness;
pub(crate) mod counts;
pub(crate) mod drive;
pub(crate) mod filter;
pub mod monitor;
pub(crate) mod overview;
pub(crate) mod pipeline;
pub(crate) mod positions;
pub mod run;
pub(crate) mod site;
pub(crate) mod track;

use std::time::Duration;

/// Maximum time by which contacts and slices may be ahead of the system clock. Without a limit, a single timestamp in
/// the far future would make all subsequent contacts too late.
pub(crate) const SKEW: Duration = Duration::from_secs(86_400);
