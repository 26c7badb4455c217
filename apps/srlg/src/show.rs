//! The state of the program, as a web page, an API and metrics.

pub mod board;
pub mod health;
pub mod open;
pub(crate) mod recorder;
pub mod troubles;
pub mod web;
