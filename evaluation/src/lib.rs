//! Experiments: srlg beside exact answers, the systems of the paper, and what users have today.
//!
//! - [`system`]: what every measured system can do.
//! - [`rivals`]: the systems that the paper compares with.
//! - [`peers`]: what users have today: hash maps, estimators per host, a ring of sketches.
//! - [`command`]: the command line, one module per experiment.
//!
//! Traffic, truth and scores are those of [`srlg_traffic`]. Nothing here is published.
#![forbid(unsafe_code)]

pub mod command;
pub mod peers;
pub mod rivals;
pub mod system;

mod accuracy;
mod alike;
mod characterise;
mod comparison;
mod family;
mod giants;
mod growth;
mod number;
mod output;
mod page;
mod paper;
mod pcap_writer;
mod picture;
mod plans;
mod plot;
mod preset;
mod progress;
mod report;
mod sample;
mod scale;
mod speed;
mod study;
mod synthetic;
mod table;
mod threads;
mod traces;

/// Longest stream, in slices: 92 days.
const MOST_SLICES: u32 = 8_000_000;
/// The model's inside addresses are used up beyond this many pairs per period.
const MOST_PAIRS: u32 = 50_000_000;
