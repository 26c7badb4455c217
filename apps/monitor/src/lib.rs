//! `srlg-monitor`: super points of flow exports, packets or logs, as alerts.
//!
//! ```text
//! input --contacts--> a Watch per view --alerts--> Notice --lines of JSON--> file
//!  [srlg-input]        [watch]: pairs, slices,      [notice]: kind, peers,
//!                      detector, tracker             a sentence
//! ```
//!
//! [`monitor::Monitor`] is the loop; [`demo`] plays attacks to it over loopback.

pub mod demo;
pub mod monitor;
pub mod notice;
pub mod options;
pub mod watch;
