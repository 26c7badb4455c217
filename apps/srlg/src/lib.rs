//! The program `srlg`: alerts on super points, for one site or a whole network.
//!
//! ```text
//! input --contacts--> measure: a detector per view ---------+
//!                                                           +--closed slices--> srlg-alerts --> srlg-notify: sinks
//! input --contacts--> probe --deltas over NATS--> collect --+                             `---> srlg-web: page, API
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]

pub mod collect;
pub mod commands;
pub mod config;
pub mod measure;
pub mod network;
pub mod probe;
pub mod progress;
mod service;

#[cfg(test)]
#[path = "../tests/program/mmdb.rs"]
mod mmdb;
