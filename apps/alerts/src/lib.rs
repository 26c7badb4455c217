//! Alerts about super points, with one start and one end for each attack.
//!
//! ```text
//!            `for` of the last `of` slices at least θ           below `down` for `hold`
//!   idle ------------------------------------------> active -------------------------> idle
//!                        start                          |             end
//!                                                       +--> update: twice the peak, more severe, or `repeat`
//! ```
//!
//! A [`Tracker`] takes the super points and the end time of each slice, and returns the changes of alerts. It reads no
//! clock and does no I/O, so the same calls always return the same changes. Its state can be stored across restarts.
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]
#![allow(
    missing_docs,
    reason = "items of the program's own crates have docs where their names do not suffice"
)]

pub mod act;
mod alert;
pub mod details;
pub mod digest;
pub mod exporters;
mod host;
mod live;
pub mod manager;
mod near_miss;
pub mod notification;
pub mod open;
pub mod origins;
pub mod rules;
pub mod series;
mod sighting;
pub mod silences;
pub mod status;
pub mod top;
mod tracker;
pub mod usual;
pub mod witnesses;

pub use act::{Act, Refusal, Remark, Silencing};
pub use alert::{Alert, AlertId, Severity, Status, Why, WindowCount};
pub use live::{LINE, LiveCount};
pub use near_miss::NearMiss;
pub use rules::{BadTerms, Rule, Terms};
pub use sighting::{Sighting, Sightings};
pub use tracker::{Condition, Tracker};
pub use witnesses::{SilentSource, Witnesses};

#[cfg(test)]
#[path = "../../srlg/tests/program/mmdb.rs"]
mod mmdb;
