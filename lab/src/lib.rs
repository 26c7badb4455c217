//! Experiments that compare srlg with exact answers, with the systems of the paper, and with common alternatives.
//!
//! [`command`] is the command line. Each experiment has its own module, which lists the sweeps and defines a trial. A
//! trial measures one step and adds rows to the results. The engine in `study` runs the trial for every step.
//! `results` stores the rows and converts them to tables, charts and JSON. `system` defines the interface of all
//! measured systems: srlg, the systems of the paper (`rivals`), and common alternatives (`peers`), such as hash maps
//! and per-host estimators.
//!
//! Traffic, exact answers and scores come from [`srlg_traffic`]. This crate is not published.
#![forbid(unsafe_code)]

pub mod command;
mod peers;
mod rivals;
mod system;

mod accuracy;
mod algorithm;
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
mod regimes;
mod report;
mod results;
mod sample;
mod scale;
mod speed;
mod study;
mod table;
mod traces;
mod track;

/// Maximum length of a stream, in slices of one second: 92 days.
const MOST_SLICES: u32 = 8_000_000;
/// Maximum number of pairs per period. Above this number, the model runs out of inside addresses.
const MOST_PAIRS: u32 = 50_000_000;
