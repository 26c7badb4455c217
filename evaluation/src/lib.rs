//! Experiments: srlg beside exact answers, the systems of the paper, and what users have today.
//!
//! - [`system`]: what every measured system can do.
//! - [`rivals`]: the systems that the paper compares with.
//! - [`peers`]: what users have today: hash maps, estimators per host, a ring of sketches.
//! - [`command`]: the command line, one module per experiment.
//!
//! Traffic, truth and scores are those of [`srlg_traffic`]. An experiment lists its sweeps; the engine in `study` measures
//! them step by step and makes pages, tables, charts and JSON of the rows. Nothing here is published.
#![forbid(unsafe_code)]

pub mod command;
mod peers;
mod rivals;
mod system;

mod accuracy;
mod alike;
mod characterise;
mod comparison;
mod feed;
mod generate;
mod giants;
mod growth;
mod options;
mod output;
mod paper;
mod picture;
mod plans;
mod plot;
mod report;
mod results;
mod sample;
mod scale;
mod speed;
mod study;
mod table;
mod traces;

/// Longest stream, in slices: 92 days.
const MOST_SLICES: u32 = 8_000_000;
/// The model's inside addresses are used up beyond this many pairs per period.
const MOST_PAIRS: u32 = 50_000_000;
