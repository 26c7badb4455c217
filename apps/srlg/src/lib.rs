//! The program `srlg`: alerts on super points, for one site or a whole network.
//!
//! ```text
//! input --contacts--> measure::site --slices of `run`----------+
//!                          `--slices of `probe`--> collect ----+--> srlg-alerts --> srlg-notify: sinks
//!                                                                              `--> srlg-web: page, API
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "each error states its cause in its text")]

#[cfg(not(feature = "network"))]
pub mod absent;
#[cfg(feature = "network")]
pub mod collect;
pub mod commands;
pub mod config;
mod console;
pub mod features;
pub mod measure;
pub mod network;
#[cfg(feature = "network")]
pub mod probe;
pub mod progress;
mod service;
pub mod traffic;

#[cfg(not(feature = "network"))]
pub use absent as collect;
#[cfg(not(feature = "network"))]
pub use absent as probe;

// Tests of processes use the same files under the name of this crate.
#[cfg(test)]
extern crate self as srlg_cli;
#[cfg(test)]
#[path = "../tests/program/mmdb.rs"]
mod mmdb;
#[cfg(all(test, feature = "network"))]
mod simulation;
