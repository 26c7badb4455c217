//! The machine on which the program runs: its clock, files, addresses, memory and secrets.
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]

pub mod machine;
pub mod pacing;
pub mod secrets;
pub mod state_files;

use std::time::SystemTime;

/// Returns the system time in milliseconds since the Unix epoch, or 0 before the epoch.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
