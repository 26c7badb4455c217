//! The program `srlg`: alerts on super points, for one site or a whole network.
//!
//! ```text
//! input --contacts--> measure: a detector per view ---------+
//!                                                           +--closed slices--> alerts --> notify: database, sinks
//! input --contacts--> probe --deltas over NATS--> collect --+                        `---> show: page, API, metrics
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]

pub mod alerts;
pub mod collect;
pub mod commands;
pub mod config;
pub mod desk;
pub mod exporters;
mod machine;
pub mod measure;
pub mod network;
pub mod notify;
pub mod origins;
pub mod pacing;
pub mod probe;
pub mod progress;
pub mod secrets;
mod service;
pub mod show;
pub mod status;

#[cfg(test)]
#[path = "../tests/program/mmdb.rs"]
mod mmdb;

use std::time::SystemTime;

/// Returns the system time in milliseconds since the Unix epoch, or 0 before the epoch.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
