//! `srlg-monitor`: super points of flow exports, packets or logs, as alerts.
//!
//! ```text
//! input --contacts--> a Watch per view --alerts--> Notice --lines of JSON--> file
//!  [srlg-input]        [watch]: pairs, slices,      [notice]: kind, peers,
//!                      detector, tracker             a sentence
//! ```
//!
//! [`run`] is the loop; [`demo`] plays attacks to it over loopback.

pub mod board;
pub mod config;
pub mod demo;
pub mod explain;
pub mod history;
pub mod maxima;
pub mod monitor;
pub mod notice;
pub mod options;
pub mod rules;
pub mod run;
pub mod saved;
pub mod service;
pub mod sinks;
pub mod store;
pub mod suggest;
pub mod watch;
pub mod web;
