//! `srlg-monitor`: super points of flow exports, packets or logs, as alerts.
//!
//! ```text
//! input --contacts--> a Watch per view --alerts--> Notice --lines of JSON--> file
//!  [srlg-input]        [watch]: pairs, slices,      [notice]: kind, peers,
//!                      detector, tracker             a sentence
//! ```
//!
//! [`run`] is the loop; [`demo`] plays attacks to it over loopback.

#![allow(
    clippy::missing_errors_doc,
    reason = "the errors of a program are the texts of their causes"
)]

pub mod board;
pub mod config;
pub mod demo;
pub mod explain;
pub mod history;
mod maxima;
pub mod monitor;
pub mod notice;
pub mod options;
mod rules;
pub mod run;
pub mod saved;
mod service;
pub mod sinks;
pub mod store;
pub mod suggest;
mod watch;
pub mod web;

use std::time::SystemTime;

/// Returns the time of day, milliseconds since the Unix epoch; 0 before that.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
