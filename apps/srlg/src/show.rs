//! The state of the program, as a page, an API and metrics.

pub mod board;
pub(crate) mod screen;
pub(crate) mod top_hosts;
pub mod web;
