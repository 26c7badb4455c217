//! Experiments: srlg beside exact answers, the systems of the paper, and what users have today.
//!
//! [`command`] is the command line, with a module for each experiment. An experiment lists its sweeps, and a trial that adds
//! the rows of a step; the engine in `study` runs the trial of every step, and `results` has the rows and makes tables, charts
//! and JSON of them. `system` says what every measured system can do: srlg, the systems that the paper compares with
//! (`rivals`), and what users have today (`peers`: hash maps, estimators per host, a ring of sketches).
//!
//! Traffic, truth and scores are those of [`srlg_traffic`]. Nothing here is published.
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
mod missed;
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
mod track;

/// Longest stream, in slices: 92 days.
const MOST_SLICES: u32 = 8_000_000;
/// The model's inside addresses are used up beyond this many pairs per period.
const MOST_PAIRS: u32 = 50_000_000;
