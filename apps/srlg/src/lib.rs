//! The program `srlg`: alerts of super points, of one site or of a whole network.
//!
//! ```text
//! input --contacts--> measure: a detector per view ---------+
//!                                                           +--closed slices--> alerts --> notify: database, sinks
//! input --contacts--> probe --deltas over NATS--> collect --+                        `---> show: page, API, metrics
//! ```
#![forbid(unsafe_code)]
#![allow(
    clippy::missing_errors_doc,
    reason = "the errors of a program are the texts of their causes"
)]

pub mod alerts;
pub mod collect;
pub mod commands;
pub mod config;
pub mod exporters;
mod machine;
pub mod measure;
pub mod network;
pub mod notify;
pub mod origins;
pub mod probe;
mod service;
pub mod show;

#[cfg(test)]
#[path = "../tests/program/mmdb.rs"]
mod mmdb;

use std::time::SystemTime;

/// Returns the time of day, milliseconds since the Unix epoch; 0 before that.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
